/* The requests of a server, see path_requests.h. */
#include "session/path_requests.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "path/lock_names.h"
#include "path/report.h"
#include "session/path_compared.h"

#define SLOW_PER_MILLE 10u
#define FOLDED_MOST 400u     /* requests, of each kind */
#define LINES_TOLD 6u
#define GROUPS_TOLD 20u

/* One trace that is looked at. */
struct looked {
	struct session *session;
	struct naming naming;
	struct lock_names *lock_names;
	struct requests requests;
	uint32_t pid;
};

static int look(struct looked *l, struct session *session, const struct path_question *q, enum request_group by, struct texts *texts, struct err *err)
{
	int r = session_look(session, q->from_ns, q->to_ns, err);
	uint32_t pid = q->pid;

	*l = (struct looked){ .session = session };
	if (r)
		return r;
	r = pid ? 0 : path_root(session, &pid, err);
	if (r)
		return r;
	if (session->scene->start_ns > q->from_ns || session->scene->end_ns < q->to_ns)
		return err_set(err, -E2BIG, "the trace is too long for all of its requests to be listed: give a shorter window with --from and --to");
	if (!pid)
		return err_set(err, -ENOENT, "this is not a recording of one command: say which server is meant, with --pid");
	l->lock_names = lock_names_new(session->trace, q->from_ns, q->to_ns);
	naming_init(&l->naming, session->scene, session->diagnoser, session->names, texts, l->lock_names);
	l->pid = pid;
	requests_find(&l->naming, diagnoser_ends(session->diagnoser), pid, by, q->from_ns, q->to_ns, &l->requests);
	return 0;
}

static void look_away(struct looked *l)
{
	if (l->lock_names)
		naming_done(&l->naming);
	lock_names_free(l->lock_names);
	requests_done(&l->requests);
}

static size_t fold_some(struct looked *l, struct fold *fold, size_t first, size_t end)
{
	struct texts *texts = l->naming.texts;
	struct critical critical = { .naming = &l->naming, .diagnoser = l->session->diagnoser, .fold = fold, .whole_ns = UINT64_MAX };
	size_t count;

	naming_anew(&l->naming, &fold->texts);
	critical_begin(&critical);
	count = tails_fold(&critical, &l->requests, first, end, FOLDED_MOST);
	critical_end(&critical);
	fold_finish(fold);
	l->naming.texts = texts;
	return count;
}

static const char *comm_of(const struct session *session, uint32_t pid)
{
	return session->tables->threads[tables_process(session->tables, pid, trace_summary(session->trace)->end_ns)].comm;
}

int path_requests(struct session *session, struct session *base, const struct path_question *question, enum request_group by,
		  struct requests_reply *ret_reply, struct err *err)
{
	struct path_question base_question = { 0 };
	struct requests_reply reply = { 0 };
	struct looked now, then = { 0 };
	struct texts others;
	size_t count;
	int r;

	texts_init(&reply.texts);
	texts_init(&others);
	fold_init(&reply.tails.slow);
	fold_init(&reply.tails.middle);
	r = look(&now, session, question, by, &reply.texts, err);
	if (!r && base) {
		base_question.from_ns = trace_summary(base->trace)->start_ns;
		base_question.to_ns = trace_summary(base->trace)->end_ns;
		r = question->pid ? 0 : path_root(base, &base_question.pid, err);
		if (!r && !base_question.pid)
			r = path_named(base, comm_of(session, now.pid), now.pid, &base_question.pid, err);
		if (!r)
			r = look(&then, base, &base_question, GROUP_NONE, &others, err);
	}
	count = now.requests.list.length;
	if (!r && count) {
		struct tails *t = &reply.tails;
		size_t slow = count - (count * SLOW_PER_MILLE + 999) / 1000, others_count = then.requests.list.length;

		if (base && others_count) {
			t->slow_count = fold_some(&now, &t->slow, count / 4, count - count / 4);
			t->middle_count = fold_some(&then, &t->middle, others_count / 4, others_count - others_count / 4);
			t->example = now.requests.list.items[count / 2];
			reply.base_path = trace_path(base->trace);
			reply.base_count = others_count;
			reply.base_median_ns = requests_quantile(&then.requests, 500);
		} else {
			t->slow_count = fold_some(&now, &t->slow, slow, count);
			t->middle_count = fold_some(&now, &t->middle, count / 4, count - count / 4 < slow ? count - count / 4 : slow);
			t->example = now.requests.list.items[slow + (count - slow) / 2];
		}
		reply.has_tails = t->slow_count && t->middle_count;
		if (reply.has_tails)
			tails_compare(t);
	}
	reply.requests = now.requests;
	now.requests = (struct requests){ 0 };
	reply.pid = now.pid;
	reply.losses = trace_losses(session->trace, question->from_ns, question->to_ns);
	look_away(&now);
	look_away(&then);
	texts_done(&others);
	if (r)
		path_requests_done(&reply);
	else
		*ret_reply = reply;
	return r;
}

void path_requests_done(struct requests_reply *reply)
{
	requests_done(&reply->requests);
	tails_done(&reply->tails);
	texts_done(&reply->texts);
}

/* ---- in words ---- */

