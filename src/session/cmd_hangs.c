/* argus hangs: the stretches in which threads did not do what they should. */
#include <errno.h>

#include "base/json.h"
#include "path/report.h"
#include "session/command.h"
#include "session/hang_list.h"
#include "session/path_picture.h"
#include "session/path_run.h"
#include "trace/blocks.h"
#include "session/session.h"

static const struct option_spec hangs_options_list[] = {
	{ "pid", 'p', OPTION_NUMBER, "PID", "only hangs of this process, also those that may be meant", .least = 1, .most = OPTION_PID_MOST },
	{ "threshold", 0, OPTION_DURATION, "TIME", "what takes longer is a hang (1s; for computing 2s)", .least = 1 },
	{ "all", 'a', OPTION_FLAG, NULL, "what may be meant, too: who waits for a person or for news, sleeps or works as told" },
	{ "last", 0, OPTION_DURATION, "TIME", "only hangs of the last TIME: 10m", .least = 1 },
	{ "from", 0, OPTION_TEXT, "TIME", "only hangs that end after TIME" },
	{ "to", 0, OPTION_TEXT, "TIME", "only hangs that begin before TIME" },
	OPTION_WITHOUT,
	OPTION_SET,
	OPTION_INDEX,
	OPTION_JSON,
	{ 0 }
};

static const struct option_rule hangs_rules[] = { { .one_of = "last from" }, { .one_of = "last to" }, { 0 } };

static int read_window(const struct command_context *context, const struct session *session, struct hangs_options *options, struct err *err)
{
	const char *from = options_text(context->options, "from", NULL), *to = options_text(context->options, "to", NULL);
	uint64_t last = options_number(context->options, "last", 0);

	if (!from && !to && !last)
		return 0;
	return session_window(session, from, to, last, &options->from_ns, &options->to_ns, err);
}

static void put_json(const struct session *session, const struct hang *hangs, size_t count, struct buf *buf)
{
	struct json json;

	json_init(&json, buf);
	json.pretty = true;
	json_array(&json, NULL);
	for (size_t i = 0; i < count; i++) {
		json_object(&json, NULL);
		json_u64(&json, "pid", hangs[i].pid);
		json_u64(&json, "tid", hangs[i].tid);
		json_text(&json, "comm", hangs[i].comm);
		if (hangs[i].program)
			json_text(&json, "program", hangs[i].program);
		json_u64(&json, "start_ns", hangs[i].start_ns);
		json_u64(&json, "end_ns", hangs[i].end_ns);
		json_u64(&json, "start_wall_ns", trace_wall_ns(session->trace, hangs[i].start_ns));
		json_text(&json, "reason", hang_reason(&hangs[i]));
		if (hangs[i].rule)
			json_text(&json, "rule", rule_infos[hangs[i].rule].name);
		if (hangs[i].meant)
			json_text(&json, "meant", rule_infos[hangs[i].meant].name);
		json_end(&json);
	}
	json_end(&json);
	buf_char(buf, '\n');
}

#define FOLDED_MOST 5 /* hangs whose path is looked at */
#define BLOCKS_MOST 8 /* that are read once more for one of them */
#define ROWS_FOLDED 2

/* A hang that is made of many short waits is told by what they are for. */
static void put_pieces(const struct session *session, const struct hang *hang, struct buf *buf)
{
	struct fold fold;
	/* With blocks it is the thread's tid. */
	bool is_there = session->blocks
		? blocks_find(session->blocks, hang->end_ns) - blocks_find(session->blocks, hang->start_ns) < BLOCKS_MOST &&
		  path_window_of(session, hang->thread, hang->start_ns, hang->end_ns, 0, &fold)
		: path_window(session, hang->thread, hang->start_ns, hang->end_ns, 0, &fold);

	if (!is_there)
		return;
	if (path_in_pieces(&fold))
		report_path_brief(&fold, ROWS_FOLDED, 6, buf);
	fold_done(&fold);
}

/* Where nothing hung in the whole of a run it is told where its time went. */
static void put_list(const struct command_context *context, struct session *session, const struct hang *hangs, size_t count, size_t left_out,
		     uint32_t pid, bool window, struct buf *buf)
{
	const char *path = count || window ? NULL : path_sentences(context->arena, session, pid);

	if (!count)
		hang_list(context->arena, session, hangs, count, buf);
	for (size_t i = 0; i < count; i++) {
		hang_list_line(context->arena, session, hangs, i, buf);
		if (i < FOLDED_MOST)
			put_pieces(session, &hangs[i], buf);
	}
	if (left_out)
		buf_printf(buf, "%zu that may be meant %s left out: --all lists %s\n", left_out, left_out == 1 ? "is" : "are", left_out == 1 ? "it" : "them");
	if (path)
		buf_printf(buf, "%s\n", path);
}

/* A process is told what the list says of it: to judge it by itself takes as long as all of the trace, and what it may mean to do looks
 * like a hang then. 0: of all. */
static void keep_of_process(struct arena *arena, uint32_t pid, const struct hang **hangs, size_t *count)
{
	struct hang *own;
	size_t kept = 0;

	if (!pid)
		return;
	own = arena_array(arena, struct hang, *count + 1);
	for (size_t i = 0; i < *count; i++)
		if ((*hangs)[i].pid == pid)
			own[kept++] = (*hangs)[i];
	*hangs = own;
	*count = kept;
}

static int find_hangs(const struct command_context *context, struct session *session, const struct hangs_options *options, uint32_t pid,
		      const struct hang **ret_hangs, size_t *ret_count, struct err *err)
{
	int r = session_hangs(session, context->arena, options, ret_hangs, ret_count, err);

	if (r)
		return r;
	keep_of_process(context->arena, pid, ret_hangs, ret_count);
	r = session_hangs_elsewhere(session, context->arena, options, ret_hangs, ret_count, err);
	if (!r)
		keep_of_process(context->arena, pid, ret_hangs, ret_count);
	return r;
}

static int run_hangs(struct command_context *context, struct err *err)
{
	struct hangs_options options = {
		.threshold_ns = options_number(context->options, "threshold", 0),
	};
	uint32_t pid = (uint32_t)options_number(context->options, "pid", 0);
	const struct hang *hangs;
	struct session session;
	struct buf buf;
	size_t count, shown;
	uint32_t thread;
	struct judgement judgement;
	int r;

	judgement_init(&judgement);
	r = command_judgement(context, &judgement, err);
	if (!r)
		r = session_open_with(command_trace_or_ring(context),
				      &(struct session_options){ &judgement, options_text(context->options, "index", NULL), .once = true }, &session, err);

	if (r)
		return r;
	if (pid)
		r = session_process(&session, pid, &thread, err);
	if (!r)
		r = read_window(context, &session, &options, err);
	options.root_pid = session.root_pid;
	if (!r)
		r = find_hangs(context, &session, &options, pid, &hangs, &count, err);
	if (!r) {
		command_note_damage(context, session.trace);
		command_note_session(context, &session);
		shown = options_has(context->options, "all") || pid ? count : hangs_certain(hangs, count);
		buf_init(&buf);
		if (options_has(context->options, "json"))
			put_json(&session, hangs, shown, &buf);
		else
			put_list(context, &session, hangs, shown, count - shown, pid, options.to_ns != 0, &buf);
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
	.rules = hangs_rules,
	.pages = true,
	.narrow = NARROW_TRACE,
	.run = run_hangs,
};
