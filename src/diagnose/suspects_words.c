/* Suspects about words of memory: owners that are gone, and who waits for the same (see suspects.h). */
#include "diagnose/ended_taker.h"
#include "diagnose/killed_before.h"
#include "diagnose/killed_kin.h"
#include "diagnose/one_time.h"
#include "diagnose/own_ends.h"
#include "diagnose/question.h"
#include "diagnose/shared_word.h"

/* Who had ended before, and does nothing any more. */
static void suspect_gone(struct question *q, uint32_t thread, enum walk_link link, uint8_t confidence, uint64_t evidence)
{
	struct suspect s = { .hop_count = 1, .confidence = confidence };

	s.hops[0] = (struct hop){ .from_ns = q->from, .thread = thread, .link = (uint8_t)link, .confidence = confidence,
				  .evidence = evidence, .final = true };
	vec_push(q->suspects, s);
}

/* A thread that ended with the lock gives it back to nobody. */
void ask_owner_ended(struct question *q)
{
	const struct wait *w = q->wait;

	if (!w->hint || w->hint == w->thread || alive(q, w->hint) || inherited_lock(q) || q->scene->tables->threads[w->hint].start_ns >= q->to ||
	    (w->hint_kind != HINT_KIND_mutex_owner && w->hint_kind != HINT_KIND_pi_owner && w->hint_kind != HINT_KIND_rwlock_writer &&
	     w->hint_kind != HINT_KIND_semaphore_last))
		return;
	suspect_gone(q, w->hint, LINK_ENDED, w->hint_kind == HINT_KIND_semaphore_last ? limit(q, LIMIT_owner_semaphore) : weight_of(q),
		     w->begin_event);
}

/* It was born by a fork, not by the other kind in which the parent lends its memory, and waits, until the child is another program. */
static bool has_own_memory(const struct scene *scene, const struct wait *w)
{
	uint32_t first = tables_process(scene->tables, scene_pid(scene, w->thread), w->start_ns);
	uint32_t creator = first ? scene->tables->threads[first].creator : 0;
	const struct episode *e = creator ? scene_episode(scene, creator, w->start_ns) : NULL;

	return !e || e->start_ns > w->start_ns || scene->waits[e->last].kind != WAIT_KIND_vfork;
}

/* A word of its process's own memory says that a thread of another process has the lock, of which this one was forked: it had it then. */
bool inherited_lock(const struct question *q)
{
	const struct scene *scene = q->scene;
	const struct wait *w = q->wait;

	return rule_holds(scene, RULE_inherited_lock) && w->kind == WAIT_KIND_futex && w->argument & WAIT_FUTEX_PRIVATE && w->hint &&
	       (w->hint_kind == HINT_KIND_mutex_owner || w->hint_kind == HINT_KIND_rwlock_writer) && !scene_same_process(scene, w->hint, w->thread) &&
	       scene_descends_from(scene, w->thread, scene_pid(scene, w->hint)) && w->end != WAIT_END_THREAD && has_own_memory(scene, w);
}

/* Nobody of this process has it, and what that one does with the lock is done to its own process's copy. */
void ask_inherited_lock(struct question *q)
{
	if (inherited_lock(q))
		suspect_gone(q, q->wait->hint, LINK_INHERITED, weight_of(q), q->wait->begin_event);
}

/* It came, and ended, since the one that waits had last gone by there. */
void ask_ended_taker(struct question *q)
{
	uint32_t found = ended_taker_find(q->scene, q->episode);

	if (found)
		suspect_gone(q, found, LINK_ENDED_TAKER, weight_of(q), q->wait->begin_event);
}

/* Another thread, or process, may end it, and nothing else tells that it has not: who has a connection's other end is known. */
static bool may_be_for_kin(const struct question *q)
{
	const struct wait *w = q->wait;

	switch (w->kind) {
	case WAIT_KIND_futex:
		return wait_is_shared(w);
	case WAIT_KIND_semaphore:
	case WAIT_KIND_queue:
		return true;
	case WAIT_KIND_sleep:
		return loop_is(q->scene, q->episode);
	default:
		return false;
	}
}

