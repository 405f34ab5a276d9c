/* The critical path of a run, see path_run.h. */
#include "session/path_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "path/lock_names.h"
#include "path/report.h"
#include "session/path_walk.h"
#include "session/recorded.h"

#define QUEUED_PART 4u       /* of the path, from which on waiting for a processor is told at its head */
#define ROOT_BY_NS 10000000000ull /* by then the recorded command has begun */

struct run {
	const struct session *session;
	struct path_reply *reply;
	struct lock_names *lock_names;
	struct arena *arena;
};

/* When the recorded command became itself: until then it is the recorder's child. */
static uint64_t begun_ns(const struct trace *trace, uint32_t tid)
{
	struct trace_filter filter = { 0 };
	struct trace_cursor *cursor;
	const struct event *e;
	uint64_t ns = 0;

	trace_filter_add(&filter, EVENT_exec);
	cursor = trace_cursor_new(trace, &filter);
	while (!ns && (e = trace_cursor_next(cursor)))
		ns = e->tid == tid ? e->time : 0;
	trace_cursor_free(cursor);
	return ns;
}

int path_root(const struct session *session, uint32_t *ret_tid, struct err *err)
{
	const struct trace *trace = session->trace;
	struct tables *tables;
	int r;

	*ret_tid = session->root_pid;
	if (!*ret_tid && session->blocks) {
		/* The tables of the trace's beginning. */
		r = tables_build_window(trace, TABLES_THREADS, trace_summary(trace)->start_ns, trace_summary(trace)->start_ns + ROOT_BY_NS,
					&tables, err);
		if (r)
			return r;
		*ret_tid = recorded_root(trace, tables);
		tables_free(tables);
	}
	if (!*ret_tid)
		*ret_tid = recorded_only(trace);
	return 0;
}

/* Whom the question is about. */
static int find_root(struct run *run, struct path_question *q, struct err *err)
{
	const struct trace *trace = run->session->trace;
	uint64_t begun;
	int r = 0;

	run->reply->tid = q->tid ? q->tid : q->pid;
	if (!run->reply->tid)
		r = path_root(run->session, &run->reply->tid, err);
	if (r)
		return r;
	if (run->reply->tid && !q->tid && !q->pid && (begun = begun_ns(trace, run->reply->tid)) > q->from_ns && begun < q->to_ns)
		q->from_ns = begun;
	return run->reply->tid ? 0 : err_set(err, -ENOENT, "this is not a recording of one command: say whose path is asked for, with --pid or "
					     "--tid (`argus info` lists who was there)");
}

void path_put_losses(const struct trace_losses *losses, const char *what, struct buf *buf)
{
	if (!losses->ns)
		return;
	/* Of what was cut off nobody knows how many they were. */
	if (losses->events)
		buf_printf(buf, "%" PRIu64 " event%s", losses->events, losses->events == 1 ? " was" : "s were");
	else
		buf_text(buf, "Events were");
	buf_printf(buf, " lost in %.3f s of it: %s.\n", (double)losses->ns / 1e9, what);
}

/* What replay needs of the window's events. */
struct run_facts {
	uint8_t *prios;           /* threads' kernel priorities, as they last got a processor */
	struct vec(struct sleep_over) over;
};

static int by_thread_and_call(const void *a, const void *b)
{
	const struct sleep_over *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->syscall != y->syscall)
		return x->syscall < y->syscall ? -1 : 1;
	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

static struct run_facts find_facts(const struct session *session, uint64_t from_ns, uint64_t to_ns)
{
	const struct tables *tables = session->tables;
	struct run_facts facts = { .prios = mem_zalloc(arena_array_bytes(sizeof(*facts.prios), tables->thread_count)) };
	struct trace_filter filter = { .from_ns = from_ns, .to_ns = to_ns };
	struct trace_cursor *cursor;
	const struct event *e;

	trace_filter_add(&filter, EVENT_switch);
	trace_filter_add(&filter, EVENT_wake);
	cursor = trace_cursor_new(session->trace, &filter);
	while ((e = trace_cursor_next(cursor))) {
		if (e->type == EVENT_switch)
			facts.prios[tables_thread(tables, event_as(e, switch)->next, e->time)] = event_as(e, switch)->next_prio;
		else if (e->tid == event_as(e, wake)->target && event_as(e, wake)->cause == WAKE_CAUSE_timeout &&
			 event_as(e, wake)->flags & WAKE_FLAGS_target_running)
			vec_push(&facts.over, ((struct sleep_over){ e->time, tables_thread(tables, e->tid, e->time), event_as(e, wake)->syscall }));
	}
	trace_cursor_free(cursor);
	if (facts.over.length)
		qsort(facts.over.items, facts.over.length, sizeof(*facts.over.items), by_thread_and_call);
	return facts;
}

