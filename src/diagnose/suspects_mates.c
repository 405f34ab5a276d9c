/* Where who has the other end waits for this one already: that is no circle yet. Another thread of that process may be meant, or a program
 * that this one started (see suspects.h). */
#include "diagnose/judgement.h"
#include "diagnose/owed.h"
#include "diagnose/own_ends.h"
#include "diagnose/question.h"

/* What it waits for comes neither from its own process alone, nor from a clock: with that it goes on for others. */
static bool goes_on_for_others(const struct question *q, uint32_t thread)
{
	const struct wait *w = stands_in(q, thread);
	uint64_t object = !w ? 0 : w->kind == WAIT_KIND_poll ? w->detail : w->object;
	uint32_t pid = scene_pid(q->scene, thread);

	if (!w)
		return true;
	if (w->idle)
		return false;
	switch (w->kind) {
	case WAIT_KIND_futex:
	case WAIT_KIND_semaphore:
		return wait_has_owner(w) && w->hint_kind != HINT_KIND_thread_exit;
	case WAIT_KIND_none:
	case WAIT_KIND_sleep:
	case WAIT_KIND_signal:
	case WAIT_KIND_accept:
	case WAIT_KIND_exit:
	case WAIT_KIND_worker:
	case WAIT_KIND_epoll:
		return false;
	case WAIT_KIND_poll:
		return w->argument == 1 && object && object_kind(object) != OBJECT_KIND_eventfd && !own_ends_has_both(q->inquiry->ends, object, pid);
	case WAIT_KIND_read:
		return object && !own_ends_has_both(q->inquiry->ends, object, pid) && object_kind(object) != OBJECT_KIND_timerfd &&
		       object_kind(object) != OBJECT_KIND_signalfd && object_kind(object) != OBJECT_KIND_inotify;
	}
	return true;
}

/* For what this one's process alone is to write, or send. */
static bool awaits_this(const struct question *q, uint32_t thread)
{
	const struct ends *ends = q->inquiry->ends;
	const struct wait *w = stands_in(q, thread);
	uint64_t object = !w ? 0 : w->kind == WAIT_KIND_read ? w->object : w->kind == WAIT_KIND_poll && w->argument == 1 ? w->detail : 0;
	struct row row = scene_is_pipe(object) ? ends_of_object(ends, object) : (struct row){ 0 };
	uint32_t pid = scene_pid(q->scene, q->wait->thread), writes = 0;

	for (uint32_t i = 0; i < row.count; i++) {
		if (!(ends_at(ends, row, i)->at.access & 2))
			continue;
		if (ends_at(ends, row, i)->pid != pid)
			return false;
		writes++;
	}
	return writes > 0;
}

static void drop_thread(struct question *q, uint32_t thread)
{
	size_t kept = 0;

	for (size_t i = 0; i < q->suspects->length; i++)
		if (suspects_thread(&q->suspects->items[i]) != thread)
			q->suspects->items[kept++] = q->suspects->items[i];
	q->suspects->length = kept;
}

uint32_t suspects_meant(struct question *q, uint32_t process, bool *ret_mate)
{
	uint32_t found = 0;

	*ret_mate = false;
	if (!process || !rule_holds(q->scene, RULE_other_thread_meant) || (!is_waiting(q, process) && !awaits_this(q, process)))
		return process;
	SCENE_EACH_MATE(q->scene, process, i) {
		if (i == process || !alive(q, i) || is_waiting(q, i) || scene_same_process(q->scene, i, q->wait->thread) || !goes_on_for_others(q, i))
			continue;
		if (found)
			return 0;
		found = i;
	}
	*ret_mate = found != 0;
	if (found)
		drop_thread(q, process);
	return found ? found : process;
}

bool suspects_heard_anyway(const struct question *q, uint32_t process)
{
	const struct wait *w = q->wait;

	if (!process || !is_waiting(q, process) || !wait_is_loop_rest(w) || w->kind == WAIT_KIND_accept || !rule_holds(q->scene, RULE_heard_anyway))
		return false;
	SCENE_EACH_MATE(q->scene, w->thread, i)
		if (i != w->thread && alive(q, i))
			return true;
	return w->timeout_ns != 0;
}

/* Of who shares the tokens out, and waits for what it started: the only other one that it started, which has one by that. */
static void suspect_fellow_with_token(struct question *q, uint64_t object)
{
	const struct ends *ends = q->inquiry->ends;
	const struct tables *tables = q->scene->tables;
	struct row row = ends_of_object(ends, object);
	struct suspect s = { .confidence = limit(q, LIMIT_token_fellow), .hop_count = 2 };
	uint32_t maker = 0, found = 0;

	for (uint32_t i = 0; i < row.count; i++) {
		uint32_t other = tables_process(tables, ends_at(ends, row, i)->pid, q->from);
		const struct wait *w = other && alive(q, other) && !is_waiting(q, other) &&
			scene_descends_from(q->scene, q->wait->thread, scene_pid(q->scene, other)) ? stands_in(q, other) : NULL;

		if (w && (w->kind == WAIT_KIND_child || w->kind == WAIT_KIND_poll) &&
		    (!maker || tables->threads[other].start_ns < tables->threads[maker].start_ns))
			maker = other;
	}
	for (uint32_t i = 1; maker && i < tables->thread_count; i++) {
		const struct thread *t = &tables->threads[i];

		if (t->parent_pid != scene_pid(q->scene, maker) || t->tid != t->pid || !alive(q, i) || is_waiting(q, i) ||
		    scene_same_process(q->scene, i, q->wait->thread) || scene_descends_from(q->scene, q->wait->thread, t->pid))
			continue;
		if (found)
			return;
		found = i;
	}
	if (!found)
		return;
	s.hops[0] = (struct hop){ .from_ns = q->from, .thread = maker, .link = LINK_PEER, .confidence = s.confidence, .evidence = q->wait->begin_event };
	s.hops[1] = (struct hop){ .from_ns = q->from, .thread = found, .link = LINK_CHILD, .confidence = s.confidence };
	vec_push(q->suspects, s);
}

void suspects_child_with_token(struct question *q, uint64_t object)
{
	const struct tables *tables = q->scene->tables;
	uint32_t pid = scene_pid(q->scene, q->wait->thread), found = 0;

	for (uint32_t i = 1; i < tables->thread_count && rule_holds(q->scene, RULE_tokens); i++)
		if (tables->threads[i].parent_pid == pid && tables->threads[i].tid == tables->threads[i].pid && alive(q, i) && !is_waiting(q, i) &&
		    (!found || tables->threads[i].start_ns < tables->threads[found].start_ns))
			found = i;
	if (!found && rule_holds(q->scene, RULE_tokens))
		suspect_fellow_with_token(q, object);
	suspect_thread(q, found, LINK_CHILD, (uint8_t)rule_infos[RULE_tokens].weight, q->wait->begin_event);
}

static bool is_kept(const struct question *q, uint32_t thread)
{
	const struct wait *its = stands_in(q, thread);

	return its && !its->idle && its->start_ns <= q->from && its->kind != WAIT_KIND_vfork && wait_is_in_kernel(its);
}

/* A thread of its process, which is all that is kept, while the loop goes on by its clock, or rests. */
void ask_kept_mate(struct question *q)
{
	const struct wait *w = q->wait;

	if (wait_is_loop_rest(w) && w->kind != WAIT_KIND_accept && !w->idle && q->waiting_count >= 2 &&
	    !scene_same_process(q->scene, q->waiting[q->waiting_count - 2], w->thread))
		suspect_only_mate(q, is_kept);
}
