/* The processors' sampling clocks: one perf event each, whose ticks run the
 * sampling program. */
#ifndef RECORD_SAMPLES_H
#define RECORD_SAMPLES_H

#include <stdint.h>

#include "base/err.h"

struct programs;
struct samples;

int samples_open(const struct programs *programs, uint32_t cpus, uint32_t hz, struct samples **ret_samples,
		 struct err *err);
void samples_close(struct samples *samples);

#endif
