/* Who was away, see hangs_away.h. */
#include "diagnose/hangs_away.h"

#include <signal.h>
#include <sys/syscall.h>

#include "diagnose/asked_in_vain.h"
#include "diagnose/diagnoser.h"
#include "diagnose/hangs_asks.h"
#include "diagnose/hangs_pending.h"
#include "diagnose/loops.h"
#include "diagnose/suspects.h"
#include "diagnose/told.h"
#include "diagnose/untaken.h"
#include "diagnose/word_lock.h"
#include "diagnose/word_sleep.h"

bool hangs_was_away(const struct finder *f, uint32_t thread, uint64_t from, uint64_t to)
{
	const struct scene *scene = f->scene;
	const struct episode *e = scene_episode(scene, thread, from);
	const struct scene_thread *t = &scene->threads[thread];
	uint64_t slack = part_of(scene, LIMIT_edge, to - from), in_kernel = 0;
	struct state_times times;

	if (scene->tables->threads[thread].start_ns > from)
		return false;
	scene_state_times(scene, thread, from, to, &times);
	/* On a busy machine all takes long: its own work must, too. */
	if (nearly_all(scene, times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE], to - from))
		return hangs_works_long(f, thread, from, to, hangs_own_work_ns(f, LIMIT_wait_ns));
	for (; e && e < scene->episodes + t->episode + t->episode_count && e->start_ns < to; e++) {
		const struct wait *w = &scene->waits[e->last];
		uint64_t begin = e->start_ns > from ? e->start_ns : from, end = e->end_ns < to ? e->end_ns : to;

		if (e->start_ns <= from + slack && e->end_ns + slack >= to && (loop_looks_away(scene, w) || asked_in_vain(scene, w)))
			return true;
		if (wait_is_in_kernel(w) && end > begin)
			in_kernel += end - begin;
	}
	return nearly_all(scene, in_kernel, to - from);
}

/* Where messages are seen, they tell who was asked through others: what merely came by
 * way of a server, as a window's events do, was not. */
static bool was_asked(const struct finder *f, uint32_t thread)
{
	for (size_t i = 1; i < f->trails->length; i++)
		if (scene_same_process(f->scene, f->trails->items[i].thread, thread))
			return true;
	return false;
}

bool hangs_listened_back(const struct finder *f, uint32_t thread, const struct episode *e)
{
	const struct episode *its = scene_episode(f->scene, thread, e->start_ns + (e->end_ns - e->start_ns) / 2);
	const struct wait *w = its ? &f->scene->waits[its->last] : NULL;

	return w && (w->kind == WAIT_KIND_read || (w->kind == WAIT_KIND_poll && w->argument <= 1)) && !scene_is_pipe(hangs_listened_to(w)) &&
	       rule_holds(f->scene, RULE_only_came) &&
	       most_of(f->scene, its->end_ns - its->start_ns, e->end_ns - e->start_ns) &&
	       ends_are_two(f->ends, hangs_listened_to(w), hangs_listened_to(&f->scene->waits[e->last]));
}

uint32_t hangs_away_waker(const struct finder *f, const struct episode *e)
{
	struct path_node path[FOLLOW_MAX_BACK];
	unsigned count = follow_back(f->scene, e, path);
	const struct wait *w = &f->scene->waits[e->last];
	bool by_windows = f->scene->messages_seen && hangs_is_window_server(f, w->kind == WAIT_KIND_poll ? w->detail : w->object);

	if (rule_holds(f->scene, RULE_next_question) && w->waker && hangs_is_client(f, e->thread, w->waker))
		return 0;
	/* what then had that one go on, as by its end, is not what was asked for */
	for (unsigned i = 0; i < count && !hangs_listened_back(f, path[i].thread, e); i++)
		if (!scene_is_system(f->scene, path[i].thread) && !scene_same_process(f->scene, path[i].thread, e->thread) &&
		    hangs_was_away(f, path[i].thread, e->start_ns, e->end_ns) &&
		    (!i || !by_windows || was_asked(f, path[i].thread)))
			return path[i].thread;
	return 0;
}

