/* See closed.h. */
#include "diagnose/closed.h"

#include <string.h>

#include "diagnose/judgement.h"
#include "diagnose/leads.h"
#include "diagnose/loops.h"
#include "diagnose/serving.h"

static const struct wait *wait_at(const struct scene *scene, uint32_t thread, uint64_t time_ns)
{
	const struct episode *e = scene_episode(scene, thread, time_ns);

	return e && e->start_ns <= time_ns ? &scene->waits[e->last] : NULL;
}

static bool lives(const struct scene *scene, uint32_t thread, uint32_t pid, uint64_t time_ns)
{
	const struct thread *t = &scene->tables->threads[thread];

	return t->pid == pid && t->start_ns <= time_ns && t->end_ns > time_ns;
}

/* What ends it, if anything, ends the thread, too. */
static bool is_for_its_own(const struct scene *scene, const struct wait *w)
{
	uint64_t end = scene->tables->threads[w->thread].end_ns;

	return w->kind == WAIT_KIND_futex && !w->timeout_ns && w->argument & WAIT_FUTEX_PRIVATE && !w->idle &&
	       (w->end == WAIT_END_OPEN || (end < scene->end_ns && scene_waits_end(scene, w->thread) == (uint32_t)(w - scene->waits) + 1));
}

/* So many threads does it have, all of which wait so; 0: one does not. */
static uint32_t count_closed(const struct scene *scene, uint32_t pid, uint64_t time_ns)
{
	uint32_t count = 0;

	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct wait *w;

		if (!lives(scene, i, pid, time_ns))
			continue;
		w = wait_at(scene, i, time_ns);
		if (!w || !is_for_its_own(scene, w))
			return 0;
		count++;
	}
	return count;
}

bool closed_process(const struct scene *scene, uint32_t pid, uint64_t time_ns)
{
	return count_closed(scene, pid, time_ns) > 1;
}

bool closed_for_ever(const struct scene *scene, uint32_t pid, uint64_t time_ns)
{
	return count_closed(scene, pid, time_ns) > 0;
}

/* For the end of another of its process, which no other process ends. */
static bool joins_its_own(const struct scene *scene, const struct wait *w)
{
	return w->kind == WAIT_KIND_futex && w->hint_kind == HINT_KIND_thread_exit && w->hint && !w->timeout_ns && w->end == WAIT_END_OPEN &&
	       scene_same_process(scene, w->hint, w->thread);
}

/* It did nothing in that time that another could notice, but to sleep and to look up. */
static bool only_ticks(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t time_ns)
{
	const struct episode *e = scene_episode(scene, thread, time_ns);

	return e && e->start_ns <= from_ns && e->end_ns > time_ns && scene->waits[e->last].kind == WAIT_KIND_sleep && loop_is(scene, e);
}

bool closed_but_ticks(const struct scene *scene, uint32_t pid, uint64_t from_ns, uint64_t time_ns)
{
	uint32_t waiting = 0;

	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct wait *w;

		if (!lives(scene, i, pid, time_ns))
			continue;
		w = wait_at(scene, i, time_ns);
		if (w && (is_for_its_own(scene, w) || joins_its_own(scene, w)))
			waiting++;
		else if (!only_ticks(scene, i, from_ns, time_ns))
			return false;
	}
	return waiting > 1;
}

uint32_t closed_last(const struct scene *scene, const struct wait *w, uint64_t time_ns, uint32_t *ret_count)
{
	uint32_t last = 0, pid = scene_pid(scene, w->thread);
	uint64_t since = 0;

	*ret_count = 0;
	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct wait *its = i != w->thread && lives(scene, i, pid, time_ns) ? wait_at(scene, i, time_ns) : NULL;

		if (!its || (its->object && its->object == w->object) || its->kind != WAIT_KIND_futex || (joins_its_own(scene, its) && its->hint == w->thread))
			continue;
		(*ret_count)++;
		if (last && its->start_ns < since)
			continue;
		last = i;
		since = its->start_ns;
	}
	return last;
}

/* But for their numbers, as threads of one pool have them. */
static bool are_named_alike(const char *a, const char *b)
{
	for (;;) {
		a += strspn(a, "0123456789");
		b += strspn(b, "0123456789");
		if (*a != *b || !*a)
			return *a == *b;
		a++;
		b++;
	}
}

/* Since when it waits so, behind that wait, and was there before it; 0 it does not. */
static uint64_t behind_since(const struct scene *scene, const struct wait *w, uint32_t thread, uint64_t time_ns)
{
	const struct wait *its = thread != w->thread && lives(scene, thread, scene_pid(scene, w->thread), time_ns) ? wait_at(scene, thread, time_ns) : NULL;

	return its && is_for_its_own(scene, its) && its->hint_kind != HINT_KIND_thread_exit && its->start_ns > w->start_ns &&
			       serving_born(scene, thread) < w->start_ns ? its->start_ns : 0;
}

uint32_t closed_behind_lead(const struct scene *scene, const struct wait *w, uint64_t time_ns)
{
	uint32_t last = 0, alike = 0, pid = scene_pid(scene, w->thread);
	uint64_t since = 0;

	if (!rule_holds(scene, RULE_behind_lead) || scene_tid(scene, w->thread) == pid || !is_for_its_own(scene, w) || !leads_process(scene, w->thread))
		return 0;
	for (uint32_t i = 1; i < scene->thread_count; i++) {
		uint64_t its = behind_since(scene, w, i, time_ns);

		last = its > since ? i : last;
		since = its > since ? its : since;
	}
	for (uint32_t i = 1; last && i < scene->thread_count; i++)
		alike += behind_since(scene, w, i, time_ns) && are_named_alike(scene->tables->threads[i].comm, scene->tables->threads[last].comm);
	return alike >= limit_of(scene, LIMIT_behind_lead_least) ? last : 0;
}

bool closed_is_behind_lead(const struct scene *scene, const struct wait *w, uint64_t time_ns)
{
	uint32_t pid = scene_pid(scene, w->thread);

	if (!rule_holds(scene, RULE_behind_lead) || !is_for_its_own(scene, w))
		return false;
	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct wait *its = i != w->thread && lives(scene, i, pid, time_ns) ? wait_at(scene, i, time_ns) : NULL;

		if (its && is_for_its_own(scene, its) && its->start_ns < w->start_ns && closed_behind_lead(scene, its, time_ns))
			return true;
	}
	return false;
}
