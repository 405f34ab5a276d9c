/* The events to the builder, in the order of time. The cursor's second thread
 * decodes, this one merges and builds; fields that neither the builder nor a rule
 * asks for are not decoded. */
#include "graph/build.h"

void feed_all(struct builder *b)
{
	struct trace_filter filter = { .fields = b->program.fields };
	struct trace_cursor *cursor = trace_cursor_new(b->graph->trace, &filter);
	const struct event *e;

	while ((e = trace_cursor_next(cursor))) {
		if (b->gathering)
			tables_gather_take(b->gathering, e);
		builder_event(b, e);
	}
	trace_cursor_free(cursor);
}