bool hangs_ended_by_return(const struct finder *f, const struct episode *e, uint64_t from_ns)
{
	struct path_node path[FOLLOW_MAX_BACK];
	unsigned count = follow_back(f->scene, e, path);

	for (unsigned i = 0; i < count; i++)
		if (!scene_is_system(f->scene, path[i].thread) && !scene_same_process(f->scene, path[i].thread, e->thread) &&
		    hangs_was_away(f, path[i].thread, from_ns, e->end_ns))
			return true;
	return false;
}

bool hangs_was_stopped(const struct finder *f, const struct episode *e)
{
	const struct wait *w = &f->scene->waits[e->last];
	struct state_times times;

	if (w->end != WAIT_END_THREAD || scene_same_process(f->scene, w->waker, e->thread))
		return false;
	if (w->kind != WAIT_KIND_read && w->kind != WAIT_KIND_poll && w->kind != WAIT_KIND_epoll && w->kind != WAIT_KIND_connect &&
	    w->kind != WAIT_KIND_queue)
		return false;
	/* A server at rest asks nothing of a client that is stopped. */
	if (hangs_rests_at(f, w) && hangs_role_in(f, w) != END_CLIENT)
		return false;
	/* Where messages are seen, they tell whether it asked for anything. */
	if (f->scene->messages_seen && !hangs_asked_there(f, w))
		return false;
	scene_state_times(f->scene, w->waker, e->start_ns, e->end_ns, &times);
	return nearly_all(f->scene, times.ns[SPAN_STOPPED], e->end_ns - e->start_ns);
}

bool hangs_was_suspended(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;

	for (uint32_t i = scene->signal_count; i-- > 0; ) {
		const struct sent_signal *s = &scene->signals[i];

		if (s->time <= e->start_ns && s->signal >= SIGSTOP && s->signal <= SIGTTOU && scene_same_process(scene, s->target, e->thread))
			return s->signal == SIGTSTP;
	}
	return false;
}

/* The longest time, inside of the stretch, in which the thread was stopped. */
static uint64_t stopped_longest(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, uint64_t *ret_from_ns)
{
	uint64_t longest = 0;

	for (uint32_t i = scene_waits_from(scene, thread, from_ns), first = scene->threads[thread].wait, at = i > first ? i - 1 : i;
	     at < scene_waits_end(scene, thread) && scene->waits[at].start_ns < to_ns; at++) {
		const struct wait *w = &scene->waits[at];
		uint64_t begin = w->start_ns > from_ns ? w->start_ns : from_ns, end = w->end_ns < to_ns ? w->end_ns : to_ns;

		if (w->kind != WAIT_KIND_stop || end <= begin + longest)
			continue;
		longest = end - begin;
		*ret_from_ns = begin;
	}
	return longest;
}

bool hangs_waits_for_stopped(const struct finder *f, const struct episode *e, bool *ret_own_child, uint64_t *ret_from_ns)
{
	const struct scene *scene = f->scene;
	struct path_node path[FOLLOW_MAX_BACK];
	unsigned count = follow_back(scene, e, path);

	for (unsigned i = 0; i < count; i++) {
		struct state_times times;

		if (scene_is_system(scene, path[i].thread) || scene_same_process(scene, path[i].thread, e->thread))
			continue;
		scene_state_times(scene, path[i].thread, e->start_ns, e->end_ns, &times);
		if (!most_of(scene, times.ns[SPAN_STOPPED], e->end_ns - e->start_ns))
			continue;
		*ret_from_ns = e->start_ns;
		stopped_longest(scene, path[i].thread, e->start_ns, e->end_ns, ret_from_ns);
		*ret_own_child = scene_descends_from(scene, path[i].thread, scene_pid(scene, e->thread));
		return true;
	}
	return false;
}

