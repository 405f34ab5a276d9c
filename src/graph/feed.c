/* The events to the builder, in the order of time. The cursor's second thread
 * decodes, this one merges and builds; fields that neither the builder nor a rule
 * asks for are not decoded. */
#include <string.h>

#include "graph/build.h"

/* For the index: what tells the tables, so that no other pass is needed for them. */
static void keep_event(struct graph *graph, const struct event *e)
{
	struct kept_event kept = { .time = e->time, .number = e->number, .tid = e->tid, .cpu = e->cpu, .type = e->type,
				   .tail_length = e->tail_length, .bytes = event_infos[e->type].bytes };
	size_t size = sizeof(kept) + kept.bytes + ((size_t)kept.tail_length + 1), at = graph->kept_events.length;
	char *to;

	size = (size + 7) / 8 * 8;
	vec_reserve(&graph->kept_events, at + size);
	to = graph->kept_events.items + at;
	memset(to + size - 8, 0, 8);
	memcpy(to, &kept, sizeof(kept));
	memcpy(to + sizeof(kept), e->data, kept.bytes);
	memcpy(to + sizeof(kept) + kept.bytes, e->tail, (size_t)kept.tail_length + 1);
	graph->kept_events.length += size;
}

void feed_all(struct builder *b)
{
	struct trace_filter filter = { .fields = b->program.fields };
	const struct graph_options *options = b->options;
	struct trace_cursor *cursor;
	const struct event *e;

	for (unsigned i = 0; options->watch && i < EVENT_MAX; i++)
		b->program.fields[i] |= options->watch_fields[i];
	cursor = trace_cursor_new(b->graph->trace, &filter);
	while ((e = trace_cursor_next(cursor))) {
		if (b->gathering && tables_gather_take(b->gathering, e))
			keep_event(b->graph, e);
		builder_event(b, e);
		if (options->watch)
			options->watch(options->watch_data, e);
	}
	trace_cursor_free(cursor);
}
