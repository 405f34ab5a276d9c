/* Which long waits are hangs: the rules of the stage HANG (rules.def), asked in their
 * order about each episode. */
#include <signal.h>

#include "diagnose/broken_off.h"
#include "diagnose/diagnoser.h"
#include "diagnose/group_limit.h"
#include "diagnose/hangs_asks.h"
#include "diagnose/hangs_away.h"
#include "diagnose/hangs_circle.h"
#include "diagnose/hangs_kept_open.h"
#include "diagnose/hangs_gave_up.h"
#include "diagnose/hangs_left_to_others.h"
#include "diagnose/hangs_loop.h"
#include "diagnose/hangs_pending.h"
#include "diagnose/hangs_rest.h"
#include "diagnose/hangs_unusual.h"
#include "diagnose/hangs_work.h"
#include "diagnose/hangs_worker.h"
#include "diagnose/kept_up.h"
#include "diagnose/kernel_place.h"
#include "diagnose/killed_before.h"
#include "diagnose/loops.h"
#include "diagnose/own_ends.h"
#include "diagnose/tries.h"
#include "diagnose/word_lock.h"

static bool is_datagram(uint64_t object)
{
	return object_kind(object) == OBJECT_KIND_udp || object_kind(object) == OBJECT_KIND_unix_dgram;
}

/* Waits in which a thread may await an answer. Threads other than a process's
 * first wait on futexes mostly for new work; what they are late with shows in
 * those that wait for them. A thread that listens to several things, or to what wakes
 * its loop and something else, and sets no limit waits for work. */
static bool may_ask(const struct finder *f, const struct wait *w)
{
	uint64_t object = w->kind == WAIT_KIND_poll ? w->detail : w->object;
	enum end_role role;

	switch (w->kind) {
	case WAIT_KIND_futex:
	case WAIT_KIND_semaphore:
		return f->leads;
	case WAIT_KIND_connect:
		return true;
	case WAIT_KIND_read:
	case WAIT_KIND_write:
	case WAIT_KIND_poll:
	case WAIT_KIND_epoll:
	case WAIT_KIND_queue:
		role = hangs_role_in(f, w);
		if (!w->timeout_ns && ((w->kind == WAIT_KIND_poll && w->argument > 2) ||
				       (!f->leads && (w->kind == WAIT_KIND_epoll || (w->kind == WAIT_KIND_poll && w->argument > 1))) ||
				       (object_kind(object) == OBJECT_KIND_eventfd &&
					(!f->leads || (w->argument > 1 && !f->options->pid)))))
			return false;
		/* Beside the first, a thread's event loop looks up by the clock of its own timers. */
		if (!f->leads && w->kind == WAIT_KIND_epoll && hangs_is_left_alone(f))
			return false;
		/* By a pipe of its own a thread that listens for the others is told to listen to something else. */
		if (!f->leads && w->kind == WAIT_KIND_poll && !w->timeout_ns && hangs_polls_own_pair(f, w))
			return false;
		if (scene_is_pipe(w->object))
			return hangs_awaits_answer(f, w);
		/* Beside the first, a thread is there for a window server's events. */
		if (!f->leads && !w->timeout_ns && hangs_is_window_server(f, object))
			return false;
		if (object_kind(object) == OBJECT_KIND_tty || object_kind(object) == OBJECT_KIND_inotify)
			return false;
		/* Any process may be a datagram's receiver, without a connection that tells who serves. */
		if (f->scene->messages_seen && is_datagram(object) &&
		    !hangs_asked_there(f, w))
			return false;
		return role != END_SERVER && role != END_LISTENER;
	default:
		return false;
	}
}

/* A pipeline is as fast as its slowest part: a reader that works, or waits for the
 * disk, is no hang of the writer. */
