/* Questions to a scene that is built: finding spans and rows by time. */
#include "diagnose/scene.h"

#include <stdlib.h>

const char *span_state_name(enum span_state state)
{
	switch (state) {
	case SPAN_UNKNOWN: return "unknown";
	case SPAN_RUNNING: return "running";
	case SPAN_RUNNABLE: return "runnable";
	case SPAN_WAITING: return "waiting";
	case SPAN_STOPPED: return "stopped";
	case SPAN_ABSENT: return "absent";
	}
	return "unknown";
}

uint32_t scene_span_index(const struct scene *scene, uint32_t thread, uint64_t time)
{
	const struct scene_thread *t = &scene->threads[thread];
	uint32_t low = 0, high = t->span_count;

	if (!t->span_count || time < t->spans[0].start_ns || time > t->spans[t->span_count].start_ns)
		return t->span_count;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (t->spans[middle].start_ns <= time)
			low = middle;
		else
			high = middle;
	}
	return low;
}

const struct span *scene_span(const struct scene *scene, uint32_t thread, uint64_t time)
{
	uint32_t i = scene_span_index(scene, thread, time);

	return i < scene->threads[thread].span_count ? &scene->threads[thread].spans[i] : NULL;
}

/* All entries of the scene's arrays that rows point into have their time at a
 * known place; the rows are sorted by it. */
#define FIND_FROM(row, array, member, when) \
	do { \
		uint32_t low = 0, high = (row)->count; \
		while (low < high) { \
			uint32_t middle = low + (high - low) / 2; \
			if ((array)[(row)->items[middle]].member < (when)) \
				low = middle + 1; \
			else \
				high = middle; \
		} \
		return low; \
	} while (0)

uint32_t scene_wakes_from(const struct scene *scene, uint32_t thread, uint64_t time)
{
	FIND_FROM(&scene->threads[thread].wakes, scene->wakes, time, time);
}

uint32_t scene_messages_from(const struct scene *scene, uint32_t thread, uint64_t time)
{
	FIND_FROM(&scene->threads[thread].messages, scene->messages, time, time);
}

uint32_t scene_samples_from(const struct scene *scene, uint32_t thread, uint64_t time)
{
	FIND_FROM(&scene->threads[thread].samples, scene->samples, time, time);
}

uint32_t scene_waits_from(const struct scene *scene, uint32_t thread, uint64_t time)
{
	FIND_FROM(&scene->threads[thread].waits, scene->waits, start_ns, time);
}

void scene_state_times(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
		       struct state_times *ret_times)
{
	const struct scene_thread *t = &scene->threads[thread];

	*ret_times = (struct state_times){ 0 };
	for (uint32_t i = scene_span_index(scene, thread, from_ns); i < t->span_count; i++) {
		const struct span *s = &t->spans[i];
		uint64_t from = s->start_ns > from_ns ? s->start_ns : from_ns;
		uint64_t to = span_end(s) < to_ns ? span_end(s) : to_ns;

		if (s->start_ns >= to_ns)
			break;
		if (to <= from)
			continue;
		ret_times->ns[s->state] += to - from;
		if (s->throttled)
			ret_times->throttled_ns += to - from;
	}
}

bool scene_same_process(const struct scene *scene, uint32_t a, uint32_t b)
{
	return a && b && scene_pid(scene, a) == scene_pid(scene, b) && scene_pid(scene, a);
}

bool scene_is_system(const struct scene *scene, uint32_t thread)
{
	return !thread || scene->tables->threads[thread].flags & (TASK_FLAGS_kernel_thread | TASK_FLAGS_argus);
}

void scene_free(struct scene *scene)
{
	if (!scene)
		return;
	arena_done(&scene->arena);
	free(scene);
}
