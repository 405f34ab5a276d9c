/* Each thread's wake-ups, from the waits that they ended. */
#include <stdlib.h>
#include <string.h>

#include "base/populate.h"
#include "diagnose/scene_build.h"

/* Merges two stretches that are in order and follow each other. */
static void merge(const struct wake *from, size_t count, size_t first, struct wake *to)
{
	size_t a = 0, b = first;

	for (size_t i = 0; i < count; i++)
		to[i] = b >= count || (a < first && !scene_wake_is_later(&from[a], &from[b])) ? from[a++] : from[b++];
}

static size_t run_length(const struct wake *wakes, size_t count)
{
	size_t length = 1;

	while (length < count && !scene_wake_is_later(&wakes[length - 1], &wakes[length]))
		length++;
	return length < count ? length : count;
}

/* A thread's wake-ups lie as those of each that it woke, one behind the other, which are
 * in order: neighbours are merged until one is left. `spare` has as much room. */
static void sort_wakes(struct wake *wakes, size_t count, struct wake *spare)
{
	struct wake *from = wakes, *to = spare, *swap;

	if (!count)
		return;
	while (run_length(from, count) < count) {
		for (size_t at = 0; at < count; ) {
			size_t first = run_length(from + at, count - at), second = 0;

			if (at + first < count)
				second = run_length(from + at + first, count - at - first);
			merge(from + at, first + second, first, to + at);
			at += first + second;
		}
		swap = from;
		from = to;
		to = swap;
	}
	if (from != wakes)
		memcpy(wakes, from, count * sizeof(*wakes));
}

void scene_lay_wakes(struct scene *scene)
{
	uint32_t *next = mem_zalloc(arena_array_bytes(sizeof(*next), scene->thread_count));
	uint32_t count = 0, most = 0;
	struct wake *spare;

	for (uint32_t i = 0; i < scene->thread_count; i++)
		for (uint32_t j = scene->threads[i].wait; j < scene_waits_end(scene, i); j++)
			if (scene_is_wake(&scene->waits[j]))
				next[scene->waits[j].waker]++;
	for (uint32_t i = 0; i < scene->thread_count; i++) {
		scene->threads[i].wake = count;
		scene->threads[i].wake_count = next[i];
		count += next[i];
		most = next[i] > most ? next[i] : most;
		next[i] = scene->threads[i].wake;
	}
	scene->wakes = scene->laid_columns[LAID_wakes] = mem_alloc(arena_array_bytes(sizeof(*scene->wakes), (size_t)count + 1));
	mem_populate(scene->wakes, count * sizeof(*scene->wakes));
	scene->wake_count = count;
	for (uint32_t i = 0; i < scene->thread_count; i++)
		for (uint32_t j = scene->threads[i].wait; j < scene_waits_end(scene, i); j++) {
			const struct wait *w = &scene->waits[j];

			if (scene_is_wake(w))
				scene->wakes[next[w->waker]++] = (struct wake){ w->end_ns, w->end_event, w->waker, i };
		}
	spare = mem_alloc(arena_array_bytes(sizeof(*spare), (size_t)most + 1));
	for (uint32_t i = 0; i < scene->thread_count; i++)
		sort_wakes(scene->wakes + scene->threads[i].wake, scene->threads[i].wake_count, spare);
	free(spare);
	free(next);
}
