/* See walk_person.h. */
#include "diagnose/walk_person.h"

#include "diagnose/judgement.h"

bool walk_is_dialog(const struct walk *walk, uint32_t thread, uint32_t came)
{
	const struct walk_step *step = &walk->steps->items[came];
	const struct thread *t = &walk->scene->tables->threads[thread];
	const struct episode *waiting = step->episode ? &walk->scene->episodes[step->episode - 1] : NULL;
	bool answers = waiting && (step->link == LINK_WAKE || step->link == LINK_SENT);
	bool awaited = step->link == LINK_CHILD || (answers && (walk->scene->waits[waiting->last].kind == WAIT_KIND_child ||
								scene_pid(walk->scene, waiting->thread) == t->parent_pid));

	return awaited && rule_holds(walk->scene, RULE_person) && t->tid == t->pid && ends_has_windows(walk->ends, t->pid);
}

bool walk_awaits_person(const struct walk *walk, const struct wait *w, uint32_t came)
{
	uint64_t object;

	if (!rule_holds(walk->scene, RULE_person) || !walk->ends)
		return false;
	object = ends_listened_to(walk->ends, scene_pid(walk->scene, w->thread), w);
	/* at a terminal's other side programs print */
	if ((w->kind == WAIT_KIND_read || w->kind == WAIT_KIND_poll) && object_kind(object) == OBJECT_KIND_tty)
		return !ends_is_terminal_master(walk->ends, object);
	return came && w->kind == WAIT_KIND_poll && w->argument > 1 && walk_is_dialog(walk, w->thread, came);
}

/* It asks one that serves, and waits for the answer. */
static bool awaits_server(const struct walk *walk, const struct wait *w)
{
	uint64_t object = w->kind == WAIT_KIND_poll ? w->detail : w->object;

	return (w->kind == WAIT_KIND_read || w->kind == WAIT_KIND_poll) && ends_role(walk->ends, object) == END_CLIENT;
}

#define ANSWERS_LOOKED_AT 256

/* What a terminal brought comes from a person where who has its other side listens to several: that one passes on what is
 * typed, whoever types, though it may ask what a key means first. A program that drives another one waits for that alone, or
 * sleeps. */
static bool is_typed(const struct walk *walk, const struct wait *w)
{
	const struct scene *scene = walk->scene;
	const struct wait *idle, *before;
	uint32_t by = walk_set_to_work_by(walk, w->waker, w->end_ns, &idle), other = by ? by : w->waker, at, first;

	at = scene_waits_from(scene, other, w->end_ns);
	first = scene->threads[other].wait;
	if (at - first > ANSWERS_LOOKED_AT)
		first = at - ANSWERS_LOOKED_AT;
	while (at > first) {
		before = &scene->waits[--at];
		if (wait_is_loop_rest(before))
			return before->kind != WAIT_KIND_accept;
		if (!awaits_server(walk, before))
			return false;
	}
	return false;
}

bool walk_ended_by_person(const struct walk *walk, const struct wait *w, uint32_t came)
{
	if (!walk_awaits_person(walk, w, came))
		return false;
	if (object_kind(w->kind == WAIT_KIND_poll ? w->detail : w->object) == OBJECT_KIND_tty && is_typed(walk, w))
		return true;
	return ends_shows_windows_of(walk->ends, scene_pid(walk->scene, w->waker), scene_pid(walk->scene, w->thread));
}

bool walk_listens_at_terminal(const struct walk *walk, const struct wait *w, uint32_t other, uint64_t from, uint64_t to)
{
	const struct scene *scene = walk->scene;
	const struct episode *e;
	struct state_times times;

	if (!rule_holds(scene, RULE_person) || !walk->ends || w->kind != WAIT_KIND_write || object_kind(w->object) != OBJECT_KIND_tty)
		return false;
	scene_state_times(scene, other, from, to, &times);
	e = scene_episode(scene, other, from + (to - from) / 2);
	return e && nearly_all(scene, times.ns[SPAN_WAITING], to - from) &&
	       ends_listens_at_terminals(walk->ends, scene_pid(scene, other), &scene->waits[e->last]);
}
