/* See roll_call.h. */
#include "trace/roll_call.h"

void roll_call_init(struct roll_call *call, const struct trace *trace, uint64_t start_ns)
{
	*call = (struct roll_call){ .trace = trace, .start_ns = start_ns };
	map_init(&call->told);
}

void roll_call_done(struct roll_call *call)
{
	map_done(&call->told);
}

bool roll_call_see(struct roll_call *call, const struct event *e)
{
	const struct event_snapshot *mark = event_as(e, snapshot);

	if (e->type == EVENT_task) {
		if (call->begin_ns && e->time >= call->start_ns)
			map_put(&call->told, e->tid, 1);
		return false;
	}
	if (e->time < call->start_ns)
		return false;
	if (!mark->end) {
		map_clear(&call->told);
		call->begin_ns = e->time;
		call->anew = mark->reason == SNAPSHOT_REASON_start;
		return false;
	}
	if (call->begin_ns && call->told.length && !mark->cut)
		return true;
	call->begin_ns = 0;
	return false;
}

bool roll_call_lost_from(const struct roll_call *call, uint64_t last_ns, uint64_t by_ns, uint64_t *ret_ns)
{
	const struct trace_summary *summary = call->trace ? trace_summary(call->trace) : NULL;

	for (size_t i = 0; summary && i < summary->gap_count && summary->gaps[i].from_ns <= by_ns; i++)
		if (summary->gaps[i].to_ns > last_ns) {
			*ret_ns = summary->gaps[i].from_ns > last_ns ? summary->gaps[i].from_ns : last_ns;
			return true;
		}
	return false;
}

bool roll_call_misses(const struct roll_call *call, uint32_t tid, uint64_t last_ns, uint64_t *ret_end_ns)
{
	if (!tid || last_ns >= call->begin_ns || map_find(&call->told, tid))
		return false;
	if (roll_call_lost_from(call, last_ns, call->begin_ns, ret_end_ns))
		return true;
	*ret_end_ns = last_ns;
	return call->anew;
}