static bool reader_works(const struct finder *f, const struct wait *w)
{
	const struct scene_thread *t = &f->scene->threads[w->waker];
	uint64_t resting = 0, length = w->end_ns - w->start_ns;

	if (!w->waker)
		return false;
	if (f->scene->tables->threads[w->waker].start_ns > w->start_ns + length / 2)
		return false;
	for (uint32_t i = 0; i < t->episode_count; i++) {
		const struct episode *e = &f->scene->episodes[t->episode + i];
		uint64_t from = e->start_ns > w->start_ns ? e->start_ns : w->start_ns;
		uint64_t to = e->end_ns < w->end_ns ? e->end_ns : w->end_ns;

		if (to > from && !wait_is_in_kernel(&f->scene->waits[e->last]))
			resting += to - from;
	}
	return !most_of(f->scene, resting, length);
}

/* What a program gave its own threads and children to do may take longer than what
 * others were asked for. */
static bool is_short_for_own(const struct finder *f, const struct episode *e)
{
	const struct wait *w = &f->scene->waits[e->last];

	return w->end == WAIT_END_THREAD && e->end_ns - e->start_ns < hangs_long_ns(f, LIMIT_busy_ns) && !hangs_has_windows(f) &&
	       (scene_same_process(f->scene, w->waker, e->thread) ||
		scene_descends_from(f->scene, w->waker, scene_pid(f->scene, e->thread)));
}

/* Whoever has the lock could go on all the time, and only got its share of a busy machine. */
static bool owner_shares(const struct finder *f, const struct wait *w)
{
	struct state_times times;

	scene_state_times(f->scene, w->hint, w->start_ns, w->end_ns, &times);
	return nearly_all(f->scene, times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE], w->end_ns - w->start_ns) &&
	       !hangs_works_long(f, w->hint, w->start_ns, w->end_ns, hangs_own_work_ns(f, LIMIT_wait_ns));
}

static bool waits_for_owner(const struct wait *w)
{
	return w->kind == WAIT_KIND_futex && w->hint &&
	       (w->hint_kind == HINT_KIND_mutex_owner || w->hint_kind == HINT_KIND_pi_owner || w->hint_kind == HINT_KIND_rwlock_writer);
}

/* Of a process that is stopped its first thread is named, not each. */
static bool stopped_as_a_whole(const struct finder *f, const struct episode *e)
{
	uint32_t leader = tables_process(f->scene->tables, scene_pid(f->scene, f->thread), e->start_ns);
	struct state_times times;

	if (!leader || leader == f->thread || !scene_same_process(f->scene, leader, f->thread))
		return false;
	scene_state_times(f->scene, leader, e->start_ns, e->end_ns, &times);
	return nearly_all(f->scene, times.ns[SPAN_STOPPED], e->end_ns - e->start_ns);
}

/* ---- rules, in the words of rules.def ---- */

static const struct wait *last_of(const struct finder *f, const struct episode *e)
{
	return &f->scene->waits[e->last];
}

/* To open a FIFO is to wait for whoever opens its other end, as long as that takes: it can
 * be broken off, as no wait for a file system can, nor is it one for a lease. */
static bool may_be_fifo(const struct finder *f, const struct wait *w)
{
	enum kernel_place place;

	if (w->kind != WAIT_KIND_open || w->state != TASK_STATE_sleeping || w->end == WAIT_END_SOURCE)
		return false;
	place = kernel_place_of_wait(f->diagnoser->names, f->scene->tables, w);
	return place == KERNEL_PLACE_UNKNOWN || place == KERNEL_PLACE_FIFO;
}

static bool waits_in_kernel(const struct finder *f, const struct episode *e)
{
	const struct wait *w = last_of(f, e);

	if (!wait_is_in_kernel(w) || w->kind == WAIT_KIND_file_lock || w->kind == WAIT_KIND_fuse)
		return false;
	/* a program's windows are for a person, who waits for them meanwhile */
	return !may_be_fifo(f, w) || (f->leads && hangs_has_windows(f) && rule_holds(f->scene, RULE_windows_wait));
}

