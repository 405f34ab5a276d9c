/* The interactive session: where the time went, folded. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "path/report.h"
#include "session/debug.h"
#include "session/path_picture.h"
#include "session/path_run.h"

#define ROWS_SHOWN 10

static void put_fold(const struct fold *fold, struct buf *out)
{
	buf_printf(out, " through %.3f s: %" PRIu64 " link%s\n\n", (double)fold->total_ns / 1e9, fold->links_seen, fold->links_seen == 1 ? "" : "s");
	report_path_table(fold, ROWS_SHOWN, out);
	report_path_pools(fold, out);
}

/* Of the victim through the window of the answer. */
static int path_of_answer(struct debug *debug, struct buf *out, struct err *err)
{
	const struct diagnose_request *q = &debug->request;
	struct fold fold;

	if (!path_window(&debug->session, q->thread, q->from_ns, q->to_ns, 0, &fold))
		return err_set(err, -ENOENT, "the hang's thread is not in the trace at that time");
	buf_printf(out, "The path of %s", debug_who(debug, q->thread, q->to_ns));
	put_fold(&fold, out);
	fold_done(&fold);
	return 0;
}

static int path_of(struct debug *debug, const struct path_question *question, struct buf *out, struct err *err)
{
	struct path_reply reply;
	uint32_t root = question->pid ? question->pid : question->tid;
	int r = root ? 0 : path_root(&debug->session, &root, err);

	if (!r && !root)
		return err_set(err, -ENOENT, "this is not a recording of one command: `path pid PID` or `path tid TID` tells whose path is meant");
	if (!r)
		r = path_run(&debug->arena, &debug->session, question, &reply, err);
	if (r)
		return r;
	path_reply_head(&reply, out);
	report_path_table(&reply.fold, ROWS_SHOWN, out);
	report_path_pools(&reply.fold, out);
	path_reply_done(&reply);
	return 0;
}

int debug_path(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	const struct trace_summary *summary = trace_summary(debug->session.trace);
	struct path_question question = { .from_ns = summary->start_ns, .to_ns = summary->end_ns };
	bool tid = words->count > 2 && !strcmp(words->items[1], "tid"), pid = words->count == 3 && !strcmp(words->items[1], "pid");
	uint64_t number = 0;
	int r = 0;

	if (words->count == 1 && debug->diagnosis)
		return path_of_answer(debug, out, err);
	if (words->count == 1 || (words->count == 2 && !strcmp(words->items[1], "run")))
		return path_of(debug, &question, out, err);
	if (!pid && !(tid && (words->count == 3 || words->count == 5)))
		return debug_usage(words, err);
	r = debug_number(words->items[2], &number, err);
	if (!r && (!number || number > UINT32_MAX))
		r = err_set(err, -EINVAL, "'%s' is not a thread number", words->items[2]);
	question.tid = tid ? (uint32_t)number : 0;
	question.pid = pid ? (uint32_t)number : 0;
	if (!r && words->count == 5)
		r = session_time(&debug->session, words->items[3], &question.from_ns, err);
	if (!r && words->count == 5)
		r = session_time(&debug->session, words->items[4], &question.to_ns, err);
	if (!r && question.from_ns >= question.to_ns)
		r = err_set(err, -EINVAL, "the window ends before it begins");
	return r ? r : path_of(debug, &question, out, err);
}