bool hangs_server_stopped(const struct finder *f, const struct episode *e, uint64_t *ret_from_ns, uint64_t *ret_to_ns)
{
	struct row row = ends_of_process(f->ends, scene_pid(f->scene, e->thread));
	uint64_t longest = 0;

	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *d = ends_at(f->ends, row, i);
		uint32_t other = ends_role(f->ends, d->at.object) == END_CLIENT ? suspects_neighbour(f->scene, f->ends, d, e->start_ns, e->end_ns) : 0;
		uint64_t from = 0, ns = other && !scene_is_system(f->scene, other) ? stopped_longest(f->scene, other, e->start_ns, e->end_ns, &from) : 0;

		if (ns <= longest)
			continue;
		longest = ns;
		*ret_from_ns = from;
		*ret_to_ns = from + ns;
	}
	return longest >= hangs_long_ns(f, LIMIT_wait_ns);
}

/* How long the thread listened for new work; `served`: to what only servers listen to. */
static uint64_t listened_ns(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, bool served)
{
	const struct scene_thread *t = &scene->threads[thread];
	uint64_t ns = 0;

	for (const struct episode *e = scene_episode(scene, thread, from_ns);
	     e && e < scene->episodes + t->episode + t->episode_count && e->start_ns < to_ns; e++) {
		const struct wait *w = &scene->waits[e->last];
		uint64_t from = e->start_ns > from_ns ? e->start_ns : from_ns, to = e->end_ns < to_ns ? e->end_ns : to_ns;

		if (w->kind == WAIT_KIND_accept || ((w->kind == WAIT_KIND_epoll || w->kind == WAIT_KIND_poll) && !served) ||
		    (w->kind == WAIT_KIND_read && object_kind(w->object) == OBJECT_KIND_fuse))
			ns += to - from;
	}
	return ns;
}

bool hangs_left_to_others(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	uint32_t waker = scene->waits[e->last].waker;

	SCENE_EACH_MATE(scene, e->thread, i)
		if (i != e->thread &&
		    most_of(scene, listened_ns(scene, i, e->start_ns, e->end_ns, i != waker), e->end_ns - e->start_ns))
			return true;
	return false;
}

bool hangs_is_condition(const struct finder *f, const struct episode *e)
{
	const struct wait *w = &f->scene->waits[e->last];
	uint64_t object = w->kind == WAIT_KIND_poll ? w->detail : w->object;
	struct path_node path[FOLLOW_MAX_BACK];
	unsigned count;

	if (w->end != WAIT_END_THREAD || (w->kind != WAIT_KIND_read && (w->kind != WAIT_KIND_poll || w->argument != 1)) ||
	    (object_kind(object) != OBJECT_KIND_eventfd && !scene_is_pipe(object)))
		return false;
	count = follow_back(f->scene, e, path);
	for (unsigned i = 0; i < count; i++)
		if (!scene_same_process(f->scene, path[i].thread, e->thread))
			return false;
	return count > 0;
}

/* In one wait for nearly all of the stretch, but not for others that it started. */
static bool was_idle(const struct scene *scene, uint32_t thread, uint64_t from, uint64_t to)
{
	uint64_t slack = (to - from) - part_of(scene, LIMIT_nearly_all, to - from);
	const struct episode *e = scene_episode(scene, thread, from + slack);
	const struct wait *w = e ? &scene->waits[e->last] : NULL;

	return e && e->start_ns <= from + slack && e->end_ns + slack >= to && e->end_ns <= to && w->kind != WAIT_KIND_child &&
	       w->kind != WAIT_KIND_vfork && w->end != WAIT_END_OPEN && !scene_ended_by_signal(scene, w);
}

/* A timer of its own sent the signal that ended the wait, and it does not end with a failure: it had waited for as long as it meant to. */
static bool ended_by_alarm(const struct scene *scene, const struct wait *w)
{
	const struct thread *t = &scene->tables->threads[w->thread];

	if (!rule_holds(scene, RULE_own_alarm) || w->end != WAIT_END_SOURCE || w->cause != WAKE_CAUSE_timer || scene_signal_at_end(scene, w) != SIGALRM)
		return false;
	return t->end_ns > w->end_ns + limit_of(scene, LIMIT_fails_ns) || !t->exit_code;
}

/* It listened to one thing until its own time limit, perhaps again and again, the last thing that it waited for, and then it ended well: nobody was to
 * tell it anything there. */
