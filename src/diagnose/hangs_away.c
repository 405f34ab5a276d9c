/* Who was away, see hangs_away.h. */
#include "diagnose/hangs_away.h"

#define FUTEX_PRIVATE 128

/* Waits in which a thread does not listen for new work. */
static bool looks_away(const struct scene *scene, const struct wait *w)
{
	switch (w->kind) {
	case WAIT_KIND_sleep:
		return !suspects_poll_loop(scene, &scene->episodes[w->episode]);
	case WAIT_KIND_stop:
	case WAIT_KIND_child:
	case WAIT_KIND_vfork:
	case WAIT_KIND_file_lock:
	case WAIT_KIND_fuse:
	case WAIT_KIND_block_io:
	case WAIT_KIND_sync:
	case WAIT_KIND_kernel_lock:
	case WAIT_KIND_fault:
	case WAIT_KIND_write:
		return true;
	case WAIT_KIND_futex:
		return w->hint != 0;
	case WAIT_KIND_read:
		return hangs_is_pipe(w->object);
	default:
		return false;
	}
}

/* Away from the first moments of the stretch to near its end. */
static bool was_away(const struct scene *scene, uint32_t thread, uint64_t from, uint64_t to)
{
	const struct episode *e = scene_episode(scene, thread, from);
	const struct scene_thread *t = &scene->threads[thread];
	uint64_t slack = (to - from) / 20;
	struct state_times times;

	if (scene->tables->threads[thread].start_ns > from)
		return false;
	scene_state_times(scene, thread, from, to, &times);
	if ((times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE]) * 10 > (to - from) * 9 &&
	    times.ns[SPAN_RUNNING] * 3 > to - from)
		return true;
	for (; e && e < scene->episodes + t->episode + t->episode_count && e->start_ns <= from + slack; e++)
		if (e->end_ns + slack >= to && looks_away(scene, &scene->waits[e->last]))
			return true;
	return false;
}

uint32_t hangs_away_waker(const struct finder *f, const struct episode *e)
{
	struct path_node path[FOLLOW_MAX_BACK];
	unsigned count = follow_back(f->scene, e, path);

	for (unsigned i = 0; i < count; i++)
		if (!scene_is_system(f->scene, path[i].thread) && !scene_same_process(f->scene, path[i].thread, e->thread) &&
		    was_away(f->scene, path[i].thread, e->start_ns, e->end_ns))
			return path[i].thread;
	return 0;
}

bool hangs_nobody_can_end(const struct finder *f, const struct episode *e)
{
	const struct tables *tables = f->scene->tables;
	const struct wait *w = &f->scene->waits[e->last];

	if (w->kind != WAIT_KIND_futex || !(w->argument & FUTEX_PRIVATE) || w->end == WAIT_END_THREAD)
		return false;
	for (uint32_t i = 1; i < tables->thread_count; i++)
		if (i != e->thread && scene_same_process(f->scene, i, e->thread) && tables->threads[i].start_ns < e->end_ns &&
		    tables->threads[i].end_ns > e->start_ns)
			return false;
	return true;
}
