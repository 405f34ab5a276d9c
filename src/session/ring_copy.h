/* Saving what a ring of the flight recorder holds: a trace that can be read alone.
 *
 * From the moment asked for on everything is copied; of the time before only what stood
 * at that moment (trace/standing.h). */
#ifndef SESSION_RING_COPY_H
#define SESSION_RING_COPY_H

#include <stdint.h>

#include "base/err.h"

struct ring_copy_want {
	uint64_t from_ns;       /* by CLOCK_MONOTONIC; 0: all there is */
	uint64_t last_ns;       /* or so long before the newest event; 0: from_ns says */
	uint64_t most_events;   /* begin later rather than copy more; 0: no limit */
};

/* `folder`: the ring's. The file is there under its name when it is whole; one of that
 * name that was there is kept as PATH.old. */
int ring_copy(const char *folder, const char *path, const struct ring_copy_want *want, struct err *err);
/* What a user may see of a trace or a ring (trace/copy_own.h), from then on. */
int ring_copy_own(const char *from, const char *path, uint32_t uid, uint64_t from_ns, struct err *err);

#endif