static bool waits_for_file_lock(const struct finder *f, const struct episode *e)
{
	return last_of(f, e)->kind == WAIT_KIND_file_lock;
}

static bool waits_for_file_server(const struct finder *f, const struct episode *e)
{
	return last_of(f, e)->kind == WAIT_KIND_fuse;
}

static bool tries_file_lock(const struct finder *f, const struct episode *e)
{
	const struct file_lock *refused;

	if (last_of(f, e)->kind != WAIT_KIND_sleep || !loop_is(f->scene, e))
		return false;
	refused = suspects_refused_lock(f->scene, last_of(f, e), e->start_ns, e->end_ns);
	if (!refused)
		return false;
	suspects_refused_longest(f->scene, refused, e->start_ns, e->end_ns, &f->hang->start_ns, &f->hang->end_ns);
	return f->hang->end_ns - f->hang->start_ns >= hangs_long_ns(f, LIMIT_wait_ns);
}

/* One that waits there waits for an answer, if it has asked for anything. */
static bool may_be_answer(const struct finder *f, const struct episode *e)
{
	return may_ask(f, last_of(f, e)) && !hangs_rests_at(f, last_of(f, e)) && !is_short_for_own(f, e);
}

/* It listens to a pipe and looks up by its own clock, and nothing came when that was over: it listened on, or was told to end. */
static bool listens_by_clock(const struct finder *f, const struct episode *e)
{
	const struct wait *w = last_of(f, e), *next = w + 1 < f->scene->waits + scene_waits_end(f->scene, w->thread) ? w + 1 : NULL;

	if (!rule_holds(f->scene, RULE_listens_by_clock) || f->options->pid || w->kind != WAIT_KIND_poll || !scene_is_pipe(w->detail) ||
	    e->slices < limit_of(f->scene, LIMIT_loop_looks))
		return false;
	if (w->end == WAIT_END_TIMEOUT)
		return next && next->kind == w->kind && next->detail == w->detail && next->start_ns - w->end_ns <= limit_of(f->scene, LIMIT_look_ns);
	return w->cause == WAKE_CAUSE_signal && broken_off_ends_programs(scene_signal_at_end(f->scene, w));
}

/* What it asked before it slept, until its time came, is not what it waits for behind that: of that nobody may have been woken. */
static uint64_t since_last_sleep(const struct finder *f, const struct episode *e, uint64_t asked_ns)
{
	const struct episode *before = e > f->scene->episodes + f->scene->threads[e->thread].episode ? e - 1 : NULL;
	const struct wait *w = before ? last_of(f, before) : NULL;

	return w && w->kind == WAIT_KIND_sleep && w->end == WAIT_END_TIMEOUT && before->end_ns > asked_ns ? before->end_ns : asked_ns;
}

static bool is_not_answered(const struct finder *f, const struct episode *e)
{
	const struct wait *w = last_of(f, e);
	uint64_t asked;
	uint32_t awaits;
	bool outside;

	if (!may_be_answer(f, e) || hangs_ended_by_clock(f, w) || listens_by_clock(f, e) || !hangs_is_pending(f, e, &asked, &awaits, &outside))
		return false;
	/* A program's first thread may have nothing to do but to wait for the others, for ever. */
	if (!outside && (w->end != WAIT_END_THREAD || w->cause == WAKE_CAUSE_signal || scene_ended_by_signal(f->scene, w)) && hangs_is_unattended(f))
		return false;
	if (awaits && scene_same_process(f->scene, awaits, f->thread) && hangs_is_batch(f))
		return false;
	if ((!waits_for_owner(w) && hangs_own_threads_work(f, e)) || hangs_awaits_sleeper(f, e) || hangs_has_work_done(f, e) ||
	    hangs_leaves_to_program(f, e))
		return false;
	f->hang->start_ns = hangs_first_deed(f->scene, f->thread, since_last_sleep(f, e, asked), e->start_ns);
	f->hang->awaits = awaits;
	f->hang->slices = e->slices;
	/* Whoever is killed may just as well have waited for work. */
	if (w->cause == WAKE_CAUSE_signal || scene_ended_by_signal(f->scene, w))
		f->hang->weight = (uint32_t)limit_of(f->scene, LIMIT_killed_weight);
	if (waits_for_owner(w))
		f->hang->rule = RULE_lock_kept;
	return true;
}

