/* See hangs_circle.h. */
#include "diagnose/hangs_circle.h"

#include "diagnose/broken_off.h"
#include "diagnose/closed.h"
#include "diagnose/hangs_asks.h"
#include "diagnose/hangs_pending.h"

#define CIRCLE_MOST 8

static bool lives_at(const struct scene *scene, uint32_t thread, uint64_t time)
{
	const struct thread *t = &scene->tables->threads[thread];

	return t->start_ns < time && t->end_ns >= time;
}

/* Another thread could do what this one does not. */
static bool is_alone(const struct scene *scene, uint32_t thread, uint64_t time)
{
	SCENE_EACH_MATE(scene, thread, i)
		if (i != thread && lives_at(scene, i, time))
			return false;
	return true;
}

/* The only process but the waiting one that has the end of the pipe by which the wait could be ended, as that was found since it began. */
static uint32_t only_holder(const struct finder *f, const struct wait *w, uint64_t time_ns)
{
	struct row row = ends_of_object(f->ends, w->object);
	uint32_t own = scene_pid(f->scene, w->thread), pid = 0, thread;

	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *d = ends_at(f->ends, row, i);

		if (d->time < w->start_ns || d->time > time_ns || d->pid == own || !(d->at.access & (w->kind == WAIT_KIND_write ? 1 : 2)))
			continue;
		thread = tables_process(f->scene->tables, d->pid, d->time);
		if (!thread || !lives_at(f->scene, thread, time_ns))
			continue;
		if (pid && d->pid != pid)
			return 0;
		pid = d->pid;
	}
	return pid ? tables_process(f->scene->tables, pid, time_ns) : 0;
}

/* Who alone could end it, 0 not known, or several. */
static uint32_t only_one_to_end(const struct finder *f, const struct wait *w, uint64_t time_ns)
{
	switch (w->kind) {
	case WAIT_KIND_child:
		return w->argument > 0 ? tables_process(f->scene->tables, (uint32_t)w->argument, w->start_ns)
				       : scene_only_child(f->scene, w->thread, w->start_ns, time_ns);
	case WAIT_KIND_read:
	case WAIT_KIND_write:
		return object_kind(w->object) == OBJECT_KIND_pipe ? only_holder(f, w, time_ns) : 0;
	default:
		return wait_has_owner(w) ? w->hint : 0;
	}
}

/* Of the process that alone could end the wait the thread that is to do it: the only one, the owner, or who ended the wait before it for the same. */
static uint32_t next_in_circle(const struct finder *f, const struct wait *w, uint64_t time_ns)
{
	uint32_t thread = only_one_to_end(f, w, time_ns);
	const struct wait *before = hangs_as_ended(f->scene, w);

	if (!thread || wait_has_owner(w) || is_alone(f->scene, thread, time_ns))
		return thread;
	return before != w && scene_same_process(f->scene, before->waker, thread) && lives_at(f->scene, before->waker, time_ns) ? before->waker : 0;
}

/* The wait in which the thread of a circle stands at that time. */
static const struct wait *stands_in_circle(const struct finder *f, const struct episode *its, uint64_t time_ns)
{
	const struct wait *w = its ? &f->scene->waits[its->last] : NULL;

	return w && !w->timeout_ns && !w->idle && its->start_ns < time_ns ? w : NULL;
}

/* To the end of the trace. */
static bool is_in_circle(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	uint32_t thread = f->thread;

	for (unsigned i = 0; i < CIRCLE_MOST; i++) {
		const struct wait *w = stands_in_circle(f, i ? scene_episode(scene, thread, scene->end_ns - 1) : e, scene->end_ns);

		if (!w || w->end != WAIT_END_OPEN)
			return false;
		thread = next_in_circle(f, w, scene->end_ns);
		if (!thread)
			return false;
		if (thread == f->thread)
			return i > 0;
	}
	return false;
}

/* Over pipes between the only threads of programs, until one of them was let go on by none of the others, but by a signal, as that of an alarm. */
static bool was_in_circle(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	uint64_t time_ns = e->end_ns - part_of(scene, LIMIT_edge, e->end_ns - e->start_ns);
	const struct wait *first = NULL;
	uint32_t thread = f->thread;

	for (unsigned i = 0; i < CIRCLE_MOST; i++) {
		const struct episode *its = i ? scene_episode(scene, thread, time_ns) : e;
		const struct wait *w = stands_in_circle(f, its, time_ns);

		if (!w || its->end_ns < time_ns || (w->kind != WAIT_KIND_read && w->kind != WAIT_KIND_write) || !is_alone(scene, thread, time_ns) ||
		    its->start_ns > e->start_ns + part_of(scene, LIMIT_most, e->end_ns - e->start_ns))
			return false;
		first = !first || w->end_ns < first->end_ns ? w : first;
		thread = only_one_to_end(f, w, time_ns);
		if (!thread)
			return false;
		if (thread == f->thread)
			return i > 0 && scene_signal_at_end(scene, first) && broken_off_is(scene, first);
	}
	return false;
}

bool hangs_in_circle(const struct finder *f, const struct episode *e)
{
	return is_in_circle(f, e) || (rule_holds(f->scene, RULE_circle_of_pipes) && was_in_circle(f, e));
}

bool hangs_is_closed(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;

	return f->leads && scene->waits[e->last].kind == WAIT_KIND_futex && !hangs_stood_before(f, e) &&
	       closed_process(scene, scene_pid(scene, f->thread), e->end_ns - 1);
}

static bool listens_to_one(const struct wait *w)
{
	return (w->kind == WAIT_KIND_read || (w->kind == WAIT_KIND_poll && w->argument <= 1)) && hangs_listened_to(w);
}

bool hangs_in_flight(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	const struct wait *w = &scene->waits[e->last], *other;
	uint32_t i;

	if (!listens_to_one(w) || w->end != WAIT_END_THREAD || scene_same_process(scene, w->waker, f->thread))
		return false;
	i = scene_waits_from(scene, w->waker, w->end_ns);
	while (i > scene->threads[w->waker].wait && scene->waits[i - 1].end_ns > w->end_ns)
		i--;
	other = i > scene->threads[w->waker].wait ? &scene->waits[i - 1] : NULL;
	return other && listens_to_one(other) && other->end == WAIT_END_SOURCE && other->cause == WAKE_CAUSE_network &&
	       other->start_ns <= e->start_ns && nearly_all(scene, other->end_ns - e->start_ns, w->end_ns - e->start_ns) &&
	       ends_are_two(f->ends, hangs_listened_to(other), hangs_listened_to(w));
}
