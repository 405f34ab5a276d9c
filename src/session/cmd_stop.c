/* argus stop: ends the flight recorder; its ring stays. */
#include <errno.h>

#include "record/control.h"
#include "session/command.h"

static const struct option_spec options[] = { { NULL } };

static int run(struct command_context *context, struct err *err)
{
	struct buf reply;
	int r;

	buf_init(&reply);
	r = control_ask("stop", &reply, err);
	buf_done(&reply);
	if (!r)
		sink_text(context->notes, "stopped; the ring's files stay\n");
	return r;
}

const struct command command_stop = {
	.name = "stop",
	.arguments = "",
	.summary = "end the recorder in the background",
	.options = options,
	.run = run,
};
