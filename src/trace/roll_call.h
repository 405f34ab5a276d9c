/* Ends of threads that were lost, found by roll call: a snapshot tells all threads that
 * there are, so one that it does not tell, and of which nothing came since it began, has
 * ended by then. Only where events were lost meanwhile, or the recording began anew: else
 * it is one that the recorder cannot see.
 *
 * When it ended nobody knows. What is known is that it went on as it was until events
 * were lost: so it is taken to have ended there. Whoever keeps a state by thread asks
 * about each as a snapshot is complete. */
#ifndef TRACE_ROLL_CALL_H
#define TRACE_ROLL_CALL_H

#include "base/map.h"
#include "trace/trace.h"

struct roll_call {
	const struct trace *trace; /* NULL: no losses are known */
	uint64_t start_ns;         /* what comes before only still stands, or is told again */
	uint64_t begin_ns;         /* of the snapshot at hand, 0 none */
	bool anew;                 /* it is the first one of a recording */
	struct map told;           /* threads */
};

/* Of events from start_ns on. */
void roll_call_init(struct roll_call *call, const struct trace *trace, uint64_t start_ns);
void roll_call_done(struct roll_call *call);
/* Events of types task and snapshot. True: the snapshot is complete, and says who is missing until the next event. */
bool roll_call_see(struct roll_call *call, const struct event *e);
/* The thread, of which the last event came at last_ns, ended unseen; *ret_end_ns: then at the earliest. */
bool roll_call_misses(const struct roll_call *call, uint32_t tid, uint64_t last_ns, uint64_t *ret_end_ns);
/* From last_ns on, up to by_ns, the first moment from which events were lost; false: none were. */
bool roll_call_lost_from(const struct roll_call *call, uint64_t last_ns, uint64_t by_ns, uint64_t *ret_ns);

#endif