/* As its connection was looked at in the wait nobody had the other end, and somebody listens where it leads. It listens to that, or to what its
 * own threads wake it by, and one connection more; so does an event loop. */
static bool is_not_accepted(const struct finder *f, const struct episode *e)
{
	const struct wait *w = last_of(f, e);
	bool beside = w->kind == WAIT_KIND_poll && w->argument == 2 && hangs_polls_own_pair(f, w);
	bool loops = w->kind == WAIT_KIND_epoll && f->leads && rule_holds(f->scene, RULE_loop_not_accepted);
	uint32_t pid = scene_pid(f->scene, w->thread);
	struct row row = loops ? ends_begun_by(f->ends, pid) : ends_of_process(f->ends, pid);

	if (w->kind != WAIT_KIND_connect && w->kind != WAIT_KIND_read && w->kind != WAIT_KIND_poll && !loops)
		return false;
	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *d = ends_at(f->ends, row, i);

		if ((beside || loops || d->at.object == hangs_listened_to(w)) && d->time > e->start_ns && d->time < e->end_ns && ends_listener(f->ends, d) &&
		    (ends_not_accepted(f->ends, d) || ends_kept_out(f->ends, d) || ends_lost(f->ends, d)) &&
		    (!loops || own_ends_only_client(f->scene, f->ends, w) == d->at.object))
			return true;
	}
	return false;
}

/* Whoever has been stopped for longer than the recording was put aside by somebody, and nobody seen then had it go on, or a person had, who had
 * pressed the key for that at its terminal. */
static bool is_put_aside(const struct finder *f, const struct episode *e)
{
	const struct wait *w = last_of(f, e);

	return !f->options->pid && hangs_stood_before(f, e) &&
	       (w->end == WAIT_END_OPEN || (w->argument == SIGTSTP && rule_holds(f->scene, RULE_put_aside)));
}

static bool is_stopped(const struct finder *f, const struct episode *e)
{
	if (last_of(f, e)->kind != WAIT_KIND_stop || stopped_as_a_whole(f, e) || hangs_was_suspended(f, e))
		return false;
	if (is_put_aside(f, e))
		f->hang->weight = (uint32_t)limit_of(f->scene, LIMIT_put_aside_weight);
	return true;
}

/* A lock of any kind whose holder is known. */
static bool is_lock_kept(const struct finder *f, const struct episode *e)
{
	const struct wait *w = last_of(f, e);
	bool of_file = w->kind == WAIT_KIND_file_lock && w->hint && w->hint_kind == HINT_KIND_file_lock_owner;

	return (of_file || waits_for_owner(w)) && !owner_shares(f, w);
}

static bool is_at_terminal(const struct wait *w)
{
	return object_kind(w->kind == WAIT_KIND_poll ? w->detail : w->object) == OBJECT_KIND_tty;
}

/* Who took it in the end was itself held up by one whose pipe it fills, and so on, up to a pager whose reader thinks. */
static bool leads_to_person(const struct finder *f, const struct wait *w)
{
	uint64_t middle = w->start_ns + (w->end_ns - w->start_ns) / 2;
	const struct wait *at = w;

	for (unsigned depth = 0; depth < FOLLOW_MAX_BACK && at && at->end == WAIT_END_THREAD &&
	     (at->kind == WAIT_KIND_write || (at->kind == WAIT_KIND_poll && (!at->detail || scene_is_pipe(at->detail)))); depth++) {
		const struct episode *its = scene_episode(f->scene, at->waker, middle);

		at = its && its->start_ns <= middle ? &f->scene->waits[its->last] : NULL;
		if (at && is_at_terminal(at))
			return true;
	}
	return false;
}

