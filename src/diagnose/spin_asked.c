/* See spin_asked.h. */
#include "diagnose/spin_asked.h"

#include "diagnose/judgement.h"
#include "diagnose/loops.h"

#define MOST_LOOKED_AT 262144u /* waits, wake-ups */

/* A look, and no work: it gave up the processor, and has it again. */
static bool is_look(const struct wait *w)
{
	return w->kind == WAIT_KIND_yield;
}

/* Where the thread did nothing that others see, nor waited: since when, and until when. False where it waits in the middle. */
static bool find_stretch(const struct scene *scene, uint32_t thread, uint64_t middle_ns, uint64_t *ret_start_ns, uint64_t *ret_end_ns)
{
	const struct thread *t = &scene->tables->threads[thread];
	const struct row *messages = &scene->threads[thread].messages;
	uint32_t first = scene->threads[thread].wait, next = scene_waits_from(scene, thread, middle_ns), i;
	uint32_t wake = scene_wakes_from(scene, thread, middle_ns), message = scene_messages_from(scene, thread, middle_ns);
	uint64_t start = t->start_ns > scene->start_ns ? t->start_ns : scene->start_ns, end = t->end_ns < scene->end_ns ? t->end_ns : scene->end_ns;

	for (i = next; i > first && next - i < MOST_LOOKED_AT && is_look(&scene->waits[i - 1]); i--)
		;
	if (next - i == MOST_LOOKED_AT)
		return false;
	if (i > first && scene->waits[i - 1].end_ns > start)
		start = scene->waits[i - 1].end_ns;
	for (i = next; i < scene_waits_end(scene, thread) && i - next < MOST_LOOKED_AT && is_look(&scene->waits[i]); i++)
		;
	if (i - next == MOST_LOOKED_AT)
		return false;
	if (i < scene_waits_end(scene, thread) && scene->waits[i].start_ns < end)
		end = scene->waits[i].start_ns;
	if (wake > scene->threads[thread].wake && scene->wakes[wake - 1].time > start)
		start = scene->wakes[wake - 1].time;
	if (wake < scene_wakes_end(scene, thread) && scene->wakes[wake].time < end)
		end = scene->wakes[wake].time;
	if (message && scene->messages[messages->items[message - 1]].time > start)
		start = scene->messages[messages->items[message - 1]].time;
	if (message < messages->count && scene_message(scene, messages->items[message]).start_ns < end)
		end = scene_message(scene, messages->items[message]).start_ns;
	*ret_start_ns = start;
	*ret_end_ns = end;
	return start <= middle_ns && end > middle_ns;
}

/* The wait that the wake-up ended, of one who listened for work; NULL none. */
static const struct wait *rest_ended(const struct scene *scene, const struct wake *k)
{
	uint32_t next = scene_waits_from(scene, k->target, k->time);
	const struct wait *w = next > scene->threads[k->target].wait ? &scene->waits[next - 1] : NULL;

	return w && w->end_event == k->number && !loop_looks_away(scene, w) ? w : NULL;
}

/* When it was at rest there again; UINT64_MAX never. */
static uint64_t back_ns(const struct scene *scene, const struct wake *k, const struct wait *rest)
{
	uint32_t first = scene_waits_from(scene, k->target, k->time), end = scene_waits_end(scene, k->target);

	for (uint32_t i = first; i < end && i - first < MOST_LOOKED_AT; i++)
		if (scene->waits[i].site == rest->site)
			return scene->waits[i].start_ns;
	return UINT64_MAX;
}

/* It came back as the spinning ended; not at all, where that goes on. */
static bool ends_with(const struct scene *scene, uint64_t back, uint64_t start_ns, uint64_t end_ns)
{
	uint64_t slack = part_of(scene, LIMIT_next_to_nothing, end_ns - start_ns) + limit_of(scene, LIMIT_change_ns);

	if (back == UINT64_MAX)
		return end_ns >= scene->end_ns;
	return back + slack >= end_ns && back <= end_ns + slack;
}

bool spin_asked_find(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, struct spin_asked *ret_asked)
{
	uint64_t start, end;

	if (!rule_holds(scene, RULE_asked_spin) || to_ns <= from_ns || !find_stretch(scene, thread, from_ns + (to_ns - from_ns) / 2, &start, &end))
		return false;
	for (uint32_t i = scene_wakes_from(scene, thread, start + 1); i-- > scene->threads[thread].wake; ) {
		const struct wake *k = &scene->wakes[i];
		const struct wait *rest;
		uint64_t back;

		if (k->time + limit_of(scene, LIMIT_asked_before_ns) < start)
			break;
		rest = scene_is_system(scene, k->target) || k->target == thread ? NULL : rest_ended(scene, k);
		back = rest ? back_ns(scene, k, rest) : 0;
		if (!rest || !ends_with(scene, back, start, end) || loop_waits_behind(scene, k->target, thread, (back < end ? back : end) - 1))
			continue;
		*ret_asked = (struct spin_asked){ k->target, k->number, start, back < end ? back : end };
		return true;
	}
	return false;
}

bool spin_asked_is_away(const struct scene *scene, const struct spin_asked *asked)
{
	struct state_times times;

	scene_state_times(scene, asked->thread, asked->start_ns, asked->end_ns, &times);
	return times.ns[SPAN_RUNNING] <= part_of(scene, LIMIT_asked_spin_ran, asked->end_ns - asked->start_ns);
}

bool spin_asked_is_late(const struct scene *scene, uint32_t thread, const struct spin_asked *asked)
{
	uint64_t soon = (asked->end_ns - asked->start_ns) / limit_of(scene, LIMIT_trips_late);
	uint32_t first = scene->threads[thread].wake, in_time = 0;

	for (uint32_t i = scene_wakes_from(scene, thread, asked->start_ns), n = 0; i-- > first && n < MOST_LOOKED_AT; n++) {
		const struct wake *k = &scene->wakes[i];
		const struct wait *rest = k->target == asked->thread && k->number != asked->event ? rest_ended(scene, k) : NULL;

		if (!rest)
			continue;
		if (back_ns(scene, k, rest) > k->time + soon)
			return false;
		in_time++;
	}
	return in_time >= limit_of(scene, LIMIT_trips_unasked);
}