/* It did next to nothing but sleep, once or so, until its time had come, as programs do by which a script lets a time pass. */
static bool slept_out(const struct scene *scene, uint32_t thread)
{
	const struct scene_thread *t = &scene->threads[thread];
	const struct wait *last = NULL;
	uint32_t sleeps = 0;

	if (!rule_holds(scene, RULE_slept_out) || t->messages.count)
		return false;
	scene_need(scene, thread);
	for (uint32_t i = t->wait; i < t->wait + t->wait_count; i++) {
		if (scene->waits[i].kind != WAIT_KIND_sleep)
			continue;
		last = &scene->waits[i];
		sleeps++;
	}
	return last && sleeps <= limit_of(scene, LIMIT_sleeper_sleeps) && last->end == WAIT_END_TIMEOUT && scene_is_sleeper(scene, last, false);
}

/* A process, not one that it started, nor one that was only there for a while. */
static bool went_from_its_work(const struct question *q, uint32_t thread)
{
	const struct scene *scene = q->scene;
	const struct thread *t = &scene->tables->threads[thread];
	uint64_t born = t->start_ns > scene->start_ns ? t->start_ns : scene->start_ns, before = limit_of(scene, LIMIT_gone_before_ns);

	return t->tid == t->pid && t->end_ns != UINT64_MAX && t->end_ns + before >= q->episode->start_ns &&
	       t->end_ns + limit_of(scene, LIMIT_gone_before_ns) <= q->to && t->end_ns >= born + limit_of(scene, LIMIT_gone_lived_ns) &&
	       t->parent_pid != scene_pid(scene, q->wait->thread) && !scene_same_process(scene, thread, q->wait->thread) &&
	       scene_is_kin(scene, thread, q->wait->thread) && !slept_out(scene, thread);
}

/* Its own limit ended the wait, or nothing did: who went from its work just then took with it what it was to do. */
void ask_gone_kin(struct question *q)
{
	const struct wait *w = q->wait;
	bool in_vain = w->end == WAIT_END_TIMEOUT || w->end == WAIT_END_OPEN;
	uint32_t found = 0;

	for (uint32_t i = 1; in_vain && may_be_for_kin(q) && i < q->scene->thread_count; i++) {
		if (!went_from_its_work(q, i))
			continue;
		if (found)
			return;
		found = i;
	}
	if (found)
		suspect_gone(q, found, LINK_GONE, weight_of(q), w->begin_event);
}

static const struct wait *waits_in_middle(const struct question *q, uint32_t thread)
{
	uint64_t middle = q->from + (q->to - q->from) / 2;
	const struct episode *e = scene_episode(q->scene, thread, middle);

	return e && e->start_ns <= middle ? &q->scene->waits[e->last] : NULL;
}

/* It waits for the same word: an object is one process's way to it, and who was forked has it at the same address. */
static bool waits_for_same(const struct question *q, uint32_t thread)
{
	const struct scene *scene = q->scene;
	const struct wait *w = waits_in_middle(q, thread);

	if (!w || w->kind != WAIT_KIND_futex || q->wait->kind != WAIT_KIND_futex || thread == q->wait->thread)
		return false;
	if (w->object && w->object == q->wait->object)
		return true;
	return wait_is_shared(w) && wait_is_shared(q->wait) && w->detail && w->detail == q->wait->detail && scene_is_kin(scene, thread, q->wait->thread);
}

/* Of all that have the killed one's parent, and its program, the others wait for the word: none of them has it. */
static bool others_wait(const struct question *q, uint32_t killed)
{
	const struct thread *threads = q->scene->tables->threads;
	unsigned waiting = 0;

	for (uint32_t i = 1; i < q->scene->thread_count; i++) {
		if (threads[i].tid != threads[i].pid || threads[i].parent_pid != threads[killed].parent_pid || scene_same_process(q->scene, i, killed) ||
		    !alive(q, i) || i == q->wait->thread || threads[i].creator != threads[killed].creator)
			continue;
		if (!waits_for_same(q, i))
			return false;
		waiting++;
	}
	return waiting > 0;
}

/* Processes share the word, and one of them was killed: it gives back nothing. */
void ask_killed_kin(struct question *q)
{
	uint64_t evidence;
	bool mapped;
	uint32_t found = killed_kin_find(q->scene, q->wait, q->to, &mapped, &evidence);

	if (found)
		suspect_gone(q, found, LINK_KILLED,
			     others_wait(q, found) ? limit(q, LIMIT_killed_of_all) : mapped ? limit(q, LIMIT_killed_mapped) : weight_of(q), evidence);
}

