/* See probe_names.h. */
#include "trace/probe_names.h"

#include "trace/tables_private.h"

void probe_names_read(struct arena *arena, const struct trace *trace, struct probe_names *ret_names)
{
	struct trace_filter filter = { .unnumbered = true };
	struct probe_name *items;
	struct trace_cursor *cursor;
	const struct event *e;
	uint32_t count = 1;

	items = arena_array(arena, struct probe_name, trace_summary(trace)->counts[EVENT_probe_point] ? PROBES_MOST + 1 : 1);
	items[0] = (struct probe_name){ .name = "", .file = "", .place = "", .values = { "", "", "" } };
	*ret_names = (struct probe_names){ items, count };
	if (!trace_summary(trace)->counts[EVENT_probe_point])
		return;
	for (uint32_t i = 1; i <= PROBES_MOST; i++)
		items[i] = items[0];
	trace_filter_add(&filter, EVENT_probe_point);
	cursor = trace_cursor_new(trace, &filter);
	while ((e = trace_cursor_next(cursor))) {
		const struct event_probe_point *at = e->data ? event_as(e, probe_point) : NULL;

		if (!at || !at->probe || at->probe > PROBES_MOST || items[at->probe].name[0])
			continue;
		items[at->probe] = (struct probe_name){ arena_strdup(arena, tail_text(e, 0)), arena_strdup(arena, tail_text(e, 1)),
							arena_strdup(arena, tail_text(e, 2)),
							{ arena_strdup(arena, tail_text(e, 3)), arena_strdup(arena, tail_text(e, 4)),
							  arena_strdup(arena, tail_text(e, 5)) }, at->offset, at->kind };
		if (at->probe >= count)
			count = at->probe + 1;
	}
	trace_cursor_free(cursor);
	ret_names->count = count;
}
