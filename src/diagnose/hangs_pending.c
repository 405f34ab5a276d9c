/* Whether an answer is still to come, see hangs_pending.h. */
#include "diagnose/hangs_pending.h"

#include "base/search.h"
#include "diagnose/broken_off.h"
#include "diagnose/ended_taker.h"
#include "diagnose/hangs_asks.h"
#include "diagnose/hangs_away.h"
#include "diagnose/killed_kin.h"
#include "diagnose/own_ends.h"
#include "diagnose/request.h"
#include "diagnose/starved.h"

static bool is_socket(uint64_t object)
{
	unsigned kind = object_kind(object);

	return kind >= OBJECT_KIND_unix_stream && kind <= OBJECT_KIND_socket;
}

bool hangs_began_before(const struct finder *f, const struct episode *e)
{
	return f->scene->threads[e->thread].since_ns > f->scene->reach_ns && e->start_ns < f->scene->threads[e->thread].since_ns;
}

bool hangs_stood_before(const struct finder *f, const struct episode *e)
{
	return e->start_ns <= f->scene->reach_ns + limit_of(f->scene, LIMIT_standing_slack_ns);
}

/* The thread that was set to work as the first, second, ... on the way to a trail. */
static uint32_t reached_at(const struct trails *trails, size_t at, unsigned level)
{
	while (trails->items[at].level > level)
		at = trails->items[at].parent;
	return trails->items[at].thread;
}

/* A thread that it made itself, of its own process, is what it is for, not what it was asked. */
static bool is_own_birth(const struct finder *f, size_t at)
{
	while (f->trails->items[at].level > 1)
		at = f->trails->items[at].parent;
	return f->trails->items[at].link == LINK_STARTED;
}

/* It was reached by what the program wrote to its standard output, while the program listens to something else: who reads that owes it nothing. */
static bool reads_output(const struct finder *f, size_t at, const struct wait *w)
{
	const struct scene *scene = f->scene;
	const struct wait *its;
	uint32_t i;

	while (f->trails->items[at].level > 1)
		at = f->trails->items[at].parent;
	i = scene_waits_from(scene, f->trails->items[at].thread, f->trails->items[at].from_ns);
	its = i > scene->threads[f->trails->items[at].thread].wait ? &scene->waits[i - 1] : NULL;
	return its && its->end_event == f->trails->items[at].evidence && hangs_reads_output(f, its, w);
}

/* So does who was away, and then had who ended the wait go on. */
static bool took_output(const struct finder *f, uint32_t away, const struct wait *w)
{
	for (size_t i = 1; i < f->trails->length; i++)
		if (scene_same_process(f->scene, f->trails->items[i].thread, away) && reads_output(f, i, w))
			return true;
	return false;
}

/* A window server asks one other program for what it was asked for itself, as for what
 * is selected; what that one's windows set off elsewhere is no part of the answer. */
static bool beyond_windows(const struct finder *f, size_t at)
{
	return f->trails->items[at].level > 2 &&
	       !scene_same_process(f->scene, f->trails->items[at].thread, reached_at(f->trails, at, 2));
}

bool hangs_works_long(const struct finder *f, uint32_t thread, uint64_t from, uint64_t to, uint64_t long_ns)
{
	struct state_times times;
	struct starved starved;

	scene_state_times(f->scene, thread, from, to, &times);
	if (times.ns[SPAN_RUNNING] >= long_ns || diagnoser_spins(f->diagnoser, thread, from, to))
		return true;
	return starved_judge(f->scene, thread, from, to, &starved);
}

/* Of a thread of the same process, where it waits; of another one, the connection on which it waits for no other. */
static uint64_t rest_of(const struct wait *w, bool own)
{
	uint64_t object = w->kind == WAIT_KIND_poll ? w->detail : w->object;

	if (own)
		return w->kind == WAIT_KIND_futex ? w->site : 0;
	return (w->kind == WAIT_KIND_read || (w->kind == WAIT_KIND_poll && w->argument <= 1)) && is_socket(object) ? object : 0;
}