/* Nobody is known to owe it anything; but one of its process was there before it began to wait, and went away for good. */
void ask_ended_kin(struct question *q)
{
	const struct wait *w = q->wait;
	const struct tables *tables = q->scene->tables;
	uint32_t pid = scene_pid(q->scene, w->thread), found = 0;

	if (w->end != WAIT_END_OPEN || w->hint || wait_is_shared(w) ||
	    (w->kind != WAIT_KIND_futex && !(w->kind == WAIT_KIND_poll && own_ends_only(q->scene, q->inquiry->ends, w))))
		return;
	for (uint32_t i = 1; i < tables->thread_count; i++) {
		const struct thread *t = &tables->threads[i];

		if (t->pid != pid || t->tid == pid || t->end_ns == UINT64_MAX)
			continue;
		if (found || t->start_ns > w->start_ns || alive(q, i))
			return;
		found = i;
	}
	if (found)
		suspect_gone(q, found, LINK_ENDED_KIN, weight_of(q), w->begin_event);
}

/* It sleeps and looks all the time, kept by nothing, and does not end the wait; and one of the kin was killed. */
static bool only_watches(const struct question *q, uint32_t thread)
{
	const struct scene *scene = q->scene;
	const struct episode *e = scene_episode(scene, thread, q->from + (q->to - q->from) / 2);
	uint64_t from, to, evidence;
	bool mapped;

	if (!e || scene->waits[e->last].kind != WAIT_KIND_sleep || !loop_is(scene, e))
		return false;
	from = e->start_ns > q->from ? e->start_ns : q->from;
	to = e->end_ns < q->to ? e->end_ns : q->to;
	return to > from && nearly_all(scene, to - from, q->to - q->from) && killed_kin_find(scene, q->wait, q->to, &mapped, &evidence);
}

/* To the end, without a limit, for a word of its process's own memory of which no owner is known. */
static bool waits_for_own_word(const struct wait *w)
{
	return w->kind == WAIT_KIND_futex && w->argument & WAIT_FUTEX_PRIVATE && !w->hint && !w->timeout_ns && !w->idle && w->end == WAIT_END_OPEN;
}

/* It came there as often as one that rests there. */
static bool has_rested(const struct scene *scene, const struct wait *w)
{
	uint32_t visits = 0;

	for (uint32_t i = scene_waits_from(scene, w->thread, 0); i < scene_waits_end(scene, w->thread); i++)
		visits += scene->waits[i].site == w->site && scene->waits[i].kind == w->kind;
	return visits >= limit_of(scene, LIMIT_rest_visits);
}

/* One of its process listens to a server, if only up to its own limit each time, as a runtime's thread does for all others: what that hears may set
 * the one that waits on. */
static bool hears_for_all(const struct question *q)
{
	const struct ends *ends = q->inquiry->ends;
	struct row row = ends_of_process(ends, scene_pid(q->scene, q->wait->thread));
	bool is_client = false, listens = false;

	for (uint32_t i = 0; i < row.count; i++)
		is_client |= ends_role(ends, ends_at(ends, row, i)->at.object) == END_CLIENT;
	SCENE_EACH_MATE(q->scene, q->wait->thread, i) {
		const struct wait *w = i == q->wait->thread ? NULL : stands_in(q, i);

		listens |= w && (w->kind == WAIT_KIND_epoll || w->kind == WAIT_KIND_poll);
	}
	return is_client && listens && rule_holds(q->scene, RULE_hears_for_all);
}

/* Of the threads that it made, and which all wait for a word as it does, but for those that go by a clock, the last that began to. */
void ask_made_threads(struct question *q)
{
	const struct scene *scene = q->scene;
	uint32_t last = 0;
	uint64_t since = 0;

	if (!waits_for_own_word(q->wait) || hears_for_all(q))
		return;
	SCENE_EACH_MATE(scene, q->wait->thread, i) {
		const struct wait *w;

		if (scene->tables->threads[i].creator != q->wait->thread || scene->tables->threads[i].end_ns < q->to ||
		    scene->tables->threads[i].start_ns >= q->wait->start_ns)
			continue;
		w = stands_in(q, i);
		if (w && w->timeout_ns)
			continue;
		if (!w || !waits_for_own_word(w))
			return;
		if (has_rested(scene, w) || (last && scene->episodes[w->episode].start_ns <= since))
			continue;
		last = i;
		since = scene->episodes[w->episode].start_ns;
	}
	if (last && !is_waiting(q, last))
		suspect_thread(q, last, LINK_STARTED, weight_of(q), scene->threads[last].fork_event);
}