static bool ended_well_by_clock(const struct scene *scene, const struct wait *w)
{
	const struct thread *t = &scene->tables->threads[w->thread];
	const struct wait *last = &scene->waits[scene_waits_end(scene, w->thread) - 1];

	while (w < last && w->end == WAIT_END_TIMEOUT && w[1].kind == w->kind && w[1].detail == w->detail)
		w++;
	return w->kind == WAIT_KIND_poll && w->argument <= 1 && w->end == WAIT_END_TIMEOUT && t->tid == t->pid && !t->exit_code &&
	       t->end_ns < scene->end_ns && t->end_ns <= w->end_ns + limit_of(scene, LIMIT_fails_ns) && w == last;
}

/* A sleep, or a wait for a signal, that a time of its own ended: a program takes its time by it, where nobody asks. */
static bool is_timed(const struct finder *f, const struct episode *e)
{
	const struct wait *w = &f->scene->waits[e->last];

	if (!hangs_is_left_alone(f) || !rule_holds(f->scene, RULE_takes_its_time))
		return false;
	if (ended_by_alarm(f->scene, w) || ended_well_by_clock(f->scene, w))
		return true;
	return (w->kind == WAIT_KIND_sleep && w->end == WAIT_END_TIMEOUT && !loop_is(f->scene, e)) ||
	       (w->end == WAIT_END_TIMEOUT && rule_holds(f->scene, RULE_word_sleep) && word_sleep_is(f->diagnoser->names, f->scene->tables, w)) ||
	       (w->kind == WAIT_KIND_signal && w->end == WAIT_END_SOURCE && w->cause == WAKE_CAUSE_timer);
}

/* What it waited for came when that was due. */
static bool idles_by_clock(const struct finder *f, uint32_t thread, uint64_t from, uint64_t to)
{
	const struct episode *e = scene_episode(f->scene, thread, from + (to - from) / 2);

	return e && (hangs_ended_by_clock(f, &f->scene->waits[e->last]) || (is_timed(f, e) && hangs_is_unattended(f)));
}

/* Some thread of its process had work to do, or a person to wait for. */
static bool process_worked(const struct finder *f, uint32_t of, uint64_t from, uint64_t to)
{
	const struct scene *scene = f->scene;

	for (uint32_t i = 1; i < scene->thread_count; i++) {
		struct state_times times;

		const struct episode *e;

		if (!scene_same_process(scene, i, of))
			continue;
		e = scene_episode(scene, i, from + (to - from) / 2);
		if (e && hangs_awaits_person(f, &scene->waits[e->last]))
			return true;
		scene_state_times(scene, i, from, to, &times);
		if (times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE] > part_of(scene, LIMIT_a_good_part, to - from))
			return true;
	}
	return false;
}

/* Of those that lived at another time nothing need be looked at: a machine that builds starts thousands in a minute. */
static bool lives_at(const struct scene *scene, uint32_t thread, uint64_t time)
{
	return scene->tables->threads[thread].start_ns <= time && scene->tables->threads[thread].end_ns >= time;
}

/* Its sleep at that time; NULL: it does something else. */
static const struct episode *sleep_of(const struct scene *scene, uint32_t thread, uint64_t time)
{
	const struct episode *e = scene_episode(scene, thread, time);

	return e && scene->waits[e->last].kind == WAIT_KIND_sleep ? e : NULL;
}

static bool only_sleeps(const struct finder *f, uint32_t thread, uint64_t time)
{
	const struct episode *e = sleep_of(f->scene, thread, time);

	return e && scene_is_sleeper(f->scene, &f->scene->waits[e->last], hangs_is_unattended(f));
}

/* The thread was started by the other one's process, directly or not. */
static bool started_by(const struct scene *scene, uint32_t thread, uint32_t by)
{
	return !scene_same_process(scene, thread, by) && (scene_descends_from(scene, thread, scene_pid(scene, by)) ||
							  scene->tables->threads[thread].parent_pid == scene_pid(scene, by));
}

/* A program that it started, directly or not, and that only slept, slept out in that time, and for most of it: so do scripts
 * that take their time. */