/* It waits again where it was fetched from: it is through with what it was asked, or it asks itself. */
static bool is_back(const struct scene *scene, const struct trail *trail, uint64_t time_ns, bool own)
{
	uint64_t rest;
	uint32_t first = scene_waits_from(scene, trail->thread, trail->from_ns), now = scene_waits_from(scene, trail->thread, time_ns);

	if (first > scene->threads[trail->thread].wait)
		first--;
	rest = now > first ? rest_of(&scene->waits[now - 1], own) : 0;
	for (uint32_t i = first; rest && i < now - 1; i++)
		if (rest_of(&scene->waits[i], own) == rest && scene->waits[i].end == WAIT_END_THREAD)
			return true;
	return false;
}

/* For a smaller part of the wait than the rest of it, and for less than what is late: it cannot be what took so long. */
static bool reached_late(const struct finder *f, uint64_t window, uint64_t wait_ns)
{
	return window < hangs_long_ns(f, LIMIT_wait_ns) && !most_of(f->scene, window, wait_ns);
}

/* A signal ended it, as of a person who had enough. */
static bool was_broken_off(const struct finder *f, const struct wait *w)
{
	return rule_holds(f->scene, RULE_kept_off_to_the_end) && (w->cause == WAKE_CAUSE_signal || scene_ended_by_signal(f->scene, w));
}

/* True when one of those the thread set to work since then, directly or through
 * others, is still at it (or will never be) at the end of the wait. A wait that a
 * thread ended must have been ended by one of them: *ret_ended_by_one. */
static bool is_pending_since(const struct finder *f, const struct episode *e, uint64_t since_ns, bool outside, uint32_t *ret_awaits,
			     bool *ret_ended_by_one, bool *ret_outside)
{
	const struct wait *w = &f->scene->waits[e->last];
	uint64_t until = e->end_ns > e->start_ns + 1000000 ? e->end_ns - 500000 : e->end_ns;
	struct path_node path[FOLLOW_MAX_BACK];
	unsigned path_count;
	bool listens = w->kind == WAIT_KIND_poll || w->kind == WAIT_KIND_epoll;
	bool hears = !own_ends_hears_nobody(f->scene, f->ends, w, e->end_ns - 1);
	bool pending = false, windows = hangs_is_window_server(f, w->kind == WAIT_KIND_poll ? w->detail : w->object);

	*ret_ended_by_one = w->end != WAIT_END_THREAD;
	*ret_outside = false;
	follow_request(f->scene, f->ends, f->thread, since_ns, e->start_ns, until, f->trails);
	path_count = follow_back(f->scene, e, path);
	for (size_t i = 1; i < f->trails->length; i++) {
		const struct trail *t = &f->trails->items[i];
		struct state_times times;
		uint64_t begin = t->from_ns > e->start_ns ? t->from_ns : e->start_ns;
		uint64_t window = until > begin ? until - begin : 0;
		uint64_t long_ns;
		bool left_to_it, late;

		for (unsigned j = 0; j < path_count; j++)
			*ret_ended_by_one |= path[j].thread == t->thread;
		if (t->end == TRAIL_RELAY || t->end == TRAIL_AT_REST || t->end == TRAIL_BACK || !window)
			continue;
		if ((windows && beyond_windows(f, i)) || (!hears && !scene_same_process(f->scene, t->thread, f->thread)))
			continue;
		if (outside && scene_same_process(f->scene, reached_at(f->trails, i, 1), f->thread))
			continue;
		if (reads_output(f, i, w) || (listens && is_own_birth(f, i)))
			continue;
		/* Who listens to several, until its own limit, asked nothing of those. */
		if (wait_is_loop_rest(w) && !f->options->pid && w->end == WAIT_END_TIMEOUT &&
		    is_back(f->scene, t, until, scene_same_process(f->scene, t->thread, f->thread)))
			continue;
		/* On a busy machine all that has to be done takes long; and a process is not late
		 * because one of its threads leaves the work to another. */
		left_to_it = w->hint_kind == HINT_KIND_thread_exit && scene_same_process(f->scene, t->thread, f->thread);
		long_ns = left_to_it ? hangs_own_work_ns(f, LIMIT_busy_ns)
			  : t->end == TRAIL_BUSY ? hangs_own_work_ns(f, LIMIT_wait_ns) : hangs_long_ns(f, LIMIT_wait_ns);
		if ((t->end == TRAIL_STARVED || t->end == TRAIL_BUSY) && !hangs_works_long(f, t->thread, begin, until, long_ns)) {
			if (left_to_it && t->thread == w->hint)
				return false;
			continue;
		}
		scene_state_times(f->scene, t->thread, begin, until, &times);
		if (t->end == TRAIL_BUSY || t->end == TRAIL_STARVED || t->end == TRAIL_UNREAD)
			*ret_awaits = t->thread;
		late = t->end == TRAIL_UNREAD || t->end == TRAIL_STOPPED || t->end == TRAIL_KILLED ||
		       (t->end == TRAIL_BLOCKED && most_of(f->scene, times.ns[SPAN_WAITING], window) &&
			!(hangs_is_left_alone(f) && reached_late(f, window, until - e->start_ns))) ||
		       (t->end == TRAIL_BUSY && most_of(f->scene, times.ns[SPAN_RUNNING], window)) ||
		       (t->end == TRAIL_STARVED && most_of(f->scene, times.ns[SPAN_RUNNABLE], window));
		pending |= late;
		*ret_ended_by_one |= late && t->end == TRAIL_STARVED && was_broken_off(f, w);
		*ret_outside |= late && !scene_same_process(f->scene, t->thread, f->thread);
	}
	return pending;
}

