/* See walk_person.h. */
#include "diagnose/walk_person.h"

#include "base/search.h"
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

/* Nothing but that, and what its own process alone has, as bells for its loop are. */
static bool listens_to_that_alone(const struct walk *walk, const struct wait *w, uint64_t master)
{
	const struct scene *scene = walk->scene;
	uint32_t pid = scene_pid(scene, w->thread), low = 0, end = scene->poll_item_count, high = end;
	struct row row = ends_of_process(walk->ends, pid);

	if (w->kind == WAIT_KIND_read || w->argument <= 1)
		return true;
	SEARCH(low, high, middle, scene->poll_items[middle].time < w->start_ns);
	for (; low < end && scene->poll_items[low].time <= w->end_ns; low++) {
		const struct poll_item *p = &scene->poll_items[low];

		if (p->pid != scene_tid(scene, w->thread) || p->set)
			continue;
		for (uint32_t i = 0; i < row.count; i++) {
			const struct descriptor *d = ends_at(walk->ends, row, i);
			struct row all = ends_of_object(walk->ends, d->at.object);

			if ((int32_t)d->at.fd != p->fd || d->time < w->start_ns || d->at.object == master)
				continue;
			for (uint32_t k = 0; k < all.count; k++)
				if (!scene_is_pipe(d->at.object) || ends_at(walk->ends, all, k)->pid != pid)
					return false;
		}
	}
	return true;
}

/* On the way one waits for that terminal's other side, which it has itself, and for nothing else: it drives the program, as no person does. */
static bool is_driven(const struct walk *walk, uint64_t terminal, uint32_t came)
{
	for (; came; came = walk->steps->items[came].parent) {
		uint32_t episode = walk->steps->items[came].episode;
		const struct wait *w = episode ? &walk->scene->waits[walk->scene->episodes[episode - 1].last] : NULL;
		uint64_t master = w && w->kind == WAIT_KIND_poll ? w->detail : w ? w->object : 0;

		if (w && (w->kind == WAIT_KIND_poll || w->kind == WAIT_KIND_read) && w->argument <= 2 && !w->timeout_ns &&
		    ends_is_terminal_master(walk->ends, master) && ends_are_two(walk->ends, master, terminal))
			return listens_to_that_alone(walk, w, master) && rule_holds(walk->scene, RULE_driven);
	}
	return false;
}

bool walk_awaits_person(const struct walk *walk, const struct wait *w, uint32_t came)
{
	uint64_t object;

	if (!rule_holds(walk->scene, RULE_person) || !walk->ends)
		return false;
	object = ends_listened_to(walk->ends, scene_pid(walk->scene, w->thread), w);
	/* at a terminal's other side programs print */
	if ((w->kind == WAIT_KIND_read || w->kind == WAIT_KIND_poll) && object_kind(object) == OBJECT_KIND_tty)
		return !ends_is_terminal_master(walk->ends, object) && !is_driven(walk, object, came) &&
		       (w->end != WAIT_END_OPEN || !ends_terminal_unattended(walk->ends, walk->scene, object, w));
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

/* Another thread of its process does, as a notifier's does for all others. */
static bool has_listener_at_terminal(const struct scene *scene, const struct ends *ends, uint32_t thread, uint64_t middle_ns)
{
	SCENE_EACH_MATE(scene, thread, i) {
		const struct episode *e = i != thread && rule_holds(scene, RULE_listener_mate) ? scene_episode(scene, i, middle_ns) : NULL;

		if (e && e->start_ns <= middle_ns && ends_listens_at_terminals(ends, scene_pid(scene, thread), &scene->waits[e->last]))
			return true;
	}
	return false;
}

bool walk_listens_at_terminal(const struct scene *scene, const struct ends *ends, const struct wait *w, uint32_t other, uint64_t from, uint64_t to)
{
	uint64_t middle = from + (to - from) / 2;
	const struct episode *e;
	struct state_times times;

	if (!rule_holds(scene, RULE_person) || !ends || w->kind != WAIT_KIND_write || object_kind(w->object) != OBJECT_KIND_tty)
		return false;
	scene_state_times(scene, other, from, to, &times);
	e = scene_episode(scene, other, middle);
	return e && nearly_all(scene, times.ns[SPAN_WAITING], to - from) &&
	       (ends_listens_at_terminals(ends, scene_pid(scene, other), &scene->waits[e->last]) || has_listener_at_terminal(scene, ends, other, middle));
}

/* Its first thread did, for most of the time. */
static bool shows_by_itself(const struct scene *scene, const struct ends *ends, const struct wait *w, uint32_t process, uint64_t from, uint64_t to)
{
	uint64_t middle = from + (to - from) / 2;
	const struct episode *e = scene_episode(scene, process, middle);

	return e && e->start_ns <= middle && ends_listens_at_terminals(ends, scene_pid(scene, process), &scene->waits[e->last]) &&
	       walk_listens_at_terminal(scene, ends, w, process, from, to);
}

uint32_t walk_waits_for_output(const struct scene *scene, const struct ends *ends, const struct wait *w, uint64_t from, uint64_t to)
{
	bool ended = w->end == WAIT_END_THREAD && !scene_is_system(scene, w->waker);
	uint32_t shows = 0;
	struct row row, far;

	if (w->kind != WAIT_KIND_write || object_kind(w->object) != OBJECT_KIND_tty || (!ended && w->end != WAIT_END_OPEN) || !ends ||
	    !rule_holds(scene, RULE_waits_for_output) || ends_lies_unread(ends, w))
		return 0;
	row = ends_of_object(ends, w->object);
	far = row.count ? ends_far(ends, ends_at(ends, row, row.count - 1)) : (struct row){ 0 };
	for (uint32_t i = 0; i < far.count; i++) {
		uint32_t process = tables_process(scene->tables, ends_at(ends, far, i)->pid, w->end_ns - 1);

		if (process && ended && scene_same_process(scene, process, w->waker))
			return 0;
		if (process && shows_by_itself(scene, ends, w, process, from, to))
			shows = process;
	}
	return shows;
}
