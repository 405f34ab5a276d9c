/* See ended_taker.h. */
#include "diagnose/ended_taker.h"

#include <string.h>

#include "diagnose/judgement.h"

#define LOOKED_BACK 64 /* waits of a thread before the one that is judged */
#define LOOKED_AT 16   /* waits whose ends are read */

/* The object that the waker's call was about, 0 not known: its own way to the word. */
static uint64_t woken_by_object(const struct scene *scene, const struct wait *w)
{
	struct arena arena;
	const struct event *e;
	const struct event_wake *wake;
	uint64_t object;

	arena_init(&arena);
	e = w->end_event ? trace_event(scene->trace, &arena, w->end_event) : NULL;
	wake = e ? event_as(e, wake) : NULL;
	object = wake ? wake->object : 0;
	arena_done(&arena);
	return object;
}

/* The thread of the one was let go on there by the other's process, by what that waits for. */
static bool let_go_on_by(const struct scene *scene, const struct wait *a, const struct wait *b)
{
	uint32_t first = scene->threads[a->thread].wait, end = scene_waits_end(scene, a->thread), looked = 0;

	for (uint32_t i = scene_waits_from(scene, a->thread, a->end_ns); i > first && i <= end && looked < LOOKED_AT; i--) {
		const struct wait *w = &scene->waits[i - 1];

		if (w->object != a->object || w->site != a->site || w->end != WAIT_END_THREAD || !scene_same_process(scene, w->waker, b->thread))
			continue;
		if (woken_by_object(scene, w) == b->object)
			return true;
		looked++;
	}
	return false;
}

bool ended_taker_same_word(const struct scene *scene, const struct wait *a, const struct wait *b)
{
	if (!wait_is_shared(a) || !wait_is_shared(b) || !a->object || !b->object || a->site != b->site || scene_same_process(scene, a->thread, b->thread))
		return false;
	return let_go_on_by(scene, a, b) || let_go_on_by(scene, b, a);
}

/* It slept out its sleep, and has had nothing else to wait for since. */
static const struct wait *slept_before(const struct scene *scene, uint32_t wait)
{
	const struct wait *before = wait > scene->threads[scene->waits[wait].thread].wait ? &scene->waits[wait - 1] : NULL;

	return before && before->kind == WAIT_KIND_sleep && before->end == WAIT_END_TIMEOUT ? before : NULL;
}

/* Who has ended it waited for the word itself for most of that, so it had nothing to give. */
static bool ended_by_waiting(const struct scene *scene, const struct wait *w)
{
	uint64_t middle = w->start_ns + (w->end_ns - w->start_ns) / 2;
	const struct episode *its = scene_episode(scene, w->waker, middle);

	return its && its->start_ns <= middle && ended_taker_same_word(scene, w, &scene->waits[its->last]);
}

static bool has_ended(const struct scene *scene, uint32_t thread)
{
	uint32_t first = tables_process(scene->tables, scene_pid(scene, thread), scene->tables->threads[thread].start_ns);

	return scene->tables->threads[first ? first : thread].end_ns < scene->end_ns;
}

/* It goes about its work by its own clock, and waited there for next to nothing, nor for what one that comes and ends gives. */
static bool always_went_on(const struct scene *scene, const struct episode *e)
{
	const struct wait *w = &scene->waits[e->last];
	uint64_t longest = 0;
	uint32_t by_clock = 0, others = 0;

	for (uint32_t i = e->first; i-- > scene->threads[e->thread].wait && e->first - i <= LOOKED_BACK; ) {
		const struct wait *before = &scene->waits[i];

		if (before->object == w->object && before->site == w->site) {
			if (before->end == WAIT_END_THREAD && has_ended(scene, before->waker))
				return false;
			longest = before->end_ns - before->start_ns > longest ? before->end_ns - before->start_ns : longest;
		} else if (before->kind == WAIT_KIND_sleep && before->end == WAIT_END_TIMEOUT) {
			by_clock++;
		} else {
			others++;
		}
	}
	return by_clock >= limit_of(scene, LIMIT_clock_times) && by_clock > others &&
	       e->end_ns - e->start_ns > longest * limit_of(scene, LIMIT_unusual_times);
}

/* It never began a program of its own, but is a part of another process of that, which none of those is that wait there: it came for that one. */
static bool is_part_of_another(const struct scene *scene, uint32_t thread, const struct wait *w)
{
	const struct thread *t = &scene->tables->threads[thread];
	uint32_t parent = t->creator ? t->creator : tables_process(scene->tables, t->parent_pid, t->start_ns);

	return parent && strcmp(scene->tables->threads[parent].exe, t->exe) == 0 && !scene_same_process(scene, parent, w->thread) &&
	       !(w->waker && scene_same_process(scene, parent, w->waker));
}

uint32_t ended_taker_find(const struct scene *scene, const struct episode *episode)
{
	const struct wait *w = &scene->waits[episode->last], *slept = slept_before(scene, episode->first);
	const struct thread *threads = scene->tables->threads;
	const char *exe = threads[w->thread].exe;
	uint32_t found = 0;

	if (!rule_holds(scene, RULE_taker_ended) || !wait_is_shared(w) || w->hint || !slept || !exe[0] || !always_went_on(scene, episode) ||
	    (w->end == WAIT_END_THREAD && !scene_ended_by_signal(scene, w) && !ended_by_waiting(scene, w)))
		return 0;
	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct thread *t = &threads[i];

		if (t->tid != t->pid || t->end_ns <= slept->start_ns || t->end_ns > episode->start_ns || t->pid == scene_pid(scene, w->thread) ||
		    strcmp(t->exe, exe) != 0 || is_part_of_another(scene, i, w))
			continue;
		if (found)
			return 0;
		found = i;
	}
	return found;
}
