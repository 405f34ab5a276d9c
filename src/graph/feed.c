/* The events to the builder, in the order of time. The cursor's second thread
 * decodes, this one merges and builds; fields that neither the builder nor a rule
 * asks for are not decoded. */
#include "graph/build.h"

void feed_all(struct builder *b)
{
	struct trace_filter filter = { .fields = b->program.fields, .whole = true };
	const struct graph_options *options = b->options;
	struct trace_cursor *cursor;
	const struct event *e;

	for (unsigned i = 0; options->watch && i < EVENT_MAX; i++)
		b->program.fields[i] |= options->watch_fields[i];
	/* nobody looks at more of them than the tables take */
	if (!b->gathering || !tables_gather_wants(b->gathering, EVENT_frame))
		b->program.fields[EVENT_frame] = 0;
	cursor = trace_cursor_new(b->graph->trace, &filter);
	while ((e = trace_cursor_next(cursor))) {
		if (b->gathering)
			tables_gather_take(b->gathering, e);
		builder_event(b, e);
		if (options->watch)
			options->watch(options->watch_data, e);
	}
	trace_cursor_free(cursor);
}