/* Who takes it in the end, through others that write or poll in turn, had work to do for most of the time: a pipeline is as fast as its slowest
 * part. */
static bool leads_to_work(const struct finder *f, const struct wait *w)
{
	uint64_t middle = w->start_ns + (w->end_ns - w->start_ns) / 2;
	const struct wait *at = w;
	struct state_times times;

	for (unsigned depth = 0; depth < FOLLOW_MAX_BACK && at->end == WAIT_END_THREAD && hangs_is_unattended(f) &&
	     (at->kind == WAIT_KIND_write || at->kind == WAIT_KIND_poll); depth++) {
		const struct episode *its = scene_episode(f->scene, at->waker, middle);

		scene_state_times(f->scene, at->waker, w->start_ns, w->end_ns, &times);
		if (most_of(f->scene, times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE], w->end_ns - w->start_ns))
			return true;
		if (!its || its->start_ns > middle || its->end_ns <= middle)
			return false;
		at = &f->scene->waits[its->last];
	}
	return false;
}

/* A pager at the pipe's other end, whose reader thinks. */
static bool is_read_by_person(const struct finder *f, const struct wait *w)
{
	struct row row = ends_of_object(f->ends, w->object);
	uint64_t middle = w->start_ns + (w->end_ns - w->start_ns) / 2;

	for (uint32_t i = 0; i < row.count && scene_is_pipe(w->object); i++) {
		uint32_t first = tables_process(f->scene->tables, ends_at(f->ends, row, i)->pid, middle);
		const struct episode *its = first ? scene_episode(f->scene, first, middle) : NULL;
		const struct wait *at = its ? &f->scene->waits[its->last] : NULL;

		if (at && is_at_terminal(at))
			return true;
	}
	return scene_is_pipe(w->object) && leads_to_person(f, w);
}

/* A pipeline's parts wait for each other for a while by design; and a client takes what a server sends at its own pace. */
static bool is_not_taken(const struct finder *f, const struct episode *e)
{
	const struct wait *w = last_of(f, e);
	uint64_t asked = hangs_long_ns(f, LIMIT_wait_ns), usual = limit_of(f->scene, LIMIT_wait_ns);

	/* who was to take it left: nobody asked for it any more */
	if (hangs_is_unattended(f) && w->cause == WAKE_CAUSE_exit)
		return false;
	if (w->kind != WAIT_KIND_write || w->end_ns - w->start_ns < limit_of(f->scene, LIMIT_pipe_waits) * (asked < usual ? asked : usual))
		return false;
	return !(hangs_is_unattended(f) && hangs_role_in(f, w) == END_SERVER) && (f->options->pid || !is_read_by_person(f, w)) &&
	       ((!reader_works(f, w) && !leads_to_work(f, w)) || kept_up_before(f, e));
}

static bool is_held_up(const struct finder *f, const struct episode *e)
{
	const struct wait *w = last_of(f, e);
	const struct place *p = hangs_place_of(f, w);

	if (waits_for_owner(w) || w->kind == WAIT_KIND_write || is_short_for_own(f, e) || !f->leads || !p ||
	    p->visits >= limit_of(f->scene, LIMIT_rest_visits) || hangs_rests_at(f, w))
		return false;
	if (hangs_own_threads_work(f, e) || hangs_awaits_sleeper(f, e) || hangs_leaves_to_program(f, e))
		return false;
	if (hangs_is_batch(f) && w->end == WAIT_END_THREAD && scene_same_process(f->scene, w->waker, f->thread) &&
	    hangs_works_long(f, w->waker, e->start_ns, e->end_ns, hangs_own_work_ns(f, LIMIT_wait_ns)))
		return false;
	/* whether it had worked, and waits for that, lies before the recording; nobody rests in a lock */
	if (hangs_is_unattended(f) && hangs_stood_before(f, e) && rule_holds(f->scene, RULE_may_rest) &&
	    !word_lock_named(f->diagnoser->names, f->scene->tables, w))
		f->hang->meant = RULE_may_rest;
	if (hangs_is_unattended(f) && rule_holds(f->scene, RULE_may_rest) && hangs_threads_take_turns(f, w))
		f->hang->meant = RULE_may_rest;
	if ((w->kind == WAIT_KIND_futex || w->kind == WAIT_KIND_semaphore) && w->end == WAIT_END_THREAD &&
	    w->cause != WAKE_CAUSE_signal && w->hint_kind != HINT_KIND_thread_exit && !hangs_left_to_others(f, e))
		return true;
	return hangs_is_condition(f, e);
}

