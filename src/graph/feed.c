/* The events to the builder, in the order of time. */
#include "graph/build.h"

int feed_all(struct builder *b, struct err *err)
{
	struct trace_cursor *cursor = trace_cursor_new(b->graph->trace, NULL);
	const struct event *e;

	(void)err;
	while ((e = trace_cursor_next(cursor)))
		builder_event(b, e);
	trace_cursor_free(cursor);
	return 0;
}