/* Replay needs all of the path in one scene. */
static int find_changes(struct session *session, struct run *run, struct err *err)
{
	struct path_reply *reply = run->reply;
	struct script_question question = { .from_ns = reply->from_ns, .to_ns = reply->to_ns };
	struct naming naming;
	struct run_facts facts;
	int r = session_look(session, reply->from_ns, reply->to_ns, err);

	if (r)
		return r;
	if (session->scene->start_ns > reply->from_ns || session->scene->end_ns < reply->to_ns)
		return err_set(err, -E2BIG, "the path is too long to be replayed as a whole: give a shorter window with --from and --to");
	question.root = tables_thread(session->tables, reply->tid, reply->to_ns - 1);
	facts = find_facts(session, reply->from_ns, reply->to_ns);
	question.prios = facts.prios;
	question.over = facts.over.items;
	question.over_count = facts.over.length;
	naming_init(&naming, session->scene, session->diagnoser, session->names, &reply->fold.texts, run->lock_names);
	whatif_find(&naming, &reply->fold, &question, trace_summary(session->trace)->busy_cpus, &reply->changes);
	naming_done(&naming);
	free(facts.prios);
	vec_done(&facts.over);
	return 0;
}

/* The walk, over all parts; the reply is the caller's to free, whatever comes of it. */
static int walk(struct run *run, const struct path_question *question, struct err *err)
{
	const struct session *session = run->session;
	struct path_question asked = *question;
	struct path_reply *reply = run->reply;
	struct path_walk path = { .session = session, .fold = &reply->fold, .arena = run->arena };
	struct trace_losses losses;
	int r;

	*reply = (struct path_reply){ .from_ns = question->from_ns, .to_ns = question->to_ns, .comm = "" };
	fold_init(&reply->fold);
	r = find_root(run, &asked, err);
	reply->fold.short_below_ns = asked.short_below_ns;
	line_begin(&reply->fold.line, asked.from_ns, asked.to_ns, asked.line_cells);
	path.lock_names = run->lock_names = lock_names_new(session->trace, asked.from_ns, asked.to_ns);
	path.tid = reply->tid;
	path.from_ns = asked.from_ns;
	path.to_ns = asked.to_ns;
	if (!r && session->blocks)
		r = path_walk_blocks(&path, err);
	else if (!r)
		path_walk_scene(&path);
	if (!r && !path.comm)
		r = err_set(err, -ENOENT, "%s %" PRIu32 " is not in the trace%s", question->tid ? "thread" : "process", reply->tid,
			    question->from_ns > trace_summary(session->trace)->start_ns || question->to_ns < trace_summary(session->trace)->end_ns
				    ? " at that time" : "");
	if (!r) {
		reply->from_ns = path.from_ns;
		reply->to_ns = path.to_ns;
		reply->pid = path.pid;
		reply->comm = path.comm;
		fold_finish(&reply->fold);
		losses = trace_losses(session->trace, reply->from_ns, reply->to_ns);
		reply->lost = losses.events;
		reply->lost_ns = losses.ns;
	}
	return r;
}

bool path_fold_of(const struct session *session, const struct path_question *question, struct fold *ret_fold)
{
	struct path_reply reply;
	struct arena arena;
	struct run run = { .session = session, .reply = &reply, .arena = &arena };
	struct err err;
	bool is_there;

	arena_init(&arena);
	is_there = !walk(&run, question, &err);
	lock_names_free(run.lock_names);
	if (is_there)
		*ret_fold = reply.fold;
	else
		fold_done(&reply.fold);
	arena_done(&arena);
	return is_there;
}

int path_run(struct arena *arena, struct session *session, const struct path_question *question, struct path_reply *ret_reply,
	     struct err *err)
{
	struct run run = { .session = session, .reply = ret_reply, .arena = arena };
	int r = walk(&run, question, err);

	if (!r && question->what_if)
		r = find_changes(session, &run, err);
	lock_names_free(run.lock_names);
	if (r)
		path_reply_done(ret_reply);
	return r;
}