static bool slept_on_purpose(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	uint64_t middle = e->start_ns + (e->end_ns - e->start_ns) / 2;

	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct episode *its = lives_at(scene, i, middle) ? sleep_of(scene, i, middle) : NULL;

		/* who started it takes longest to find */
		if (its && scene->waits[its->last].end == WAIT_END_TIMEOUT && (hangs_is_unattended(f) || only_sleeps(f, i, middle)) &&
		    its->end_ns <= e->end_ns && !loop_is(scene, its) &&
		    nearly_all(scene, its->end_ns - its->start_ns, e->end_ns - e->start_ns) && started_by(scene, i, f->thread))
			return true;
	}
	return false;
}

/* Nobody but the two of their process lives all through it: a word of their own memory that the one waits for with a limit, while the other
 * waits for the one, is never written. */
static bool nobody_beside(const struct scene *scene, uint32_t a, uint32_t b, const struct episode *e)
{
	SCENE_EACH_MATE(scene, a, i)
		if (i != a && i != b && scene->tables->threads[i].start_ns < e->end_ns && scene->tables->threads[i].end_ns > e->start_ns)
			return false;
	return true;
}

/* A thread of its own that was made for it, and did nothing in its life but to take a time that it had set itself: a job that sleeps, or a timer. */
static bool awaits_timer_thread(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	const struct wait *w = &scene->waits[e->last], *its;
	const struct thread *t = &scene->tables->threads[w->waker];
	const struct episode *sleep = scene_episode(scene, w->waker, e->start_ns + (e->end_ns - e->start_ns) / 2);

	if (!rule_holds(scene, RULE_timer_thread) || f->options->pid || hangs_has_windows(f) || f->options->threshold_ns ||
	    !scene_same_process(scene, w->waker, f->thread) || t->tid == t->pid || !sleep || sleep->slices > 1 ||
	    (wait_has_owner(w) && w->hint_kind != HINT_KIND_thread_exit))
		return false;
	its = &scene->waits[sleep->last];
	scene_need_spans(scene, w->waker);
	return its->end == WAIT_END_TIMEOUT && sleep->end_ns <= e->end_ns && most_of(scene, sleep->end_ns - sleep->start_ns, e->end_ns - e->start_ns) &&
	       sleep->start_ns >= t->start_ns && sleep->start_ns - t->start_ns <= limit_of(scene, LIMIT_look_queued_ns) &&
	       scene->threads[w->waker].running_ns < limit_of(scene, LIMIT_timer_ran_ns) &&
	       (its->kind == WAIT_KIND_sleep ||
		(its->kind == WAIT_KIND_futex && !wait_is_shared(its) && !its->hint && nobody_beside(scene, f->thread, w->waker, sleep)));
}

bool hangs_awaits_sleeper(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	const struct wait *w = &scene->waits[e->last];
	const struct episode *its;

	if (w->end == WAIT_END_THREAD && awaits_timer_thread(f, e))
		return true;
	/* a person waits for a window's first thread, whatever keeps that */
	if (w->end != WAIT_END_THREAD ||
	    !(started_by(scene, w->waker, f->thread) || (hangs_is_unattended(f) && scene_same_process(scene, w->waker, f->thread))) ||
	    (hangs_has_windows(f) && f->leads))
		return false;
	its = scene_episode(scene, w->waker, e->start_ns + (e->end_ns - e->start_ns) / 2);
	return its && is_timed(f, its) && its->end_ns <= e->end_ns && most_of(scene, its->end_ns - its->start_ns, e->end_ns - e->start_ns);
}

/* Of those that it started one waits for a person at a terminal, as a pager does. */
static bool leaves_to_person(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	uint64_t middle = e->start_ns + (e->end_ns - e->start_ns) / 2;

	for (uint32_t i = 1; i < scene->thread_count && hangs_is_unattended(f); i++) {
		const struct episode *its = lives_at(scene, i, middle) ? scene_episode(scene, i, middle) : NULL;

		if (its && its->start_ns <= middle && scene->waits[its->last].kind != WAIT_KIND_child &&
		    object_kind(hangs_listened_to(&scene->waits[its->last])) == OBJECT_KIND_tty && started_by(scene, i, f->thread))
			return true;
	}
	return false;
}

