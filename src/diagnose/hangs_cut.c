/* See hangs_cut.h. A wait stands in a part from its true beginning on, a loop does not:
 * it is many waits. One that goes on is judged where it ends. */
#include "diagnose/hangs_cut.h"

#include "diagnose/hangs.h"
#include "diagnose/judgement.h"
#include "diagnose/loops.h"
#include "diagnose/scene.h"
#include "diagnose/suspects.h"

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

/* However long it was, a loop is a hang where a process's first thread looked and the time ran out, where
 * it looked for a child or a file lock, or where another thread of its process kept it. */
static bool may_be_hang(const struct scene *scene, const struct episode *loop)
{
	const struct thread *t = &scene->tables->threads[loop->thread];
	const struct wait *w = &scene->waits[loop->last];

	if (w->kind == WAIT_KIND_yield)
		return false;
	return (t->tid == t->pid && w->kind == WAIT_KIND_sleep) || ((w->end == WAIT_END_TIMEOUT || w->kind == WAIT_KIND_child) && loop->end_ns < t->end_ns) ||
	       suspects_refused_lock(scene, w, loop->start_ns, loop->end_ns);
}

static bool cut_at(const struct scene *scene, uint32_t thread, const struct wait *w, uint64_t start_ns, uint64_t end_ns, struct hangs_cut *ret_cut)
{
	const struct thread *t = &scene->tables->threads[thread];

	*ret_cut = (struct hangs_cut){ start_ns, end_ns, t->pid, t->tid, w->site, 0 };
	return true;
}

/* What is left of the loop that the thread's first wait is in. */
static bool is_cut(const struct scene *scene, const struct hangs_options *options, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
		   struct hangs_cut *ret_cut)
{
	const struct scene_thread *t = &scene->threads[thread];
	const struct episode *first = &scene->episodes[t->episode];
	uint64_t begun_ns = t->since_ns + limit_of(scene, LIMIT_look_ns);
	struct retries retries;

	if (loop_is(scene, first))
		return first->start_ns <= begun_ns && ends_in(scene, first->end_ns, from_ns, to_ns) &&
		       (options->pid || may_be_hang(scene, first)) &&
		       looks_often(scene, first->end_ns - first->start_ns, first->slices) &&
		       cut_at(scene, thread, &scene->waits[first->last], first->start_ns, first->end_ns, ret_cut);
	/* of tries that take more than a look, a process's first thread's count (hangs_retries) */
	if (scene->tables->threads[thread].tid != scene->tables->threads[thread].pid)
		return false;
	for (uint32_t i = t->wait; i < scene_waits_end(scene, thread); i++) {
		const struct wait *w = &scene->waits[i];

		if (w->start_ns > begun_ns)
			return false;
		if (w->kind == WAIT_KIND_sleep)
			return loop_retries(scene, i, &retries) && looks_often(scene, retries.end_ns - retries.start_ns, retries.count) &&
			       ends_in(scene, retries.end_ns, from_ns, to_ns) &&
			       cut_at(scene, thread, w, retries.start_ns, retries.end_ns, ret_cut);
	}
	return false;
}

void hangs_cut_loops(const struct scene *scene, const struct hangs_options *options, uint64_t from_ns, uint64_t to_ns,
		     void (*tell)(void *data, const struct hangs_cut *cut), void *data)
{
	struct hangs_cut cut;

	for (uint32_t i = 1; i < scene->thread_count; i++)
		if (scene->threads[i].episode_count && scene->tables->threads[i].start_ns < scene->threads[i].since_ns && hangs_asks_about(scene, options, i) &&
		    is_cut(scene, options, i, from_ns, to_ns, &cut))
			tell(data, &cut);
}