void path_reply_head(const struct path_reply *reply, struct buf *buf)
{
	const struct fold *fold = &reply->fold;
	double seconds = (double)fold->total_ns / 1e9;

	buf_text(buf, "The path of ");
	buf_escaped(buf, reply->comm, strlen(reply->comm), NULL);
	buf_printf(buf, " (%s %" PRIu32 ") through %.3f s: %" PRIu64 " link%s\n", reply->tid == reply->pid ? "pid" : "thread", reply->tid, seconds,
		   fold->links_seen, fold->links_seen == 1 ? "" : "s");
	if (fold->unknown_ns)
		buf_printf(buf, "What went on in %.3f s of it is not known.\n", (double)fold->unknown_ns / 1e9);
	/* Told ahead of the lines, over which it is spread: the machine was busy, whoever had it. */
	if (fold->by_class[CLASS_QUEUED] * QUEUED_PART >= fold->total_ns && fold->total_ns)
		buf_printf(buf, "%.3f s of it (%.0f %%) went by waiting for a processor.\n", (double)fold->by_class[CLASS_QUEUED] / 1e9,
			   (double)fold->by_class[CLASS_QUEUED] * 100 / (double)fold->total_ns);
	path_put_losses(&(struct trace_losses){ .events = reply->lost, .ns = reply->lost_ns }, "its part of the path may be wrong", buf);
	buf_char(buf, '\n');
}

static bool descends_from(const struct tables *tables, uint32_t thread, uint32_t pid)
{
	for (unsigned i = 0; thread && i < 64; i++) {
		const struct thread *t = &tables->threads[thread];

		if (t->pid == pid)
			return true;
		thread = t->parent_pid && t->parent_pid != t->pid ? tables_process(tables, t->parent_pid, t->start_ns) : 0;
	}
	return false;
}

int path_named(const struct session *session, const char *comm, uint32_t pid, uint32_t *ret_pid, struct err *err)
{
	const struct trace_summary *summary = trace_summary(session->trace);
	const struct tables *tables = session->tables;
	struct tables *own = NULL;
	uint32_t root = 0;
	uint64_t best = 0;
	int r = path_root(session, &root, err);

	if (!r)
		r = session->blocks ? tables_build_window(session->trace, TABLES_THREADS, summary->start_ns, summary->end_ns, &own, err) : 0;
	*ret_pid = 0;
	if (r)
		return r;
	tables = own ? own : tables;
	for (uint32_t i = 1; i < tables->thread_count; i++) {
		const struct thread *t = &tables->threads[i];
		uint64_t from = t->start_ns > summary->start_ns ? t->start_ns : summary->start_ns;
		uint64_t to = t->end_ns < summary->end_ns ? t->end_ns : summary->end_ns;

		uint64_t lived;

		if (t->tid != t->pid || strcmp(t->comm, comm) != 0 || to <= from)
			continue;
		/* The same process before one of the recorded command before one of the rest of the machine. */
		lived = t->pid == pid ? UINT64_MAX : (to - from) / 2 + (root && descends_from(tables, i, root) ? UINT64_MAX / 2 : 0);
		if (lived > best)
			*ret_pid = t->pid;
		best = lived > best ? lived : best;
	}
	tables_free(own);
	return *ret_pid ? 0 : err_set(err, -ENOENT, "no process in '%s' is called '%s', as the one that is asked for is", trace_path(session->trace), comm);
}

void path_reply_done(struct path_reply *reply)
{
	fold_done(&reply->fold);
	vec_done(&reply->changes);
}

#define SENTENCE_LEAST_NS 10000000ull /* of a path that a person may have found slow */

const char *path_sentences(struct arena *arena, struct session *session, uint32_t pid)
{
	const struct trace_summary *summary = trace_summary(session->trace);
	struct path_question question = { .pid = pid, .from_ns = summary->start_ns, .to_ns = summary->end_ns };
	struct path_reply reply;
	const char *text = NULL;
	struct err err;
	struct buf buf;

	if (question.from_ns >= question.to_ns || path_run(arena, session, &question, &reply, &err))
		return NULL;
	buf_init(&buf);
	if (reply.fold.total_ns >= SENTENCE_LEAST_NS && reply.fold.unknown_ns * 2 < reply.fold.total_ns) {
		report_path_sentences(&reply.fold, reply.comm, &buf);
		text = arena_strdup(arena, buf_str(&buf));
	}
	buf_done(&buf);
	path_reply_done(&reply);
	return text;
}
