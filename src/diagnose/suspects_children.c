/* Of a server that rests: what it started and what is at work is most likely what who asked it waits for (see suspects.h). */
#include "diagnose/judgement.h"
#include "diagnose/question.h"

#define GENERATIONS 6u

/* All of the time it had something to do. */
static bool works(const struct question *q, uint32_t thread)
{
	struct state_times times;

	if (!alive(q, thread) || scene_is_system(q->scene, thread))
		return false;
	scene_state_times(q->scene, thread, q->from, q->to, &times);
	return nearly_all(q->scene, times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE], q->to - q->from);
}

/* The process's child that the thread is of, or descends from; 0 none. */
static uint32_t child_over(const struct question *q, uint32_t thread, uint32_t pid)
{
	const struct tables *tables = q->scene->tables;

	for (unsigned i = 0; i < GENERATIONS && thread; i++) {
		const struct thread *t = &tables->threads[thread];

		if (t->parent_pid == pid)
			return tables_process(tables, t->pid, q->from);
		thread = t->parent_pid ? tables_process(tables, t->parent_pid, q->from) : 0;
	}
	return 0;
}

/* Where several of its children have something at work nobody is known. */
void ask_working_child(struct question *q)
{
	const struct wait *w = q->wait;
	uint32_t pid = scene_pid(q->scene, w->thread), found = 0;

	if (q->waiting_count < 2 || w->end != WAIT_END_OPEN || w->idle || scene_same_process(q->scene, q->waiting[0], w->thread) ||
	    (w->kind != WAIT_KIND_epoll && (w->kind != WAIT_KIND_poll || w->argument < 2)))
		return;
	for (uint32_t i = 1; i < q->scene->thread_count; i++) {
		uint32_t child = scene_pid(q->scene, i) != pid && works(q, i) ? child_over(q, i, pid) : 0;

		if (!child || child == found || is_waiting(q, i))
			continue;
		if (found)
			return;
		found = child;
	}
	suspect_thread(q, found, LINK_CHILD, weight_of(q), 0);
}
