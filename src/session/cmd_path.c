/* argus path: where the time of a run went, along its critical path. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "path/report.h"
#include "session/command.h"
#include "session/path_compared.h"
#include "session/path_requests.h"
#include "session/path_run.h"

#define PATH_JSON_VERSION 1

static const struct option_spec path_options[] = {
	{ "pid", 'p', OPTION_NUMBER, "PID", "this process: its first thread (the recorded command)", .least = 1, .most = OPTION_PID_MOST },
	{ "tid", 't', OPTION_NUMBER, "TID", "this thread", .least = 1, .most = OPTION_PID_MOST },
	OPTION_FROM,
	OPTION_TO,
	{ "top", 'n', OPTION_NUMBER, "N", "show N lines (10)", .least = 1, .most = 100000 },
	{ "tree", 0, OPTION_FLAG, NULL, "each wait along the path, and what went on during it" },
	{ "folded", 0, OPTION_FLAG, NULL, "one line a way, with its microseconds, for flame graphs" },
	{ "what-if", 0, OPTION_FLAG, NULL, "estimate by replay how long the run would take if the first lines took less" },
	{ "requests", 0, OPTION_FLAG, NULL, "of a server (--pid, or the recorded command): its requests, and what the slowest went through" },
	{ "by", 0, OPTION_WORD, "WHAT", "with --requests: told apart by port, socket, or the function that answers", .choices = "port socket function" },
	{ "base", 0, OPTION_TEXT, "FILE", "against another trace: which lines became longer; with --requests, of its requests" },
	OPTION_JSON,
	{ 0 }
};

static const struct option_rule path_rules[] = {
	{ .one_of = "pid tid" }, { .one_of = "tree folded json" }, { .one_of = "top tree" }, { .one_of = "top folded" },
	{ .one_of = "what-if folded" },
	{ .one_of = "requests tid" }, { .one_of = "requests top" }, { .one_of = "requests tree" }, { .one_of = "requests folded" },
	{ .one_of = "requests what-if" }, { .option = "by", .without = "requests" },
	{ .one_of = "base tid" }, { .one_of = "base tree" }, { .one_of = "base folded" }, { .one_of = "base what-if" }, { 0 }
};

static int read_question(const struct command_context *context, const struct session *session, struct path_question *q, struct err *err)
{
	const struct trace_summary *summary = trace_summary(session->trace);
	const char *from = options_text(context->options, "from", NULL), *to = options_text(context->options, "to", NULL);
	int r = 0;

	*q = (struct path_question){ .pid = (uint32_t)options_number(context->options, "pid", 0),
				     .tid = (uint32_t)options_number(context->options, "tid", 0),
				     .from_ns = summary->start_ns, .to_ns = summary->end_ns,
				     .what_if = options_has(context->options, "what-if") };
	if (from)
		r = session_time(session, from, &q->from_ns, err);
	if (!r && to)
		r = session_time(session, to, &q->to_ns, err);
	if (!r && q->from_ns >= q->to_ns)
		r = err_set(err, -EINVAL, "the window ends before it begins");
	return r;
}

static void as_json(const struct session *session, const struct path_reply *reply, bool what_if, struct buf *buf)
{
	struct json json;

	json_init(&json, buf);
	json.pretty = true;
	json_object(&json, NULL);
	json_u64(&json, "version", PATH_JSON_VERSION);
	json_text(&json, "trace", trace_path(session->trace));
	json_u64(&json, "pid", reply->pid);
	json_u64(&json, "tid", reply->tid);
	json_text(&json, "comm", reply->comm);
	json_u64(&json, "start_ns", reply->from_ns);
	json_u64(&json, "end_ns", reply->to_ns);
	json_u64(&json, "lost", reply->lost);
	json_u64(&json, "lost_ns", reply->lost_ns);
	report_path_json(&reply->fold, &json);
	if (what_if)
		report_path_changes_json(&reply->changes, &json);
	json_end(&json);
	buf_char(buf, '\n');
}

static enum request_group group_by(const struct options *options)
{
	const char *by = options_text(options, "by", "");

	return !strcmp(by, "port") ? GROUP_PORT : !strcmp(by, "socket") ? GROUP_SOCKET : !strcmp(by, "function") ? GROUP_FUNCTION : GROUP_NONE;
}

static int show_requests(struct command_context *context, struct session *session, const struct path_question *question, struct err *err)
{
	const char *base_path = options_text(context->options, "base", NULL);
	struct requests_reply reply;
	struct session base;
	struct json json;
	struct buf buf;
	int r = base_path ? session_open(base_path, &base, err) : 0;

	if (r)
		return r;
	r = path_requests(session, base_path ? &base : NULL, question, group_by(context->options), &reply, err);
	if (!r) {
		command_note_damage(context, session->trace);
		buf_init(&buf);
		if (options_has(context->options, "json")) {
			json_init(&json, &buf);
			json.pretty = true;
			json_object(&json, NULL);
			json_u64(&json, "version", PATH_JSON_VERSION);
			json_text(&json, "trace", trace_path(session->trace));
			json_u64(&json, "pid", reply.pid);
			path_requests_json(session, &reply, &json);
			json_end(&json);
			buf_char(&buf, '\n');
		} else {
			path_requests_text(session, &reply, &buf);
		}
		r = sink_buf(context->out, &buf);
		buf_done(&buf);
		path_requests_done(&reply);
	}
	if (base_path)
		session_close(&base);
	return r;
}

/* What became longer since the other trace; the reply's fold goes into the comparison. */
static int compare(struct command_context *context, const struct path_question *question,
		   struct path_reply *reply, struct tails *tails, struct path_reply *ret_base, struct err *err)
{
	const char *path = options_text(context->options, "base", NULL);
	struct session base;
	int r = session_open(path, &base, err);
	struct path_question q;

