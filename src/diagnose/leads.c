/* See leads.h. */
#include "diagnose/leads.h"

#include "diagnose/judgement.h"
#include "diagnose/serving.h"

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

/* For a word of its own process, to the end, and nobody keeps whose that is. */
static bool waits_unowned(const struct scene *scene, uint32_t thread)
{
	const struct wait *w = scene_stands_until(scene, thread, scene->end_ns);

	return w && w->kind == WAIT_KIND_futex && w->argument & WAIT_FUTEX_PRIVATE && !w->hint && w->end == WAIT_END_OPEN;
}

/* Whoever was made by the awaited one, as far as that can be told: when the wait began, it was not there; or it was young, as where the launcher got no
 * processor, and born so long behind that one as siblings are not. */
static bool came_later(const struct scene *scene, const struct wait *w, uint32_t other)
{
	uint64_t born = serving_born(scene, other), first = serving_born(scene, w->hint);

	if (born > w->start_ns)
		return true;
	return first && born >= first + limit_of(scene, LIMIT_sibling_ns) && w->start_ns - born <= limit_of(scene, LIMIT_launcher_late_ns);
}

bool leads_in_rest(const struct scene *scene, const struct wait *w)
{
	const struct tables *tables = scene->tables;
	uint32_t others = 0;

	if (!rule_holds(scene, RULE_launcher_rests) || w->kind != WAIT_KIND_futex || w->hint_kind != HINT_KIND_thread_exit || !w->hint || w->timeout_ns ||
	    w->end != WAIT_END_OPEN || scene_tid(scene, w->thread) != scene_pid(scene, w->thread) || !scene_same_process(scene, w->hint, w->thread) ||
	    !waits_unowned(scene, w->hint))
		return false;
	for (uint32_t i = 1; i < tables->thread_count; i++) {
		const struct thread *t = &tables->threads[i];

		if (i == w->thread || i == w->hint || !scene_same_process(scene, i, w->thread) || t->end_ns < scene->end_ns)
			continue;
		if (!came_later(scene, w, i))
			return false;
		others++;
	}
	return others > 0;
}
