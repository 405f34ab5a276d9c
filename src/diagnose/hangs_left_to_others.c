/* See hangs_left_to_others.h. */
#include "diagnose/hangs_left_to_others.h"

#include "diagnose/hangs_asks.h"
#include "diagnose/hangs_loop.h"
#include "diagnose/hangs_pending.h"

static const struct wait *last_of(const struct finder *f, const struct episode *e)
{
	return &f->scene->waits[e->last];
}

static const struct wait *wait_in_middle(const struct scene *scene, uint32_t thread, const struct episode *e)
{
	uint64_t middle = e->start_ns + (e->end_ns - e->start_ns) / 2;
	const struct episode *its = scene_episode(scene, thread, middle);

	return its && its->start_ns <= middle ? &scene->waits[its->last] : NULL;
}

static bool awaits_clients(const struct finder *f, const struct wait *w)
{
	return w->kind == WAIT_KIND_accept || hangs_role_in(f, w) == END_LISTENER;
}

/* Of the process's threads one awaits clients then, or its first listens to windows. */
static bool process_awaits(const struct finder *f, uint32_t leader, const struct episode *e, bool *ret_clients)
{
	const struct wait *its = wait_in_middle(f->scene, leader, e);

	*ret_clients = false;
	SCENE_EACH_MATE(f->scene, leader, i) {
		const struct wait *w = wait_in_middle(f->scene, i, e);

		*ret_clients |= w && awaits_clients(f, w);
	}
	return *ret_clients || (its && wait_is_loop_rest(its) && ends_has_windows(f->ends, scene_pid(f->scene, leader)));
}

/* It looks after them, as one does that sleeps, and looks, all the time. */
static bool looks_after_children(const struct finder *f, const struct episode *e)
{
	const struct wait *w = last_of(f, e);

	return w->kind == WAIT_KIND_sleep && w->end == WAIT_END_OPEN && loop_is(f->scene, e) && hangs_stood_before(f, e);
}

/* One of the children whose end is waited for serves clients, and the others do so, too, or listen to their windows. */
static bool leaves_to_children(const struct finder *f, const struct episode *e)
{
	const struct wait *w = last_of(f, e);
	bool looks = looks_after_children(f, e), served = false;

	for (uint32_t i = 1; i < f->scene->thread_count && (looks || w->kind == WAIT_KIND_child); i++) {
		const struct thread *t = &f->scene->tables->threads[i];
		bool clients;

		if (t->parent_pid != scene_pid(f->scene, e->thread) || t->tid != t->pid || t->start_ns > e->start_ns || t->end_ns < e->end_ns ||
		    (!looks && w->argument > 0 && t->tid != (uint32_t)w->argument))
			continue;
		if (!process_awaits(f, i, e, &clients))
			return false;
		served |= clients;
	}
	return served;
}

/* How the thread waits whose end is awaited, or which stands for a process whose launcher awaits it; NULL: it is not so. */
static const struct wait *awaited_thread_waits(const struct finder *f, const struct episode *e)
{
	const struct wait *w = last_of(f, e);

	if (f->leads && scene_tid(f->scene, f->thread) != scene_pid(f->scene, f->thread))
		return w;
	return w->hint_kind == HINT_KIND_thread_exit && w->hint && scene_same_process(f->scene, w->hint, e->thread) ? wait_in_middle(f->scene, w->hint, e)
													   : NULL;
}

/* It waits for the end of a thread or child that serves clients, as a launcher does, or of a thread that waits to be told to end
 * while others of its process serve them. */
static bool leaves_to_servers(const struct finder *f, const struct episode *e)
{
	const struct wait *joined = awaited_thread_waits(f, e);

	if (leaves_to_children(f, e))
		return true;
	if (!joined)
		return false;
	if (awaits_clients(f, joined))
		return true;
	if (joined->kind != WAIT_KIND_futex || joined->hint)
		return false;
	SCENE_EACH_MATE(f->scene, e->thread, i) {
		const struct wait *its = wait_in_middle(f->scene, i, e);

		if (its && awaits_clients(f, its))
			return true;
	}
	return false;
}

/* As a pool's threads do, or a loop's. */
static bool waits_to_be_told(const struct wait *w)
{
	return wait_is_loop_rest(w) || (w->kind == WAIT_KIND_futex && !w->hint) ||
	       (w->kind == WAIT_KIND_poll && object_kind(w->detail) == OBJECT_KIND_eventfd);
}

/* Its loop listens to nothing but what other threads of its process wake it by, and they all wait to be told something, too. Not so where one
 * of them asked another process just before, and the loop has set itself a limit for it. */
static bool rests_with_its_threads(const struct finder *f, const struct episode *e)
{
	const struct wait *w = last_of(f, e);

	if (w->kind != WAIT_KIND_poll || object_kind(w->detail) != OBJECT_KIND_eventfd || w->end != WAIT_END_OPEN)
		return false;
	SCENE_EACH_MATE(f->scene, e->thread, i) {
		const struct wait *its;

		if (i == e->thread || f->scene->tables->threads[i].end_ns < e->end_ns)
			continue;
		its = wait_in_middle(f->scene, i, e);
		if (!its || !waits_to_be_told(its) || (w->timeout_ns && hangs_asked_just_before(f->scene, i, e)))
			return false;
	}
	return true;
}

/* Rule `left_to_others`. A daemon waits for signals while its children work. */
bool hangs_is_left_to_others(const struct finder *f, const struct episode *e)
{
	const struct wait *w = last_of(f, e);

	return rule_holds(f->scene, RULE_left_to_others) &&
	       (leaves_to_servers(f, e) || rests_with_its_threads(f, e) ||
		(w->kind == WAIT_KIND_signal && w->end == WAIT_END_OPEN && !scene_only_child(f->scene, e->thread, e->start_ns, e->end_ns)));
}
