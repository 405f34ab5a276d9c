/* argus hangs: the stretches in which threads did not do what they should. */
#include <errno.h>

#include "base/json.h"
#include "session/command.h"
#include "session/hang_list.h"
#include "session/session.h"

static const struct option_spec hangs_options_list[] = {
	{ "pid", 'p', OPTION_NUMBER, "PID", "only of this process", .least = 1, .most = OPTION_PID_MOST },
	{ "threshold", 0, OPTION_DURATION, "TIME", "what takes longer is a hang (1 s; 2 s of computing)", .least = 1 },
	OPTION_JSON,
	{ 0 }
};

static void put_json(const struct session *session, const struct hang *hangs, size_t count, struct buf *buf)
{
	struct json json;

	json_init(&json, buf);
	json.pretty = true;
	json_array(&json, NULL);
	for (size_t i = 0; i < count; i++) {
		const struct thread *t = &session->tables->threads[hangs[i].thread];

		json_object(&json, NULL);
		json_u64(&json, "pid", t->pid);
		json_u64(&json, "tid", t->tid);
		json_text(&json, "comm", tables_comm(session->tables, hangs[i].thread, hangs[i].end_ns));
		json_u64(&json, "start_ns", hangs[i].start_ns);
		json_u64(&json, "end_ns", hangs[i].end_ns);
		json_text(&json, "reason", hangs[i].reason);
		json_end(&json);
	}
	json_end(&json);
	buf_char(buf, '\n');
}

static int run_hangs(struct command_context *context, struct err *err)
{
	struct hangs_options options = {
		.pid = (uint32_t)options_number(context->options, "pid", 0),
		.threshold_ns = options_number(context->options, "threshold", 0),
	};
	const struct hang *hangs;
	struct session session;
	struct buf buf;
	size_t count;
	uint32_t thread;
	int r = session_open(command_trace_path(context), &session, err);

	if (r)
		return r;
	if (options.pid)
		r = session_process(&session, options.pid, &thread, err);
	if (!r) {
		command_note_damage(context, session.trace);
		options.root_pid = session.root_pid;
		count = hangs_find(context->arena, session.diagnoser, &options, &hangs);
		buf_init(&buf);
		if (options_has(context->options, "json"))
			put_json(&session, hangs, count, &buf);
		else
			hang_list(context->arena, &session, hangs, count, &buf);
		r = sink_buf(context->out, &buf);
		buf_done(&buf);
	}
	session_close(&session);
	return r;
}

const struct command command_hangs = {
	.name = "hangs",
	.arguments = "[FILE]",
	.summary = "list the hangs in a trace, the worst first",
	.options = hangs_options_list,
	.pages = true,
	.run = run_hangs,
};
