/* See hangs_kept_open.h. */
#include "diagnose/hangs_kept_open.h"

#include "diagnose/judgement.h"

/* The last process that the thread's process started before that time; 0 none. */
static uint32_t last_child(const struct scene *scene, uint32_t thread, uint64_t before_ns)
{
	uint32_t last = 0;

	for (uint32_t i = 1; i < scene->thread_count && scene->tables->threads[i].start_ns <= before_ns; i++)
		if (scene->tables->threads[i].tid == scene->tables->threads[i].pid && scene_has_started(scene, thread, i))
			last = i;
	return last;
}

/* It gave its process something over the pipe before, after about as long, though the child had ended by then: so it does, at its own pace. */
static bool gives_on(const struct finder *f, const struct wait *w, uint64_t ended_ns)
{
	const struct scene *scene = f->scene;
	uint64_t least = part_of(scene, LIMIT_gives_as_long, w->end_ns - w->start_ns);

	SCENE_EACH_MATE(scene, f->thread, i)
		for (uint32_t at = scene_waits_from(scene, i, 0); at < scene_waits_end(scene, i); at++) {
			const struct wait *before = &scene->waits[at];

			if (before->start_ns >= w->start_ns)
				break;
			if (before->kind == w->kind && before->object == w->object && before->end == WAIT_END_THREAD && before->end_ns >= ended_ns &&
			    before->end_ns - before->start_ns >= least && scene_same_process(scene, before->waker, w->waker))
				return true;
		}
	return false;
}

/* What came was something to read: it waits for more since. */
static bool reads_on(const struct finder *f, const struct wait *w)
{
	const struct scene *scene = f->scene;

	SCENE_EACH_MATE(scene, f->thread, i)
		for (uint32_t at = scene_waits_from(scene, i, w->end_ns); at < scene_waits_end(scene, i); at++)
			if (scene->waits[at].kind == w->kind && scene->waits[at].object == w->object)
				return true;
	return false;
}

bool hangs_kept_open(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	const struct wait *w = &scene->waits[e->last];
	uint32_t child = w->kind == WAIT_KIND_read && scene_is_pipe(w->object) && w->end == WAIT_END_THREAD ? last_child(scene, f->thread, e->start_ns) : 0;
	uint64_t ended = child ? scene->tables->threads[child].end_ns : UINT64_MAX;
	struct state_times times;

	if (ended < e->start_ns)
		ended = e->start_ns;
	if (ended >= e->end_ns || scene_same_process(scene, w->waker, child) || scene_same_process(scene, w->waker, f->thread) ||
	    !scene_descends_from(scene, w->waker, scene_pid(scene, child)) || !nearly_all(scene, e->end_ns - ended, e->end_ns - e->start_ns))
		return false;
	if (rule_holds(scene, RULE_gives_on) && (reads_on(f, w) || gives_on(f, w, scene->tables->threads[child].end_ns)))
		return false;
	scene_state_times(scene, w->waker, ended, e->end_ns, &times);
	return !most_of(scene, times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE], e->end_ns - ended);
}