/* It did something else before, and waits there for the first time, or nearly so. */
static bool came_there(const struct question *q, const struct wait *w)
{
	const struct tables *tables = q->scene->tables;
	bool told = w->ustack && w->ustack < tables->frame_count && tables->frames[w->ustack].depth > 1;

	return told && (uint32_t)(w - q->scene->waits) > q->scene->threads[w->thread].wait && !has_rested(q->scene, w);
}

/* The only other thread of its process that stands at the same place, for another word, and came there with it: as where each has what the other
 * is to get. Of more than two such nothing is known. */
void ask_twin(struct question *q)
{
	const struct scene *scene = q->scene;
	uint64_t near = limit_of(scene, LIMIT_change_ns);
	uint32_t twin = 0;

	if (!waits_for_own_word(q->wait) || !came_there(q, q->wait))
		return;
	SCENE_EACH_MATE(scene, q->wait->thread, i) {
		const struct wait *w = i == q->wait->thread ? NULL : stands_in(q, i);

		if (!w || w->site != q->wait->site || w->kind != q->wait->kind)
			continue;
		if (twin || !waits_for_own_word(w) || w->object == q->wait->object || !came_there(q, w) ||
		    (w->start_ns > q->wait->start_ns ? w->start_ns - q->wait->start_ns : q->wait->start_ns - w->start_ns) > near)
			return;
		twin = i;
	}
	if (twin)
		suspect_thread(q, twin, LINK_PROCESS, weight_of(q), 0);
}

/* Of those that have the word's memory mapped the only one, or the only one that is kept from doing anything, or at work. */
void ask_sharers(struct question *q)
{
	struct word_sharers sharers;
	uint32_t resting = 0;

	if (q->wait->hint || only_looks(q) || !word_sharers_find(q->scene, q->inquiry->ends, q->wait, q->from, q->to, &sharers) || sharers.more)
		return;
	for (uint32_t i = 0; i < sharers.count; i++)
		resting += sharers.items[i].rests && rule_holds(q->scene, RULE_shares_at_rest);
	for (uint32_t i = 0; i < sharers.count; i++) {
		bool only = sharers.count == 1;

		if (!only && resting && resting + 1 == sharers.count) {
			if (!sharers.items[i].rests)
				suspect_thread(q, sharers.items[i].thread, LINK_SHARES, limit(q, LIMIT_one_at_work), q->wait->begin_event);
			continue;
		}
		if (only || (sharers.standing_out == 1 && sharers.items[i].stands_out))
			suspect_thread(q, sharers.items[i].thread, only ? LINK_SHARES_ALONE : LINK_SHARES,
				       !only ? limit(q, LIMIT_one_stands_out)
				       : only_watches(q, sharers.items[i].thread) ? limit(q, LIMIT_watches) : weight_of(q),
				       q->wait->begin_event);
	}
}

/* It rests again, in the same process, and comes and goes by its own clock, or while one that the waiting thread made never came to a rest: what
 * it was set to work for is done, as a compiler's or a collector's work is. */
static bool only_helped(const struct question *q, const struct suspect *s, bool made)
{
	const struct scene *scene = q->scene;
	uint32_t thread = suspects_thread(s);
	const struct episode *e;

	if (!rule_holds(scene, RULE_only_helped) || !s->followed || (s->end != TRAIL_AT_REST && s->end != TRAIL_BLOCKED) ||
	    !waits_for_own_word(q->wait) || !scene_same_process(scene, thread, q->wait->thread))
		return false;
	e = scene_episode(scene, thread, q->to - 1);
	return (made && s->end == TRAIL_AT_REST) ||
	       (e && scene->waits[e->last].kind == WAIT_KIND_futex && scene->waits[e->last].timeout_ns && e->slices > 1);
}

/* Of those that something was set off with for a word of its own process each rests again, for all that is known: none of them is likelier than
 * another of its threads. */
static bool all_rest(const struct question *q)
{
	const struct suspects *suspects = q->suspects;

	if (!suspects->length || !waits_for_own_word(q->wait) || !rule_holds(q->scene, RULE_all_rest))
		return false;
	for (size_t i = 0; i < suspects->length; i++)
		if (!suspects->items[i].followed || suspects->items[i].confidence > limit(q, LIMIT_trail_own_round))
			return false;
	return true;
}