bool hangs_ended_by_clock(const struct finder *f, const struct wait *w)
{
	const struct scene *scene = f->scene;
	const struct wait *end = &scene->waits[scene_waits_end(scene, w->thread)], *last;
	uint32_t behind;

	/* it may look up by the clock itself */
	while (w->end == WAIT_END_TIMEOUT && w + 1 < end && w[1].site == w->site)
		w++;
	behind = w->end == WAIT_END_THREAD ? scene_waits_from(scene, w->waker, w->end_ns) : 0;
	/* what it then had to read from a disk is its answer's work */
	while (behind > scene->threads[w->waker].wait && wait_is_in_kernel(&scene->waits[behind - 1]))
		behind--;
	last = behind > scene->threads[w->waker].wait ? &scene->waits[behind - 1] : NULL;
	return last && hangs_is_unattended(f) && rule_holds(scene, RULE_answers_by_clock) && last->end == WAIT_END_TIMEOUT &&
	       (last->kind == WAIT_KIND_epoll || last->kind == WAIT_KIND_poll) && !hangs_was_away(f, w->waker, w->start_ns, w->end_ns);
}

bool hangs_waits_for_own(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	const struct wait *w = &scene->waits[e->last];
	struct path_node path[FOLLOW_MAX_BACK];
	uint64_t from = e->start_ns;
	unsigned count;

	if (!f->leads || e->end_ns - e->start_ns < limit_of(scene, LIMIT_own_ns) || w->end != WAIT_END_THREAD || loop_is(scene, e))
		return false;
	/* What has run since before the recording may be meant to. */
	if (hangs_is_unattended(f) && hangs_stood_before(f, e))
		return false;
	if (w->kind != WAIT_KIND_child && w->kind != WAIT_KIND_signal && !(w->kind == WAIT_KIND_read && scene_is_pipe(w->object) && w->argument > 0) &&
	    !(w->kind == WAIT_KIND_poll && scene_is_pipe(w->detail)))
		return false;
	if (slept_on_purpose(f, e) || leaves_to_person(f, e))
		return false;
	count = follow_back(scene, e, path);
	/* Of processes that wait for each other's end the last one is named. */
	for (unsigned i = 0; i < count && (!i || scene_is_pipe(w->object) || scene_is_pipe(w->detail)) && started_by(scene, path[i].thread, f->thread); i++) {
		if (scene->tables->threads[path[i].thread].start_ns > from)
			from = scene->tables->threads[path[i].thread].start_ns;
		if (e->end_ns > from && nearly_all(scene, e->end_ns - from, e->end_ns - e->start_ns) && !idles_by_clock(f, path[i].thread, from, e->end_ns) &&
		    was_idle(scene, path[i].thread, from, e->end_ns) && !process_worked(f, path[i].thread, from, e->end_ns))
			return w->kind == WAIT_KIND_read || w->kind == WAIT_KIND_poll || !only_sleeps(f, path[i].thread, from + (e->end_ns - from) / 2);
	}
	return false;
}

bool hangs_leaves_to_program(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	const struct wait *w = &scene->waits[e->last];
	const struct episode *its;

	if (!rule_holds(scene, RULE_launches) || !hangs_is_unattended(f) || w->end != WAIT_END_THREAD || w->waker == e->thread ||
	    !scene_same_process(scene, w->waker, e->thread))
		return false;
	its = scene_episode(scene, w->waker, e->start_ns + (e->end_ns - e->start_ns) / 2);
	return its && scene->waits[its->last].kind == WAIT_KIND_child && !loop_is(scene, its) &&
	       nearly_all(scene, its->end_ns - (its->start_ns > e->start_ns ? its->start_ns : e->start_ns), e->end_ns - e->start_ns) &&
	       !hangs_waits_for_own(f, its);
}

