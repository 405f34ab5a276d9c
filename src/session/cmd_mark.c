/* argus mark: a remark in the running recording, at this moment. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "record/control.h"
#include "session/command.h"
#include "session/service_ask.h"

static const struct option_spec options[] = { { NULL } };

static int ask(const struct buf *line, struct buf *reply, struct err *err)
{
	struct service_request request = { .verb = SERVICE_MARK };

	snprintf(request.text, sizeof(request.text), "%s", buf_str(line) + 5);
	return service_ask_recorder(buf_str(line), &request, reply, err);
}

static int run(struct command_context *context, struct err *err)
{
	struct buf request, reply;
	bool empty = true;
	int r;

	buf_init(&request);
	buf_init(&reply);
	buf_text(&request, "mark");
	for (size_t i = 0; i < context->options->argument_count; i++) {
		buf_char(&request, ' ');
		buf_text(&request, context->options->arguments[i]);
	}
	/* a request is one line */
	for (size_t i = 0; i < request.length; i++) {
		if (request.data[i] == '\n')
			request.data[i] = ' ';
		empty &= i < 5 || request.data[i] == ' ';
	}
	if (empty)
		r = err_set(err, -EINVAL, "mark needs a text");
	else if (request.length >= CONTROL_REQUEST_BYTES - 1)
		r = err_set(err, -E2BIG, "the remark is too long: at most %d bytes", CONTROL_REQUEST_BYTES - 8);
	else
		r = ask(&request, &reply, err);
	buf_done(&request);
	buf_done(&reply);
	return r;
}

const struct command command_mark = {
	.name = "mark",
	.arguments = "TEXT",
	.many_arguments = true,
	.summary = "note this moment in the running recording",
	.options = options,
	.run = run,
};