	if (r)
		return r;
	q = (struct path_question){ .from_ns = trace_summary(base.trace)->start_ns, .to_ns = trace_summary(base.trace)->end_ns };
	/* Another run of the same program has other numbers. */
	r = question->pid ? 0 : path_root(&base, &q.tid, err);
	if (!r && !q.tid)
		r = path_named(&base, reply->comm, reply->pid, &q.pid, err);
	q.tid = 0;
	if (!r)
		r = path_run(context->arena, &base, &q, ret_base, err);
	session_close(&base);
	if (r)
		return r;
	*tails = (struct tails){ .slow = reply->fold, .middle = ret_base->fold, .slow_count = 1, .middle_count = 1 };
	tails_compare(tails);
	return 0;
}

static void compared_json(const struct session *session, const struct path_reply *reply, const struct path_reply *base, const char *base_path,
			  const struct tails *tails, struct buf *buf)
{
	struct json json;

	json_init(&json, buf);
	json.pretty = true;
	json_object(&json, NULL);
	json_u64(&json, "version", PATH_JSON_VERSION);
	json_text(&json, "trace", trace_path(session->trace));
	json_text(&json, "base", base_path);
	json_u64(&json, "pid", reply->pid);
	json_u64(&json, "total_ns", reply->fold.total_ns);
	json_u64(&json, "base_total_ns", base->fold.total_ns);
	path_compared_json(tails, "compared", "now_ns", "then_ns", &json);
	json_end(&json);
	buf_char(buf, '\n');
}

static int show_compared(struct command_context *context, const struct session *session, const struct path_question *question,
			 struct path_reply *reply, struct err *err)
{
	const char *path = options_text(context->options, "base", NULL);
	struct path_reply base;
	struct tails tails;
	struct buf buf;
	int r = compare(context, question, reply, &tails, &base, err);

	if (r) {
		path_reply_done(reply);
		return r;
	}
	command_note_damage(context, session->trace);
	buf_init(&buf);
	if (options_has(context->options, "json")) {
		compared_json(session, reply, &base, path, &tails, &buf);
	} else {
		path_reply_head(reply, &buf);
		buf_text(&buf, "That of ");
		buf_escaped(&buf, path, strlen(path), NULL);
		buf_printf(&buf, " took %.3f s. What became longer comes first:\n\n%10s %10s  %s\n", (double)base.fold.total_ns / 1e9, "now", "then", "what");
		path_compared_text(&tails, options_number(context->options, "top", 10), &buf);
	}
	r = sink_buf(context->out, &buf);
	buf_done(&buf);
	tails_done(&tails);
	return r;
}

static int run_path(struct command_context *context, struct err *err)
{
	const struct options *options = context->options;
	struct path_question question;
	struct path_reply reply;
	struct session session;
	struct buf buf;
	int r = session_open(command_trace_or_ring(context), &session, err);

	if (r)
		return r;
	r = read_question(context, &session, &question, err);
	if (!r && options_has(options, "requests")) {
		r = show_requests(context, &session, &question, err);
		session_close(&session);
		return r;
	}
	if (!r)
		r = path_run(context->arena, &session, &question, &reply, err);
	if (!r && options_has(options, "base")) {
		r = show_compared(context, &session, &question, &reply, err);
	} else if (!r) {
		command_note_damage(context, session.trace);
		buf_init(&buf);
		if (options_has(options, "json")) {
			as_json(&session, &reply, question.what_if, &buf);
		} else if (options_has(options, "folded")) {
			report_path_folded(&reply.fold, &buf);
		} else {
			path_reply_head(&reply, &buf);
			if (options_has(options, "tree")) {
				report_path_tree(&reply.fold, 5, &buf);
			} else {
				report_path_table(&reply.fold, options_number(options, "top", 10), &buf);
				report_path_pools(&reply.fold, &buf);
			}
			if (question.what_if)
				report_path_changes(&reply.fold, &reply.changes, &buf);
		}
		r = sink_buf(context->out, &buf);
		buf_done(&buf);
		path_reply_done(&reply);
	}
	session_close(&session);
	return r;
}

const struct command command_path = {
	.name = "path",
	.arguments = "[FILE]",
	.summary = "where the time of a run went, along its critical path",
	.help = "The path goes back from the end of the run: where a thread waited for another one, what that one did meanwhile\n"
		"counts instead, so each moment counts once. Links of the same kind are one line.\n",
	.options = path_options,
	.rules = path_rules,
	.pages = true,
	.narrow = NARROW_TRACE,
	.run = run_path,
};