/* When the thread last woke, before the wait, another process, or the thread of its own
 * that carries its requests and ended the wait; 0 never. */
static uint64_t last_request_wake(const struct scene *scene, const struct episode *e, bool outside)
{
	for (uint32_t i = scene_wakes_from(scene, e->thread, e->start_ns); i-- > scene->threads[e->thread].wake; ) {
		uint32_t target = scene->wakes[i].target;

		if (outside ? !scene_same_process(scene, target, e->thread) && !scene_is_system(scene, target)
			    : target == scene->waits[e->last].waker && scene_same_process(scene, target, e->thread))
			return scene->wakes[i].time;
	}
	return 0;
}

bool hangs_is_pending(const struct finder *f, const struct episode *e, uint64_t *ret_asked_ns, uint32_t *ret_awaits, bool *ret_outside)
{
	const struct wait *w = &f->scene->waits[e->last];
	bool outside = is_socket(w->object) || is_socket(w->detail); /* the answer comes from another process */
	const struct place *place = hangs_place_of(f, w);
	uint64_t latest;
	bool pending, ended_by_one;

	*ret_awaits = 0;
	*ret_asked_ns = request_start(f->scene, e);
	pending = is_pending_since(f, e, *ret_asked_ns, outside, ret_awaits, &ended_by_one, ret_outside);
	/* Of many short exchanges in a row the last one counts: those asked had been at
	 * rest again between them. */
	latest = pending ? 0 : last_request_wake(f->scene, e, outside);
	if (latest > *ret_asked_ns) {
		*ret_awaits = 0;
		pending = is_pending_since(f, e, latest, outside, ret_awaits, &ended_by_one, ret_outside);
	}
	/* A limit of a second and more that ran out, behind a request to another
	 * process: nobody answered, though all look at rest. */
	if (!pending && w->end == WAIT_END_TIMEOUT && w->timeout_ns >= limit_of(f->scene, LIMIT_wait_ns) && outside &&
	    (w->argument <= 1 || (w->argument == 2 && place && place->visits < limit_of(f->scene, LIMIT_rest_visits))))
		for (size_t i = 1; i < f->trails->length && !pending; i++)
			*ret_outside = pending = !scene_same_process(f->scene, f->trails->items[i].thread, f->thread);
	/* What nobody was there to take woke nobody; who asked nothing there awaits nothing. */
	if (f->scene->messages_seen && !hangs_asked_there(f, w) && !(hangs_began_before(f, e) && hangs_role_in(f, w) == END_CLIENT))
		return pending && ended_by_one;
	if (!pending && outside && w->end == WAIT_END_THREAD && w->cause != WAKE_CAUSE_signal && (ended_by_one || hangs_role_in(f, w) == END_CLIENT))
		return *ret_outside = (*ret_awaits = hangs_away_waker(f, e)) != 0 && !took_output(f, *ret_awaits, w);
	return pending && ended_by_one;
}

