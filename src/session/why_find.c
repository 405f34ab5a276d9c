/* What a question is about, see why_find.h. */
#include "session/why_find.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "session/hang_list.h"
#include "trace/when.h"

#define MARK_LOOKS_BACK_NS UINT64_C(10000000000)

/* For another, and not for a processor. */
static bool waits(const struct hang *hang)
{
	return hang->rule != RULE_starved && hang->rule != RULE_computes;
}

/* The first of them waits for a program that it started, and that computes, or could, all the time: that is work in progress, and no answer
 * to who means that something was stuck. */
static bool awaits_own_work(const struct session *session, const struct why_reply *reply)
{
	const struct hang *first = &reply->hangs[0];

	if (!session->scene || !judgement_holds(session->judgement, RULE_own_work_alone))
		return false;
	for (size_t i = 1; i < reply->hang_count; i++) {
		const struct hang *work = &reply->hangs[i];
		uint64_t from = work->start_ns > first->start_ns ? work->start_ns : first->start_ns;
		uint64_t to = work->end_ns < first->end_ns ? work->end_ns : first->end_ns;

		if (!waits(work) && to > from && nearly_all(session->scene, to - from, first->end_ns - first->start_ns) && work->pid != first->pid &&
		    scene_descends_from(session->scene, work->thread, first->pid))
			return true;
	}
	return false;
}

int why_process_of_thread(struct session *session, struct why_question *q, struct err *err)
{
	uint32_t thread;
	uint64_t at;
	int r = session_time(session, q->at, &at, err);

	if (!r)
		r = session_look(session, at, at, err);
	if (r)
		return r;
	thread = tables_thread(session->tables, q->tid, at);
	if (!thread)
		return err_set(err, -ENOENT, "thread %" PRIu32 " is not in the trace at that time", q->tid);
	q->pid = session->tables->threads[thread].pid;
	return 0;
}

static void keep_of_thread(struct arena *arena, uint32_t tid, struct why_reply *reply)
{
	struct hang *own = arena_array(arena, struct hang, reply->hang_count);
	size_t count = 0;

	for (size_t i = 0; i < reply->hang_count; i++)
		if (reply->hangs[i].tid == tid)
			own[count++] = reply->hangs[i];
	reply->hangs = own;
	reply->hang_count = count;
}

int why_find_hangs(struct arena *arena, struct session *session, const struct why_question *q,
		   struct why_reply *reply, struct err *err)
{
	struct hangs_options options = { .pid = q->pid, .root_pid = session->root_pid };
	struct hang *hangs;
	uint32_t thread;
	int r = 0;

	if (q->pid)
		r = session_process(session, q->pid, &thread, err);
	if (!r && q->at) {
		r = session_time(session, q->at, &options.from_ns, err);
		options.to_ns = options.from_ns;
	}
	if (!r && (q->from || q->to || q->last_ns))
		r = session_window(session, q->from, q->to, q->last_ns, &options.from_ns, &options.to_ns, err);
	if (!r && q->mark) {
		/* A person marks when it is over, or has lasted for a while. */
		r = session_mark(session, q->mark, &options.to_ns, err);
		options.from_ns = options.to_ns > MARK_LOOKS_BACK_NS ? options.to_ns - MARK_LOOKS_BACK_NS : 0;
	}
	if (r)
		return r;
	r = session_hangs(session, arena, &options, &reply->hangs, &reply->hang_count, err);
	/* Who asks why means that something was stuck: where nothing is so by itself, all counts that took as long as an answer may. */
	if (!r && !reply->hang_count && !q->pid && !session->blocks && !session->judgement->unattended) {
		options.threshold_ns = judgement_limit(session->judgement, LIMIT_wait_ns);
		r = session_hangs(session, arena, &options, &reply->hangs, &reply->hang_count, err);
		if (!r && reply->hang_count && (!waits(&reply->hangs[0]) || awaits_own_work(session, reply)))
			reply->hang_count = 0;
		reply->uncertain = reply->hang_count > 0;
	}
	if (!r)
		r = session_hangs_elsewhere(session, arena, &options, &reply->hangs, &reply->hang_count, err);
	if (!r && q->tid)
		keep_of_thread(arena, q->tid, reply);
	if (!r && q->mark && reply->hang_count) {
		hangs = arena_array(arena, struct hang, reply->hang_count);
		memcpy(hangs, reply->hangs, reply->hang_count * sizeof(*hangs));
		hang_list_for_mark(hangs, reply->hang_count, options.to_ns);
		reply->hangs = hangs;
	}
	return r;
}
