/* See leads.h. */
#include "diagnose/leads.h"

#include "diagnose/judgement.h"

/* The thread whose end the first thread awaits for nearly all of its life, as far as that was seen; 0 none. */
static uint32_t awaited_by(const struct scene *scene, uint32_t first)
{
	const struct thread *t = &scene->tables->threads[first];
	uint64_t born = t->start_ns > scene->start_ns ? t->start_ns : scene->start_ns, gone = t->end_ns < scene->end_ns ? t->end_ns : scene->end_ns;
	const struct episode *e = gone > born ? scene_episode(scene, first, born + (gone - born) / 2) : NULL;
	const struct wait *w = e ? &scene->waits[e->last] : NULL;

	if (!w || !rule_holds(scene, RULE_launched) || w->kind != WAIT_KIND_futex || w->hint_kind != HINT_KIND_thread_exit ||
	    !nearly_all(scene, e->end_ns - e->start_ns, gone - born) || !scene_same_process(scene, w->hint, first))
		return 0;
	return w->hint;
}

bool leads_process(const struct scene *scene, uint32_t thread)
{
	const struct thread *t = &scene->tables->threads[thread];
	uint32_t first = t->tid == t->pid ? thread : tables_process(scene->tables, t->pid, t->start_ns), other;

	other = first ? awaited_by(scene, first) : 0;
	return other ? other == thread : first == thread;
}