static void put_quantiles(const struct requests *requests, struct buf *buf)
{
	static const struct {
		const char *name;
		unsigned per_mille;
	} told[] = { { "median", 500 }, { "90 %", 900 }, { "99 %", 990 }, { "longest", 1000 } };

	for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++) {
		buf_printf(buf, "%s%s ", i ? ", " : "", told[i].name);
		report_path_time(requests_quantile(requests, told[i].per_mille), buf);
	}
	buf_char(buf, '\n');
}

static void put_groups(const struct requests_reply *reply, struct buf *buf)
{
	struct map seen;
	unsigned shown = 0;

	map_init(&seen);
	for (size_t i = 0; i < reply->requests.list.length && shown < GROUPS_TOLD; i++) {
		uint32_t group = reply->requests.list.items[i].group;
		struct requests of = { 0 };
		bool fresh = false;

		map_at(&seen, group, &fresh);
		if (!group || !fresh)
			continue;
		for (size_t k = i; k < reply->requests.list.length; k++)
			if (reply->requests.list.items[k].group == group)
				vec_push(&of.list, reply->requests.list.items[k]);
		buf_printf(buf, "  %zu by ", of.list.length);
		buf_escaped(buf, texts_get(&reply->texts, group), strlen(texts_get(&reply->texts, group)), NULL);
		buf_text(buf, ": ");
		put_quantiles(&of, buf);
		requests_done(&of);
		shown++;
	}
	map_done(&seen);
}

void path_requests_text(const struct session *session, const struct requests_reply *reply, struct buf *buf)
{
	const struct tails *t = &reply->tails;
	uint64_t start = trace_summary(session->trace)->start_ns;

	buf_printf(buf, "%zu request%s answered", reply->requests.list.length, reply->requests.list.length == 1 ? "" : "s");
	if (reply->requests.unanswered)
		buf_printf(buf, ", %" PRIu64 " not answered", reply->requests.unanswered);
	if (reply->requests.list.length) {
		buf_text(buf, ": ");
		put_quantiles(&reply->requests, buf);
	} else {
		buf_char(buf, '\n');
	}
	if (reply->requests.unanswered)
		buf_printf(buf, "Not answered since %.6f s%s: argus path --tid %" PRIu32 " --from %.6f\n", (double)(reply->requests.since_ns - start) / 1e9,
			   reply->requests.unanswered > 1 ? ", the first of them" : "",
			   session->tables->threads[reply->requests.waits_thread].tid, (double)(reply->requests.since_ns - start) / 1e9);
	if (reply->requests.by != FOUND_MESSAGES)
		buf_printf(buf, "The trace has no messages (--level full records them): %s.\n", reply->requests.by == FOUND_CLIENTS
			   ? "requests are recognised by who woke whom on this machine; one that nobody slept for is not seen"
			   : "these are the turns of its threads, from when they were woken from outside until they waited there again");
	path_put_losses(&reply->losses, "requests may be missing, or be told wrongly", buf);
	put_groups(reply, buf);
	if (!reply->has_tails)
		return;
	if (reply->base_path) {
		buf_printf(buf, "\nThe middle half, per request, against that of %" PRIu64 " requests of ", reply->base_count);
		buf_escaped(buf, reply->base_path, strlen(reply->base_path), NULL);
		buf_text(buf, " (median ");
		report_path_time(reply->base_median_ns, buf);
		buf_printf(buf, "):\n%10s %10s  %s\n", "now", "then", "what");
	} else {
		buf_printf(buf, "\nThe slowest %zu, per request, against the middle half:\n%10s %10s  %s\n", t->slow_count, "slowest", "middle", "what");
	}
	path_compared_text(t, LINES_TOLD, buf);
	buf_printf(buf, "\nOne of them: argus path --tid %" PRIu32 " --from %.6f --to %.6f\n", session->tables->threads[t->example.thread].tid,
		   (double)(t->example.start_ns - start) / 1e9, (double)(t->example.end_ns - start) / 1e9);
}

/* ---- JSON ---- */

static const char *const found_by[] = { [FOUND_MESSAGES] = "messages", [FOUND_CLIENTS] = "clients", [FOUND_TURNS] = "turns" };

void path_requests_json(const struct session *session, const struct requests_reply *reply, struct json *json)
{
	json_array(json, "requests");
	for (size_t i = 0; i < reply->requests.list.length; i++) {
		const struct request *r = &reply->requests.list.items[i];

		json_object(json, NULL);
		json_u64(json, "start_ns", r->start_ns);
		json_u64(json, "end_ns", r->end_ns);
		json_u64(json, "event", r->event);
		json_u64(json, "tid", session->tables->threads[r->thread].tid);
		json_text(json, "group", r->group ? texts_get(&reply->texts, r->group) : NULL);
		json_end(json);
	}
	json_end(json);
	json_text(json, "found_by", found_by[reply->requests.by]);
	json_u64(json, "unanswered", reply->requests.unanswered);
	if (reply->requests.unanswered)
		json_u64(json, "unanswered_since_ns", reply->requests.since_ns);
	else
		json_null(json, "unanswered_since_ns");
	json_u64(json, "lost", reply->losses.events);
	json_u64(json, "lost_ns", reply->losses.ns);
	json_text(json, "base", reply->base_path);
	path_compared_json(&reply->tails, "tail", "slow_ns", "middle_ns", json);
}