/* Nobody asks about who does so by design: it gets it at last, and does not try for ever. */
static bool tries_for_what_is_there(const struct finder *f, const struct episode *e)
{
	const struct thread *t = &f->scene->tables->threads[f->thread];
	struct tries tries;

	if (!tries_find(f->scene, e, &tries))
		return false;
	if (f->options->pid)
		return tries.next || last_of(f, e)->end == WAIT_END_OPEN || e->slices >= limit_of(f->scene, LIMIT_try_sleeps);
	return e->slices >= limit_of(f->scene, LIMIT_try_sleeps) &&
	       (tries_came(&tries) || (t->exit_code > 0xff && t->end_ns <= e->end_ns + limit_of(f->scene, LIMIT_fails_ns)));
}

static bool starts_no_other(const struct finder *f, const struct episode *e)
{
	return f->leads && group_limit_refuses(f->scene, e);
}

static bool looks_for_left(const struct finder *f, const struct episode *e)
{
	struct killed_before killed;

	return f->leads && loop_is(f->scene, e) && killed_before_loop(f->scene, e, e->end_ns, &killed) && killed.made;
}

static bool looks_for_answer(const struct finder *f, const struct episode *e)
{
	uint64_t event, begin_ns;

	if (last_of(f, e)->kind == WAIT_KIND_yield || !loop_is(f->scene, e) || !loop_asked(f->scene, e, &event, &begin_ns))
		return false;
	f->hang->start_ns = begin_ns;
	return true;
}

static bool looks_in_vain(const struct finder *f, const struct episode *e)
{
	if (hangs_flag_came(f, e))
		return true;
	if (!hangs_looks_in_vain(f, e))
		return false;
	/* beside what a person asks about a thread may look now and then all its life */
	if (f->options->pid && !f->leads && hangs_looks_all_along(f, e))
		f->hang->weight = (uint32_t)limit_of(f->scene, LIMIT_all_along_weight);
	return true;
}

/* What it sent over a connection that it began lies there untaken. */
static bool is_left_unsent(const struct finder *f, const struct wait *w)
{
	struct row row = ends_of_process(f->ends, scene_pid(f->scene, w->thread));

	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *d = ends_at(f->ends, row, i);

		if (d->at.unsent && d->time >= w->start_ns && d->time <= w->end_ns && ends_role(f->ends, d->at.object) == END_CLIENT)
			return true;
	}
	return false;
}

/* Its server, that has others to serve meanwhile, shows nothing of it. Who is killed was not answered, as one that waits for news. */
static bool is_late_command(const struct finder *f, const struct episode *e)
{
	const struct wait *w = last_of(f, e);
	const struct thread *t = &f->scene->tables->threads[w->thread];

	if (f->options->pid || !f->leads || w->end != WAIT_END_THREAD || (w->kind != WAIT_KIND_read && w->kind != WAIT_KIND_poll) ||
	    w->cause == WAKE_CAUSE_signal || scene_ended_by_signal(f->scene, w) || t->end_ns >= f->scene->end_ns ||
	    hangs_role_in(f, w) != END_CLIENT || hangs_has_windows(f) || hangs_ended_by_clock(f, w))
		return false;
	return (e->end_ns - e->start_ns) * 100 > limit_of(f->scene, LIMIT_life) * (t->end_ns - t->start_ns) &&
	       hangs_asked_just_before(f->scene, e->thread, e) && !hangs_listened_back(f, w->waker, e) && !hangs_has_work_done(f, e);
}

