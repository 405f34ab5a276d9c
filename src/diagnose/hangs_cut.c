/* See hangs_cut.h. A wait stands in a part from its true beginning on, a loop does not:
 * it is many waits. One that goes on is judged where it ends. */
#include "diagnose/hangs_cut.h"

#include "diagnose/judgement.h"
#include "diagnose/loops.h"
#include "diagnose/scene.h"

/* A loop of so many looks, and of no more than the usual time for each. */
static bool looks_often(const struct scene *scene, uint64_t ns, uint32_t looks)
{
	uint64_t look_ns = limit_of(scene, LIMIT_look_ns);

	return looks >= limit_of(scene, LIMIT_loop_looks) && ns / looks <= look_ns + look_ns / 10;
}

static bool ends_in(const struct scene *scene, uint64_t end_ns, uint64_t from_ns, uint64_t to_ns)
{
	return end_ns >= from_ns && end_ns <= to_ns && end_ns < scene->end_ns;
}

/* What is left of the loop that the thread's first wait is in. */
static bool is_cut(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	const struct scene_thread *t = &scene->threads[thread];
	const struct episode *first = &scene->episodes[t->episode];
	struct retries retries;

	if (loop_is(scene, first))
		return looks_often(scene, first->end_ns - first->start_ns, first->slices) && ends_in(scene, first->end_ns, from_ns, to_ns);
	for (uint32_t i = t->wait; i < scene_waits_end(scene, thread); i++) {
		const struct wait *w = &scene->waits[i];

		if (w->start_ns > scene->start_ns + limit_of(scene, LIMIT_look_ns))
			return false;
		if (w->kind == WAIT_KIND_sleep)
			return loop_retries(scene, i, &retries) && looks_often(scene, retries.end_ns - retries.start_ns, retries.count) &&
			       ends_in(scene, retries.end_ns, from_ns, to_ns);
	}
	return false;
}

bool hangs_loop_is_cut(const struct scene *scene, uint64_t from_ns, uint64_t to_ns)
{
	for (uint32_t i = 1; i < scene->thread_count; i++)
		if (scene->threads[i].episode_count && scene->tables->threads[i].start_ns < scene->start_ns && !scene_is_system(scene, i) &&
		    is_cut(scene, i, from_ns, to_ns))
			return true;
	return false;
}
