/* argus dump: a line for each event. */
#include <errno.h>

#include "session/command.h"
#include "trace/text.h"
#include "trace/trace.h"

#define DUMP_BLOCK (256u * 1024)

static const struct option_spec dump_options[] = {
	{ "text", 0, OPTION_FLAG, NULL, "the text form, all of it: `argus import --text` makes the same trace of it" },
	{ "state", 0, OPTION_FLAG, NULL, "also the state that was found and records about the trace itself" },
	{ 0 }
};

static int run_dump(struct command_context *context, struct err *err)
{
	bool text = options_has(context->options, "text"), state = text || options_has(context->options, "state");
	const struct event *e;
	struct trace_cursor *cursor;
	struct trace *trace;
	struct buf buf;
	int status = trace_open(command_trace_path(context), &trace, err);

	if (status)
		return status;
	buf_init(&buf);
	cursor = trace_cursor_new(trace, NULL);
	while (!status && (e = trace_cursor_next(cursor))) {
		if (!state && event_infos[e->type].categories & (STATE | META))
			continue;
		text_format(&buf, e);
		if (buf.length >= DUMP_BLOCK) {
			status = sink_buf(context->out, &buf);
			buf_clear(&buf);
		}
	}
	if (!status)
		status = sink_buf(context->out, &buf);
	trace_cursor_free(cursor);
	trace_close(trace);
	buf_done(&buf);
	return status;
}

const struct command command_dump = {
	.name = "dump",
	.arguments = "[FILE]",
	.summary = "print events, one a line",
	.options = dump_options,
	.pages = true,
	.run = run_dump,
};
