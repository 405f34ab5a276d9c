/* Threads that took processors, or were kept from one, all through a look, as far as the
 * kernel's sums tell: how long each ran and how long it was queued, not when. So they are
 * laid out in turns on the processor where each was last: the sums are true, the order is
 * not known. */
#ifndef RECORD_PROC_BUSY_H
#define RECORD_PROC_BUSY_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "trace/event.h"

struct proc_busy {
	uint32_t tid, processor;
	uint64_t ran_ns;           /* in the look; the rest of it queued */
};

struct proc_busy_sink {
	/* The thread leaves the processor, 0: it was idle, or with others. */
	int (*leaves)(struct proc_busy_sink *sink, uint64_t time_ns, uint32_t processor, uint32_t tid, const struct event_switch *to,
		      struct err *err);
};

/* Changes the order of the list. */
int proc_busy_lay_out(struct proc_busy *list, size_t count, uint64_t from_ns, uint64_t to_ns, struct proc_busy_sink *sink, struct err *err);

#endif