bool hangs_waits_for_exec(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	const struct wait *w = &scene->waits[e->last];
	uint32_t child = w->end == WAIT_END_THREAD ? w->waker : 0;
	const struct episode *its = NULL;
	uint16_t call;

	if (child && started_by(scene, child, f->thread))
		its = scene_episode(scene, child, e->start_ns + (e->end_ns - e->start_ns) / 2);
	call = its ? scene->waits[its->last].syscall : 0;
	return (call == SYS_execve || call == SYS_execveat) && nearly_all(scene, its->end_ns - its->start_ns, e->end_ns - e->start_ns);
}

bool hangs_signal_went_elsewhere(const struct finder *f, const struct episode *e)
{
	return f->leads && told_instead(f->scene, e);
}

bool hangs_nobody_can_end(const struct finder *f, const struct episode *e)
{
	const struct tables *tables = f->scene->tables;
	const struct wait *w = &f->scene->waits[e->last];

	if (w->kind != WAIT_KIND_futex || !(w->argument & WAIT_FUTEX_PRIVATE) || w->end == WAIT_END_THREAD)
		return false;
	/* nothing tells whose thread it is */
	if (scene_tid(f->scene, e->thread) == scene_pid(f->scene, e->thread) && !(tables->threads[e->thread].flags & TASK_FLAGS_leader))
		return false;
	for (uint32_t i = 1; i < tables->thread_count; i++)
		if (i != e->thread && scene_same_process(f->scene, i, e->thread) && tables->threads[i].start_ns < e->end_ns &&
		    tables->threads[i].end_ns > e->start_ns)
			return false;
	return true;
}

bool hangs_named_lock(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	const struct wait *w = &scene->waits[e->last];
	struct state_times times;

	if (w->end == WAIT_END_THREAD) {
		if (!scene_same_process(scene, w->waker, e->thread) && !wait_is_shared(w))
			return false;
		scene_state_times(scene, w->waker, e->start_ns, e->end_ns, &times);
		if (nearly_all(scene, times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE], e->end_ns - e->start_ns) &&
		    !hangs_works_long(f, w->waker, e->start_ns, e->end_ns, hangs_own_work_ns(f, LIMIT_wait_ns)))
			return false;
	} else if (w->end != WAIT_END_OPEN) {
		return false;
	}
	return word_lock_is(f->diagnoser->names, scene->tables, w);
}

bool hangs_interpreter_kept(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	const struct wait *w = &scene->waits[e->last], *first = &scene->waits[e->first];
	struct state_times times;

	if (w->kind != WAIT_KIND_futex || w->hint_kind != HINT_KIND_interpreter_lock || !w->hint || first->hint != w->hint ||
	    first->hint_kind != w->hint_kind)
		return false;
	scene_state_times(scene, w->hint, e->start_ns, e->end_ns, &times);
	if (!nearly_all(scene, times.ns[SPAN_WAITING], e->end_ns - e->start_ns))
		return false;
	f->hang->awaits = w->hint;
	return true;
}

bool hangs_told_to_end(const struct finder *f, const struct episode *e)
{
	const struct scene *scene = f->scene;
	const struct wait *w = &scene->waits[e->last];
	const struct sent_signal *told = NULL;
	uint64_t evidence;
	uint32_t child;

	if (w->kind == WAIT_KIND_child && !loop_is(scene, e)) {
		child = w->argument > 0 ? tables_process(scene->tables, (uint32_t)w->argument, e->start_ns) :
			w->end == WAIT_END_THREAD && w->cause == WAKE_CAUSE_exit ? w->waker : scene_only_child(scene, e->thread, e->start_ns, e->end_ns);
		if (child)
			told = untaken_find(scene, e->thread, scene_pid(scene, child), e->end_ns);
	} else if (loop_is(scene, e) && w->kind == WAIT_KIND_sleep) {
		child = suspects_told_to_end(scene, e, &evidence);
		if (child)
			told = untaken_find(scene, e->thread, scene_pid(scene, child), e->end_ns);
	}
	if (!told || e->end_ns < told->time + limit_of(scene, LIMIT_wait_ns))
		return false;
	if (told->time > e->start_ns)
		f->hang->start_ns = told->time;
	return true;
}