/* A consumer whose producers are gone. */
static bool givers_ended(const struct finder *f, const struct wait *w)
{
	const struct scene *scene = f->scene;
	bool found = false;

	if (!rule_holds(scene, RULE_givers_ended) || (w->kind != WAIT_KIND_futex && w->kind != WAIT_KIND_poll) || w->end != WAIT_END_OPEN || wait_is_shared(w))
		return false;
	for (uint32_t i = scene_waits_from(scene, w->thread, 0); &scene->waits[i] < w; i++) {
		const struct wait *before = &scene->waits[i];

		if (before->kind != w->kind || before->site != w->site || before->end != WAIT_END_THREAD)
			continue;
		if (!scene_same_process(scene, before->waker, w->thread) || scene->tables->threads[before->waker].end_ns >= scene->end_ns)
			return false;
		found = true;
	}
	return found;
}

/* By how long it lasted it was not as all others there, in a call for one thing, and who ended it had been woken just before. */
static bool is_unlike_others(const struct finder *f, const struct episode *e)
{
	const struct wait *w = last_of(f, e);
	const struct place *p = hangs_place_of(f, w);

	return rule_holds(f->scene, RULE_unlike_others) && w->kind == WAIT_KIND_read && p && p->visits > limit_of(f->scene, LIMIT_trips) &&
	       e->end_ns - e->start_ns > p->next_ns * limit_of(f->scene, LIMIT_trips_late) && hangs_role_in(f, w) == END_UNKNOWN &&
	       hangs_woke_who_ended(f, w);
}

/* When a person says that the process hung, any long wait is worth explaining but
 * that for new work, and sleeping by design. */
static bool is_worth_asking(const struct finder *f, const struct episode *e)
{
	const struct wait *w = last_of(f, e);

	if (f->options->pid && f->leads && givers_ended(f, w))
		return true;
	if (!f->options->pid || w->kind == WAIT_KIND_worker || hangs_is_worked_on(f, e) || hangs_is_left_to_others(f, e))
		return false;
	/* Of a pool's threads one that opens what does not answer keeps the pool's work. */
	if (!f->leads)
		return w->kind == WAIT_KIND_open || (w->kind == WAIT_KIND_sleep && hangs_looks_in_vain(f, &f->scene->episodes[w->episode]));
	if (w->kind == WAIT_KIND_read && scene_is_pipe(w->object))
		return true;
	if (w->kind == WAIT_KIND_poll && is_left_unsent(f, w))
		return true;
	/* of a script: it waits in a loop for one signal after the other, of its children too */
	if (w->kind == WAIT_KIND_signal && w->end == WAIT_END_THREAD && scene_has_started(f->scene, w->thread, w->waker))
		return true;
	if (is_unlike_others(f, e))
		return true;
	if (hangs_rests_at(f, w))
		return false;
	/* until an alarm of its own: a sleep, too */
	if (w->kind == WAIT_KIND_signal && w->end == WAIT_END_SOURCE && w->cause == WAKE_CAUSE_timer)
		return false;
	if (w->kind == WAIT_KIND_sleep && loop_is_short(f->scene, &f->scene->episodes[w->episode]))
		return true;
	if (w->kind == WAIT_KIND_sleep)
		return loop_is(f->scene, &f->scene->episodes[w->episode]) &&
		       f->scene->episodes[w->episode].slices >= limit_of(f->scene, LIMIT_looks_least);
	if (w->kind == WAIT_KIND_epoll || w->kind == WAIT_KIND_accept)
		return false;
	if (w->kind == WAIT_KIND_read || w->kind == WAIT_KIND_poll)
		return hangs_role_in(f, w) != END_SERVER && hangs_role_in(f, w) != END_LISTENER &&
		       (w->kind == WAIT_KIND_read || w->argument <= 1 ||
			(w->argument == 2 && !hangs_is_window_server(f, w->detail) && (hangs_asks_over(f, e) || hangs_awaits_answer(f, w))));
	return true;
}

