/* See sweep_later.h. */
#include "session/sweep_later.h"

#include "base/map.h"
#include "trace/trace.h"

/* Who can go on at the event; 0 nobody. */
static uint32_t goes_on(const struct event *e)
{
	return e->type == EVENT_switch ? event_as(e, switch)->next : event_as(e, wake)->target;
}

void sweep_go_on(const struct trace *trace, uint64_t from_ns, struct map *tids)
{
	struct trace_filter filter = { .from_ns = from_ns, .unnumbered = true };
	size_t left = tids->length;
	struct trace_cursor *cursor;

	trace_filter_add(&filter, EVENT_switch);
	trace_filter_add(&filter, EVENT_wake);
	cursor = trace_cursor_new(trace, &filter);
	for (const struct event *e; left && (e = trace_cursor_next(cursor)); ) {
		uint32_t tid = goes_on(e);
		uint64_t *first = tid ? map_find(tids, tid) : NULL;

		if (first && *first == UINT64_MAX) {
			*first = e->time;
			left--;
		}
	}
	trace_cursor_free(cursor);
}