/* It waits for what another process has the other end of: what it is to do depends on that one. */
static bool listens_to_another(const struct question *q, uint32_t thread)
{
	const struct ends *ends = q->inquiry->ends;
	const struct wait *w = stands_in(q, thread);
	uint64_t object = w && w->kind == WAIT_KIND_poll ? w->detail : w && w->kind == WAIT_KIND_read ? w->object : 0;
	struct row row = object ? ends_of_object(ends, object) : (struct row){ 0 };
	uint32_t pid = scene_pid(q->scene, thread);

	for (uint32_t i = 0; i < row.count; i++) {
		struct row far = ends_far(ends, ends_at(ends, row, i));

		for (uint32_t k = 0; ends_at(ends, row, i)->pid == pid && k < far.count; k++)
			if (ends_at(ends, far, k)->pid != pid)
				return true;
	}
	return false;
}

/* The only other thread of its process, which alone can end the wait, where that waits for another process itself. */
static void suspect_only_other(struct question *q)
{
	uint32_t found = 0;

	SCENE_EACH_MATE(q->scene, q->wait->thread, i) {
		if (i == q->wait->thread || !alive(q, i))
			continue;
		if (found || !rule_holds(q->scene, RULE_only_other))
			return;
		found = i;
	}
	if (found && !is_waiting(q, found) && listens_to_another(q, found) &&
	    suspect_thread(q, found, LINK_PROCESS, (uint8_t)rule_infos[RULE_only_other].weight, 0))
		q->suspects->items[q->suspects->length - 1].rule = RULE_only_other;
}

/* What is done once has nothing to do with whoever else was set to work. */
static void keep_one_time(struct suspects *suspects)
{
	for (size_t i = 0; i < suspects->length; i++)
		if (suspects->items[i].rule == RULE_one_time) {
			suspects->items[0] = suspects->items[i];
			suspects->length = 1;
		}
}

/* It waits for the same. Of one that only another way leads to each process's own word must be known to be that. */
static bool is_behind(const struct question *q, const struct suspect *s)
{
	const struct wait *w;

	if (!rule_holds(q->scene, RULE_same_word))
		return false;
	if (s->followed && waits_for_same(q, suspects_thread(s)))
		return true;
	w = waits_in_middle(q, suspects_thread(s));
	return w && ended_taker_same_word(q->scene, w, q->wait);
}

void drop_those_behind(struct question *q)
{
	struct suspects *suspects = q->suspects;
	bool made = false;
	size_t kept = 0;

	for (size_t i = 0; i < suspects->length; i++)
		made |= suspects->items[i].rule == RULE_made_threads;

	for (size_t i = 0; i < suspects->length; i++)
		if (!only_helped(q, &suspects->items[i], made) && !is_behind(q, &suspects->items[i]))
			suspects->items[kept++] = suspects->items[i];
	suspects->length = kept;
	keep_one_time(suspects);
	if (!all_rest(q))
		return;
	suspects->length = 0;
	suspect_only_other(q);
}

/* It left behind what this one looks for again and again. */
void ask_left_behind(struct question *q)
{
	struct killed_before killed;

	if (q->waiting_count < 2 && killed_before_loop(q->scene, q->episode, q->to, &killed))
		suspect_gone(q, killed.thread, LINK_KILLED, killed.made ? weight_of(q) : limit(q, LIMIT_killed_asked), killed.evidence);
}

/* The only other thread that stands inside such work of its own is to end it; of several it is not known which one. */
void ask_one_time(struct question *q)
{
	struct names *names = q->inquiry->now ? q->inquiry->now->names : NULL;
	const struct tables *tables = q->scene->tables;
	uint32_t found = 0;

	if (!waits_for_own_word(q->wait) || !one_time_awaits(names, tables, q->wait))
		return;
	SCENE_EACH_MATE(q->scene, q->wait->thread, i) {
		const struct wait *w = i == q->wait->thread ? NULL : stands_in(q, i);

		if (!w || !one_time_does(names, tables, w))
			continue;
		if (found)
			return;
		found = i;
	}
	if (found)
		suspect_thread(q, found, LINK_ONE_TIME, weight_of(q), q->wait->begin_event);
}
