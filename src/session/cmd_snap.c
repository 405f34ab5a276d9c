/* argus snap: a trace of the last minutes, out of the ring, while recording
 * goes on. */
#include <errno.h>
#include <unistd.h>

#include "record/control.h"
#include "base/clock.h"
#include "session/command.h"
#include "session/ring_copy.h"
#include "session/service_ask.h"

static const struct option_spec options[] = {
	OPTION_OUTPUT_TRACE,
	{ "last", 0, OPTION_DURATION, "TIME", "only the last TIME: 30s, 10m (all that the ring holds)", .least = 1 },
	{ "dir", 'd', OPTION_TEXT, "DIR", "folder of a ring that nobody records into (after a crash)" },
	{ NULL },
};

static int snap(struct command_context *context, const char *folder, const char *path, struct err *err)
{
	uint64_t last = options_number(context->options, "last", 0), now = clock_now_ns();
	struct ring_copy_want want = { 0 };

	if (options_has(context->options, "dir"))
		want.last_ns = last;
	else if (last)
		want.from_ns = now > last ? now - last : 0;
	return ring_copy(folder, path, &want, err);
}

/* Who waits for what at this moment belongs to it; a recorder of before has no such request. */
static int ask(struct buf *reply, struct err *err)
{
	int r = control_ask("snapshot", reply, err);

	return r == -EINVAL ? control_ask("flush", reply, err) : r;
}

/* The recorder answers its own user alone; members of a group have the recording service. */
static int by_service(struct command_context *context, const char *path, int refused, struct err *err)
{
	struct err why = { 0 };
	int r = service_snap(path, options_number(context->options, "last", 0), &why);

	if (r == -ENOENT || r == -ECONNREFUSED)
		return refused;
	if (r && err)
		*err = why;
	return r;
}

static int run(struct command_context *context, struct err *err)
{
	const char *path = options_text(context->options, "output", COMMAND_TRACE);
	const char *folder = options_text(context->options, "dir", NULL);
	struct buf reply;
	int r = 0;

	buf_init(&reply);
	if (!folder) {
		r = ask(&reply, err);
		folder = buf_str(&reply);
	}
	if ((r == -EACCES || r == -EPERM) && geteuid())
		r = by_service(context, path, r, err);
	else if (!r)
		r = snap(context, folder, path, err);
	if (!r)
		sink_printf(context->notes, "saved %s\n", path);
	buf_done(&reply);
	return r;
}

const struct command command_snap = {
	.name = "snap",
	.arguments = "",
	.summary = "save what the recorder in the background has, or the end of it",
	.options = options,
	.run = run,
};
