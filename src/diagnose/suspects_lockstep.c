/* Circles that only their breaking shows: who goes on as this one gives up (see suspects.h). */
#include "diagnose/question.h"

/* A signal, and no thread, ended its wait. */
static bool had_to_give_up(const struct question *q)
{
	return (q->wait->end == WAIT_END_SOURCE || q->wait->end == WAIT_END_UNKNOWN) && scene_met_signal(q->scene, q->wait);
}

#define INNERMOST 4 /* frames: a runtime's own way to wait for a lock */

/* For a good part of the time that is asked about. */
static bool waited_long(const struct question *q, const struct wait *w)
{
	const struct episode *e = &q->scene->episodes[w->episode];
	uint64_t begin = e->start_ns > q->from ? e->start_ns : q->from, end = e->end_ns < q->to ? e->end_ns : q->to;

	return w->kind == q->wait->kind && end > begin && end - begin > part_of(q->scene, LIMIT_a_good_part, q->to - q->from);
}

/* It waited at the same place as the one that is asked about. */
static bool waited_alike(const struct question *q, const struct wait *w)
{
	uint64_t place = q->inquiry->now ? side_stack_place(q->inquiry->now, w->ustack) : 0;

	return place && place == side_stack_place(q->inquiry->now, q->wait->ustack);
}

/* In the same way, whatever part of the program called for that. */
static bool waited_by_the_same(const struct question *q, const struct wait *w)
{
	const struct tables *tables = q->scene->tables;
	uint32_t a = w->ustack, b = q->wait->ustack;

	for (unsigned i = 0; i < INNERMOST; i++) {
		if (!a || !b || a >= tables->frame_count || b >= tables->frame_count || tables->frames[a].module != tables->frames[b].module ||
		    tables->frames[a].address != tables->frames[b].address)
			return false;
		a = tables->frames[a].parent;
		b = tables->frames[b].parent;
	}
	return true;
}

/* Born after this thread had begun to wait: it has nothing that this one waits for. */
static bool came_later(const struct question *q, uint32_t thread)
{
	return rule_holds(q->scene, RULE_came_later) && q->scene->tables->threads[thread].start_ns > q->episode->start_ns;
}

/* One that waits for this thread on the way here, and goes on as it gives up. */
static void suspect_waiting(struct question *q, uint64_t give_up_ns, uint8_t weight)
{
	const struct scene *scene = q->scene;

	for (unsigned i = 0; i + 1 < q->waiting_count; i++) {
		const struct episode *e = scene_episode(scene, q->waiting[i], q->from);
		const struct wait *w = e ? &scene->waits[e->last] : NULL;
		uint64_t place = w && q->inquiry->now ? side_stack_place(q->inquiry->now, w->ustack) : 0;

		if (!w || came_later(q, q->waiting[i]) || w->kind != q->wait->kind || w->end != WAIT_END_THREAD || w->waker != q->episode->thread ||
		    e->start_ns > q->to || w->end_ns < q->wait->end_ns || w->end_ns > q->wait->end_ns + give_up_ns)
			continue;
		if (place && place == side_stack_place(q->inquiry->now, q->wait->ustack))
			suspect_thread(q, q->waiting[i], LINK_LOCKSTEP, weight, w->end_event);
	}
}

/* A long wait for a word of its own process, at a place where it does not rest: for a lock, or what is made of one. */
static bool waits_for_word(const struct question *q, const struct wait *w)
{
	const struct scene *scene = q->scene;
	uint32_t visits = 0;

	if (w->kind != WAIT_KIND_futex || !(w->argument & WAIT_FUTEX_PRIVATE) || w->timeout_ns < limit_of(scene, LIMIT_wait_ns))
		return false;
	for (uint32_t i = scene_waits_from(scene, w->thread, 0); i < scene_waits_end(scene, w->thread); i++)
		visits += scene->waits[i].site == w->site;
	return visits < limit_of(scene, LIMIT_rest_visits);
}

/* Each waits for a word of its own, with a time limit, and its own ran out: what it then gave back is what the other waited for. */
static bool had_each_others(const struct question *q, const struct wait *w)
{
	return q->wait->end == WAIT_END_TIMEOUT && rule_holds(q->scene, RULE_each_its_word) && scene_same_process(q->scene, w->thread, q->wait->thread) &&
	       w->object != q->wait->object && waited_by_the_same(q, w) && waits_for_word(q, w) && waits_for_word(q, q->wait);
}

/* One that the thread lets go on as soon as a signal, or the time limit of a lock, had it give up, though nobody on the way here
 * waits for it. A loop's rest that its own limit ends tells nothing of the kind. */
static void suspect_let_go(struct question *q, uint64_t give_up_ns, uint8_t weight)
{
	const struct scene *scene = q->scene;
	bool told = had_to_give_up(q);

	if (!told && q->wait->end != WAIT_END_TIMEOUT)
		return;
	for (uint32_t i = scene_wakes_from(scene, q->episode->thread, q->wait->end_ns); i < scene_wakes_end(scene, q->episode->thread); i++) {
		const struct wake *k = &scene->wakes[i];
		uint32_t at = scene_waits_from(scene, k->target, k->time);
		const struct wait *w = at > scene->threads[k->target].wait ? &scene->waits[at - 1] : NULL;

		if (k->time > q->wait->end_ns + give_up_ns)
			break;
		if (w && w->end == WAIT_END_THREAD && w->end_event == k->number && !is_waiting(q, k->target) &&
		    !came_later(q, k->target) && waited_long(q, w) &&
		    (told ? waited_alike(q, w) : had_each_others(q, w)))
			suspect_thread(q, k->target, LINK_LOCKSTEP, weight, k->number);
	}
}

/* A wait that a limit or a signal ended, and by whose giving up one that waited at the same
 * place went on at once: that is how detectors of deadlocks and time limits of locks break a
 * circle that nothing else shows. */
void ask_lockstep(struct question *q)
{
	uint64_t give_up_ns = limit_of(q->scene, LIMIT_give_up_ns);

	uint8_t weight = had_to_give_up(q) ? limit(q, LIMIT_told_to_give_up) : weight_of(q);

	if (only_looks(q) || (q->wait->end != WAIT_END_TIMEOUT && q->wait->end != WAIT_END_SOURCE && q->wait->end != WAIT_END_UNKNOWN))
		return;
	suspect_waiting(q, give_up_ns, weight);
	suspect_let_go(q, give_up_ns, weight);
}