/* When the thread first woke somebody, or sent something, in the window. */
uint64_t hangs_first_deed(const struct scene *scene, uint32_t thread, uint64_t from, uint64_t to)
{
	const struct scene_thread *t = &scene->threads[thread];
	uint32_t wake = scene_wakes_from(scene, thread, from), message = scene_messages_from(scene, thread, from);
	uint64_t first = to;

	if (wake < scene_wakes_end(scene, thread) && scene->wakes[wake].time < first)
		first = scene->wakes[wake].time;
	for (; message < t->messages.count; message++) {
		const struct message m = scene_message(scene, t->messages.items[message]);

		if (m.time >= first)
			break;
		if (!(m.flags & MESSAGE_FLAGS_receive) && m.result > 0) {
			first = m.start_ns > from ? m.start_ns : from;
			break;
		}
	}
	/* The program may have done much else since, before it asked. */
	return first + limit_of(scene, LIMIT_wait_ns) < to && first == from ? to : first;
}

/* A child of its process was sent a signal that ends programs, early enough in the wait. */
static bool lost_child(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	uint32_t low = 0, high = scene->signal_count;
	uint64_t late_ns = limit_of(scene, LIMIT_wait_ns);

	SEARCH(low, high, middle, scene->signals[middle].time < e->start_ns);
	for (; low < scene->signal_count && scene->signals[low].time + late_ns < e->end_ns; low++)
		if (broken_off_ends_programs(scene->signals[low].signal) &&
		    scene->tables->threads[scene->signals[low].target].parent_pid == scene_pid(scene, f->thread))
			return true;
	return false;
}

bool hangs_answerer_killed(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	const struct wait *w = &scene->waits[e->last];

	if (!f->leads || (w->kind != WAIT_KIND_futex && w->kind != WAIT_KIND_read) || w->timeout_ns ||
	    (w->end != WAIT_END_OPEN && !broken_off_by_death(scene, w)) || !lost_child(f, e))
		return false;
	follow_request(scene, f->ends, f->thread, request_start(scene, e), e->start_ns, e->end_ns, f->trails);
	for (size_t i = 1; i < f->trails->length; i++)
		if (f->trails->items[i].end == TRAIL_KILLED && !scene_same_process(scene, f->trails->items[i].thread, f->thread))
			return true;
	return false;
}

bool hangs_sharer_killed(const struct finder *f, const struct episode *e)
{
	const struct wait *w = &f->scene->waits[e->last];
	const struct place *place = hangs_place_of(f, w);
	uint64_t evidence;
	bool mapped;

	return w->end == WAIT_END_OPEN && !w->timeout_ns && wait_is_shared(w) && (!place || place->visits < limit_of(f->scene, LIMIT_rest_visits)) &&
	       killed_kin_find(f->scene, w, e->end_ns, &mapped, &evidence) && mapped;
}

/* A signal ended that process, which had ended a wait before; false where it lives. */
static bool was_killed(const struct scene *scene, uint32_t thread)
{
	for (uint32_t i = 0; i < scene->signal_count; i++)
		if (scene_same_process(scene, scene->signals[i].target, thread) && broken_off_killed_by(scene, &scene->signals[i]))
			return true;
	return false;
}

/* It had slept until its time had come, and had nothing else to wait for since. */
static bool came_by_clock(const struct scene *scene, uint32_t wait)
{
	const struct wait *before = wait > scene->threads[scene->waits[wait].thread].wait ? &scene->waits[wait - 1] : NULL;

	return before && before->kind == WAIT_KIND_sleep && before->end == WAIT_END_TIMEOUT;
}

bool hangs_ender_killed(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	const struct wait *w = &scene->waits[e->last];
	uint32_t ender = 0, times = 0, by_clock = 0;

	if (w->end != WAIT_END_OPEN || w->timeout_ns || w->hint || !wait_is_shared(w) || !came_by_clock(scene, e->first))
		return false;
	for (uint32_t i = e->first; i-- > scene->threads[f->thread].wait; ) {
		const struct wait *before = &scene->waits[i];

		if (before->object != w->object || before->site != w->site)
			continue;
		if (before->end != WAIT_END_THREAD || scene_same_process(scene, before->waker, f->thread) ||
		    (ender && !scene_same_process(scene, before->waker, ender)))
			return false;
		ender = before->waker;
		by_clock += came_by_clock(scene, i);
		times++;
	}
	/* how it came to the first that is known may not have been seen */
	return times <= by_clock + 1 && times >= limit_of(scene, LIMIT_rest_visits) && was_killed(scene, ender);
}

bool hangs_taker_ended(const struct finder *f, const struct episode *e)
{
	return ended_taker_find(f->scene, e) != 0;
}
