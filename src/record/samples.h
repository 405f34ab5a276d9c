/* The processors' sampling clocks: one perf event each, whose ticks run the
 * sampling program. */
#ifndef RECORD_SAMPLES_H
#define RECORD_SAMPLES_H

#include <stdint.h>

#include "base/err.h"

struct programs;
struct rings;
struct samples;

/* The programs that notice processors' going and coming are attached. */
int samples_open(const struct programs *programs, const struct rings *rings, uint32_t hz, struct samples **ret_samples,
		 struct err *err);
/* Gives processors that have come back their clock; now and then. */
void samples_renew(struct samples *samples);
void samples_close(struct samples *samples);

#endif
