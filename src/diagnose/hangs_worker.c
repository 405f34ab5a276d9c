/* See hangs_worker.h. */
#include "diagnose/hangs_worker.h"

#include "diagnose/hangs_pending.h"

/* The wait in which the thread stands as the trace ends, NULL none. */
static const struct wait *stands_in(const struct scene *scene, uint32_t thread)
{
	const struct episode *e = scene_episode(scene, thread, scene->end_ns - 1);
	const struct wait *w = e ? &scene->waits[e->last] : NULL;

	return w && w->end == WAIT_END_OPEN ? w : NULL;
}

static bool is_for_word(const struct wait *w)
{
	return w && (w->kind == WAIT_KIND_futex || w->kind == WAIT_KIND_semaphore) && !wait_is_shared(w);
}

/* Given something to do, it left where it had waited for that, and stands since then where it never stood before. */
static bool waits_elsewhere(const struct finder *f, const struct wake *given)
{
	const struct scene *scene = f->scene;
	const struct wait *w = stands_in(scene, given->target), *rest = NULL;

	if (!is_for_word(w) || w->timeout_ns || w->start_ns < given->time)
		return false;
	for (uint32_t i = scene->threads[given->target].wait; i < scene_waits_end(scene, given->target); i++) {
		const struct wait *before = &scene->waits[i];

		if (before->site == w->site && before->start_ns < given->time)
			return false;
		if (before->start_ns < given->time && before->end_event == given->number)
			rest = before;
	}
	return is_for_word(rest);
}

/* It may be told something from outside of the process, or works: so may be what all others wait for. */
static bool may_go_on(const struct scene *scene, uint32_t thread)
{
	uint32_t first = scene->threads[thread].wait, end = scene_waits_end(scene, thread);
	const struct wait *w = end > first ? &scene->waits[end - 1] : NULL;

	if (scene->tables->threads[thread].end_ns <= scene->end_ns)
		return false;
	if (!w)
		return true;
	/* by the clock: as the trace ends it may have its moment */
	if (w->end != WAIT_END_OPEN)
		return w->kind != WAIT_KIND_sleep && !(is_for_word(w) && w->timeout_ns);
	return w->kind != WAIT_KIND_sleep && !is_for_word(w) && w->hint_kind != HINT_KIND_thread_exit;
}

bool hangs_worker_waits(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	const struct wait *w = &scene->waits[e->last];
	uint64_t slack = limit_of(scene, LIMIT_asked_before_ns), from = e->start_ns > slack ? e->start_ns - slack : 0;
	uint32_t given = 0;

	if (!f->leads || !hangs_is_left_alone(f) || !is_for_word(w) || w->timeout_ns || w->end != WAIT_END_OPEN || hangs_stood_before(f, e) ||
	    hangs_began_before(f, e) || e->end_ns - e->start_ns < limit_of(scene, LIMIT_worker_ns) || hangs_rests_at(f, w))
		return false;
	for (uint32_t i = scene_wakes_from(scene, f->thread, from); i < scene_wakes_end(scene, f->thread); i++) {
		const struct wake *k = &scene->wakes[i];

		if (!scene_same_process(scene, k->target, f->thread))
			return false;
		if (!waits_elsewhere(f, k))
			continue;
		given++;
	}
	if (!given)
		return false;
	SCENE_EACH_MATE(scene, f->thread, i)
		if (may_go_on(scene, i))
			return false;
	return true;
}