/* A loop at rest awaits nothing of a process that is stopped, unless that is its own
 * helper, or a person says that it hung: then what it is connected to counts, too, though that one never woke it. */
static bool waits_for_stopped(const struct finder *f, const struct episode *e)
{
	const struct wait *w = &f->scene->waits[e->last];
	uint64_t from_ns;
	bool own_child;

	/* There a file system's server waits for requests. */
	if (object_kind(w->object) == OBJECT_KIND_fuse)
		return false;
	if (w->kind != WAIT_KIND_read && w->kind != WAIT_KIND_write && w->kind != WAIT_KIND_poll && w->kind != WAIT_KIND_epoll)
		return false;
	if (hangs_waits_for_stopped(f, e, &own_child, &from_ns) && (own_child || f->options->pid)) {
		/* until then it listened, as it always does */
		if (from_ns - e->start_ns > part_of(f->scene, LIMIT_edge, e->end_ns - e->start_ns) && e->end_ns - from_ns >= hangs_long_ns(f, LIMIT_wait_ns))
			f->hang->start_ns = from_ns;
		return true;
	}
	return (f->options->pid && hangs_server_stopped(f, e, &f->hang->start_ns, &f->hang->end_ns));
}

static const struct {
	enum rule_id rule;
	bool (*holds)(const struct finder *f, const struct episode *e);
} hang_rules[] = {
#define RULE_OF_HANG(name, function) { RULE_##name, function },
#include "diagnose/rules.def"
};

/* It waited as it ended, and its number is another's by now: it was gone before that, though nothing tells when. */
static bool is_gone(const struct finder *f, const struct episode *e)
{
	const struct thread *threads = f->scene->tables->threads, *t = &threads[f->thread];

	/* they lie in the order of their births */
	for (uint32_t i = f->thread + 1; t->end_ns <= e->start_ns && last_of(f, e)->end == WAIT_END_OPEN && i < f->scene->thread_count; i++)
		if (threads[i].tid == t->tid)
			return true;
	return false;
}

/* How long it waits; for a person who asks also before the recording, of which a short part of a long hang is enough. */
static uint64_t length_of(const struct finder *f, const struct episode *e)
{
	const struct wait *w = last_of(f, e);

	if (f->options->pid && w->end == WAIT_END_OPEN && w->start_ns < e->start_ns && hangs_stood_before(f, e) && rule_holds(f->scene, RULE_stood_for_longer))
		return e->end_ns - w->start_ns;
	return e->end_ns - e->start_ns;
}

bool hangs_judge_wait(struct finder *f, const struct episode *e, struct hang *ret_hang)
{
	if (length_of(f, e) < hangs_long_ns(f, LIMIT_wait_ns) || (last_of(f, e)->idle && rule_holds(f->scene, RULE_marked_idle)) || is_gone(f, e))
		return false;
	f->hang = ret_hang;
	for (size_t i = 0; i < sizeof(hang_rules) / sizeof(*hang_rules); i++) {
		const struct rule_info *info = &rule_infos[hang_rules[i].rule];

		if (!hang_rules[i].holds || !rule_holds(f->scene, hang_rules[i].rule))
			continue;
		*ret_hang = (struct hang){ .thread = f->thread, .start_ns = e->start_ns, .end_ns = e->end_ns, .weight = info->weight,
					   .rule = hang_rules[i].rule };
		if (hang_rules[i].holds(f, e))
			return !hangs_goes_on(f, e);
	}
	return false;
}
