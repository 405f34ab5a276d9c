/* A whole long trace at a glance: what each thread did, in stretches of time that hold a few
 * hundred events each.
 *
 * It takes one pass over the events, and is noted in the trace's index, so that the next
 * question finds it there. Of many threads those are kept that ran most; where too much
 * happens in too many stretches, they become longer. What is looked at more closely comes
 * from the blocks themselves (tiles.h). */
#ifndef SESSION_OVERVIEW_H
#define SESSION_OVERVIEW_H

#include "session/lane.h"
#include "session/session.h"

struct overview_thread {
	uint32_t tid, pid, flags;        /* TASK_FLAGS_ */
	const char *comm;
	uint64_t start_ns, end_ns;       /* its life; 0, UINT64_MAX: before, after the trace */
	uint64_t running_ns, runnable_ns;
	uint32_t first, count;           /* its stretches */
};

/* Of a stretch in which it did something besides waiting. */
struct overview_part {
	uint32_t slot;
	uint8_t running, runnable, unknown, stopped; /* per cent, rounded up */
};

struct overview {
	uint64_t from_ns, to_ns, slot_ns;
	struct overview_thread *threads; /* by process */
	struct overview_part *parts;
	uint32_t thread_count, part_count;
	uint32_t left_out;               /* threads */
};

/* In the arena; of a long trace from its index, or into it. */
int overview_make(struct arena *arena, const struct session *session, struct overview *ret_overview, struct err *err);
/* As lane_add. */
void overview_lane(const struct overview *overview, uint32_t thread, uint64_t from_ns, uint64_t to_ns, unsigned most, struct lane_cells *cells);

#endif
