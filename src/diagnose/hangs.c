/* Finding hangs, see hangs.h.
 *
 * Each finder looks at one thread for one kind of hang and offers stretches with
 * a weight. Of stretches of one thread that overlap the most severe stays; pieces of
 * work that adjoin become one.
 * The order is by weight times length. */
#include "diagnose/hangs.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "diagnose/hangs_away.h"
#include "diagnose/hangs_loop.h"
#include "diagnose/hangs_outer.h"
#include "diagnose/hangs_pending.h"
#include "diagnose/hangs_rank.h"
#include "diagnose/hangs_rest.h"
#include "diagnose/loops.h"
#include "diagnose/starved.h"

#define TURN_NS 1000000000ull      /* a turn of an event loop */
#define STARVED_NS 1200000000ull

static void offer(struct finder *f, uint64_t from, uint64_t to, uint32_t weight, const char *reason)
{
	vec_push(&f->hangs, ((struct hang){ f->thread, from, to, reason, weight, 0 }));
}

/* ---- silence ---- */

/* True when something was sent to the thread during the stretch that it read only
 * behind it, long after. */
static bool left_unread(const struct finder *f, uint64_t from, uint64_t to)
{
	const struct scene *scene = f->scene;
	const struct scene_thread *t = &scene->threads[f->thread];

	for (uint32_t i = scene_messages_from(scene, f->thread, to), n = 0; i < t->messages.count && n < 20; i++, n++) {
		const struct message m = scene_message(scene, t->messages.items[i]);
		const struct row *row = m.flags & MESSAGE_FLAGS_receive ? scene_channel(scene, m.channel) : NULL;

		if (m.time > to + 100000000)
			break;
		for (uint32_t j = row ? scene_channel_from(scene, row, from) : 0; row && j < row->count; j++) {
			const struct message sent = scene_message(scene, row->items[j]);

			if (sent.time + HANGS_WAIT_NS >= to)
				break;
			if (!(sent.flags & MESSAGE_FLAGS_receive) && sent.result > 0)
				return true;
		}
	}
	return false;
}

/* A computation that is shared out among threads of the process: a batch, not stuck. */
static bool works_together(const struct finder *f, uint64_t from, uint64_t to)
{
	const struct scene *scene = f->scene;

	for (uint32_t i = 1; i < scene->thread_count; i++) {
		struct state_times times;

		if (i == f->thread || !scene_same_process(scene, i, f->thread))
			continue;
		scene_state_times(scene, i, from, to, &times);
		if ((times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE]) * 2 > to - from && times.ns[SPAN_RUNNING] * 3 > to - from)
			return true;
	}
	return false;
}

/* A stretch in which the thread gave no sign of life to anybody. */
static void judge_silence(struct finder *f, uint64_t from, uint64_t to, uint32_t weight)
{
	struct state_times times;

	if (to - from < hangs_threshold(f, HANGS_BUSY_NS))
		return;
	scene_state_times(f->scene, f->thread, from, to, &times);
	if ((times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE]) * 10 < (to - from) * 9)
		return;
	/* On a busy machine much takes long; its own work must be long too. */
	if (times.ns[SPAN_RUNNING] < hangs_threshold(f, HANGS_BUSY_NS) * 3 / 4)
		return;
	/* Looking at a flag is no work. */
	if (times.ns[SPAN_RUNNABLE] > times.ns[SPAN_RUNNING] &&
	    times.ns[SPAN_RUNNING] * diagnoser_work_share(f->diagnoser, f->thread, from, to) / 100 <
		    hangs_threshold(f, HANGS_BUSY_NS) * 3 / 4)
		return;
	if (left_unread(f, from, to))
		offer(f, from, to, 90, hang_unread);
	else if (f->scene->tables->threads[f->thread].tid == f->scene->tables->threads[f->thread].pid &&
		 (weight > 50 || !works_together(f, from, to)))
		offer(f, from, to, weight, weight > 50 ? hang_turn : hang_computes);
}

static bool is_sign(const struct scene *scene, const struct wake *k)
{
	return !scene_same_process(scene, k->waker, k->target) && !scene_is_system(scene, k->target);
}

/* Wake-ups of other processes and messages are signs of life; between them is silence. Signs
 * are many, so each step goes to the last one that comes before a silence would be
 * long. */
static void find_silences(struct finder *f, uint64_t from, uint64_t to, uint32_t weight)
{
	const struct scene *scene = f->scene;
	const struct row *messages = &scene->threads[f->thread].messages;
	uint32_t wake = scene_wakes_from(scene, f->thread, from), message = scene_messages_from(scene, f->thread, from);
	uint64_t long_ns = hangs_threshold(f, HANGS_BUSY_NS) ? hangs_threshold(f, HANGS_BUSY_NS) : 1, previous = from, next = from;

	for (; previous < to && next < to; previous = next) {
		uint64_t limit = to - previous < long_ns ? to : previous + long_ns, last = previous;
		uint32_t wakes_end = scene_wakes_end(scene, f->thread), high = wakes_end, before = wake;

		SEARCH(wake, high, middle, scene->wakes[middle].time < limit);
		for (uint32_t i = wake; i > before; i--)
			if (is_sign(scene, &scene->wakes[i - 1])) {
				last = scene->wakes[i - 1].time;
				break;
			}
		before = message;
		high = messages->count;
		SEARCH(message, high, middle, scene->messages[messages->items[middle]].time < limit);
		if (message > before && scene->messages[messages->items[message - 1]].time > last)
			last = scene->messages[messages->items[message - 1]].time;
		next = last;
		if (last > previous)
			continue;
		while (wake < wakes_end && !is_sign(scene, &scene->wakes[wake]))
			wake++;
		next = to;
		if (wake < wakes_end && scene->wakes[wake].time < next)
			next = scene->wakes[wake].time;
		if (message < messages->count && scene->messages[messages->items[message]].time < next)
			next = scene->messages[messages->items[message]].time;
		judge_silence(f, previous, next, weight);
	}
}

/* ---- event loops ---- */

/* A long turn, and how much of it was spent in what counts. */
static void offer_turn(struct finder *f, uint64_t from, uint64_t to, bool ended)
{
	struct state_times times;
	uint64_t length = to - from;

	if (length < hangs_threshold(f, TURN_NS))
		return;
	scene_state_times(f->scene, f->thread, from, to, &times);
	if (times.ns[SPAN_STOPPED] * 2 > length || times.ns[SPAN_UNKNOWN] * 2 > length)
		return;
	/* A loop that never has to wait makes many turns in one stretch: what counts is
	 * how long it gave no sign of life. */
	if (times.ns[SPAN_WAITING] * 2 < length) {
		find_silences(f, from, to, 60);
		return;
	}
	offer(f, from, to, ended ? 90 : 80, hang_turn);
}

static bool sleeps_most(const struct finder *f, uint64_t from, uint64_t to)
{
	const struct scene_thread *t = &f->scene->threads[f->thread];
	uint64_t sleeping = 0;

	/* A person waits for its loop, also while that waits for a child. */
	if (hangs_has_windows(f))
		return false;
	for (uint32_t i = 0; i < t->episode_count; i++) {
		const struct episode *e = &f->scene->episodes[t->episode + i];
		const struct wait *w = &f->scene->waits[e->last];
		bool input = w->kind == WAIT_KIND_read && (scene_is_pipe(w->object) || object_kind(w->object) == OBJECT_KIND_tty);

		if (e->start_ns >= from && e->end_ns <= to &&
		    (w->kind == WAIT_KIND_sleep || w->kind == WAIT_KIND_child || input))
			sleeping += e->end_ns - e->start_ns;
	}
	return sleeping * 2 > to - from;
}

/* It came back there often enough to be one loop. */
static bool is_loop_at(const struct finder *f, const struct episode *e)
{
	const struct wait *w = &f->scene->waits[e->last];
	const struct place *p = hangs_place_of(f, w);

	return w->kind == WAIT_KIND_epoll || (p && p->visits >= HANGS_REST_VISITS);
}

static void find_turns(struct finder *f)
{
	const struct scene_thread *t = &f->scene->threads[f->thread];
	const struct thread *about = &f->scene->tables->threads[f->thread];
	const struct episode *last = NULL;
	uint64_t begin = 0, end = 0, over; /* of adjoining long turns */
	uint64_t inner = 0;                /* since when the loop has been called again */

	/* The loop that people and clients wait for is a process's first thread; how
	 * late others are shows in those that wait for them. Between two loops, one after
	 * the other, there is no turn; a loop inside a turn that listens to the same, as a
	 * dialog's does, ends it. */
	if (about->tid != about->pid)
		return;

	for (uint32_t i = 0; i < t->episode_count; i++) {
		const struct episode *e = &f->scene->episodes[t->episode + i];
		uint8_t kind = f->scene->waits[e->last].kind;
		bool rests;

		if (kind != WAIT_KIND_poll && kind != WAIT_KIND_epoll)
			continue;
		rests = hangs_rests_at(f, &f->scene->waits[e->last]);
		if (!rests && !(last && hangs_same_loop(f, last, e)))
			continue;
		/* Not a dialog that a person closed, but a wait for somebody who was away. */
		if (rests && inner && hangs_ended_by_return(f, last, inner))
			offer_turn(f, inner, last->end_ns, true);
		if (rests)
			inner = 0;
		else if (!inner)
			inner = last->end_ns;
		if (last && hangs_same_loop(f, last, e) &&
		    e->start_ns - last->end_ns >= TURN_NS / 2 && !sleeps_most(f, last->end_ns, e->start_ns)) {
			/* Turns with only a glance at the loop between them are one hang. */
			if (begin && (last->end_ns - last->start_ns) * 10 < e->start_ns - last->end_ns && last->start_ns == end) {
				end = e->start_ns;
			} else {
				if (begin)
					offer_turn(f, begin, end, true);
				begin = last->end_ns;
				end = e->start_ns;
			}
		}
		last = e;
	}
	if (begin)
		offer_turn(f, begin, end, true);
	/* It never came back to its rest. */
	over = about->end_ns;
	if (over > f->scene->end_ns)
		over = f->scene->end_ns;
	if (last && is_loop_at(f, last) && last->end_ns < over && !sleeps_most(f, last->end_ns, over))
		offer_turn(f, last->end_ns, over, false);
}

/* ---- answers that do not come ---- */

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
	const struct thread *t = &f->scene->tables->threads[w->thread];
	uint64_t object = w->kind == WAIT_KIND_poll ? w->detail : w->object;
	enum end_role role;

	switch (w->kind) {
	case WAIT_KIND_futex:
	case WAIT_KIND_semaphore:
		return t->tid == t->pid;
	case WAIT_KIND_connect:
		return true;
	case WAIT_KIND_read:
	case WAIT_KIND_write:
	case WAIT_KIND_poll:
	case WAIT_KIND_epoll:
	case WAIT_KIND_queue:
		role = hangs_role_in(f, w);
		if (!w->timeout_ns && ((w->kind == WAIT_KIND_poll && w->argument > 2) ||
				       (t->tid != t->pid && (w->kind == WAIT_KIND_epoll || w->argument > 1)) ||
				       (object_kind(object) == OBJECT_KIND_eventfd &&
					(t->tid != t->pid || (w->argument > 1 && !f->options->pid)))))
			return false;
		if (scene_is_pipe(w->object))
			return hangs_awaits_answer(f, w);
		/* Beside the first, a thread is there for a window server's events. */
		if (t->tid != t->pid && !w->timeout_ns && hangs_is_window_server(f, object))
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

/* Waits inside the kernel on whose end nothing in the program depends: none of
 * them should take a second. */
static bool never_long(uint8_t kind)
{
	return kind == WAIT_KIND_vfork || kind == WAIT_KIND_fuse || kind == WAIT_KIND_file_lock ||
	       kind == WAIT_KIND_kernel_lock || kind == WAIT_KIND_block_io || kind == WAIT_KIND_sync ||
	       kind == WAIT_KIND_open || kind == WAIT_KIND_fault;
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
		uint8_t kind = f->scene->waits[e->last].kind;

		if (to > from && !never_long(kind))
			resting += to - from;
	}
	return resting * 2 < length;
}

/* What a program gave its own threads and children to do may take longer than what
 * others were asked for. */
static bool is_short_for_own(const struct finder *f, const struct episode *e)
{
	const struct wait *w = &f->scene->waits[e->last];

	return w->end == WAIT_END_THREAD && e->end_ns - e->start_ns < hangs_threshold(f, HANGS_BUSY_NS) && !hangs_has_windows(f) &&
	       (scene_same_process(f->scene, w->waker, e->thread) ||
		scene_descends_from(f->scene, w->waker, scene_pid(f->scene, e->thread)));
}

/* Whoever has the lock could go on all the time, and only got its share of a busy machine. */
static bool owner_shares(const struct finder *f, const struct wait *w)
{
	struct state_times times;

	scene_state_times(f->scene, w->hint, w->start_ns, w->end_ns, &times);
	return (times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE]) * 10 > (w->end_ns - w->start_ns) * 9 &&
	       !hangs_works_long(f, w->hint, w->start_ns, w->end_ns, hangs_threshold(f, HANGS_WAIT_NS) * 3 / 4);
}

static bool waits_for_owner(const struct wait *w)
{
	return w->kind == WAIT_KIND_futex && w->hint &&
	       (w->hint_kind == HINT_KIND_mutex_owner || w->hint_kind == HINT_KIND_pi_owner || w->hint_kind == HINT_KIND_rwlock_writer);
}

/* Waits that may be a hang though nothing shows that the thread asked for it: for
 * a lock that another held, for room in a pipe. */
static const char *held_up(const struct finder *f, const struct episode *e)
{
	const struct wait *w = &f->scene->waits[e->last];
	const struct thread *t = &f->scene->tables->threads[w->thread];
	const struct place *p = hangs_place_of(f, w);

	/* A pipeline's parts wait for each other for a while by design. */
	if (waits_for_owner(w))
		return owner_shares(f, w) ? NULL : "it waited for a lock";
	if (w->kind == WAIT_KIND_write)
		return reader_works(f, w) || w->end_ns - w->start_ns < 4 * hangs_threshold(f, HANGS_WAIT_NS) ? NULL : "what it writes was not taken";
	if (is_short_for_own(f, e))
		return NULL;
	if ((w->kind == WAIT_KIND_futex || w->kind == WAIT_KIND_semaphore) && t->tid == t->pid && p && p->visits <= 2 &&
	    w->end == WAIT_END_THREAD && w->cause != WAKE_CAUSE_signal && w->hint_kind != HINT_KIND_thread_exit && !hangs_left_to_others(f, e))
		return "it waited for a lock or a condition";
	if (t->tid == t->pid && p && p->visits <= 2 && hangs_is_condition(f, e))
		return "it waited for a lock or a condition";
	return NULL;
}

/* When a person says that the process hung, any long wait is worth explaining but
 * that for new work, and sleeping by design. */
static bool worth_asking(const struct finder *f, const struct wait *w)
{
	const struct thread *t = &f->scene->tables->threads[w->thread];

	if (!f->options->pid || w->kind == WAIT_KIND_worker)
		return false;
	if (t->tid != t->pid)
		return w->kind == WAIT_KIND_sleep && hangs_looks_in_vain(f, &f->scene->episodes[w->episode]);
	if (w->kind == WAIT_KIND_read && scene_is_pipe(w->object))
		return true;
	if (hangs_rests_at(f, w))
		return false;
	/* until an alarm of its own: a sleep, too */
	if (w->kind == WAIT_KIND_signal && w->end == WAIT_END_SOURCE && w->cause == WAKE_CAUSE_timer)
		return false;
	if (w->kind == WAIT_KIND_sleep)
		return loop_is(f->scene, &f->scene->episodes[w->episode]) &&
		       f->scene->episodes[w->episode].slices >= 5;
	if (w->kind == WAIT_KIND_epoll || w->kind == WAIT_KIND_accept)
		return false;
	if (w->kind == WAIT_KIND_read || w->kind == WAIT_KIND_poll)
		return hangs_role_in(f, w) != END_SERVER && hangs_role_in(f, w) != END_LISTENER &&
		       (w->kind == WAIT_KIND_read || w->argument <= 1 ||
			(w->argument == 2 && hangs_role_in(f, w) == END_CLIENT));
	return true;
}

/* A loop at rest awaits nothing of a process that is stopped, unless that is its own
 * helper, or a person says that it hung. */
static bool waits_for_stopped(const struct finder *f, const struct episode *e)
{
	const struct wait *w = &f->scene->waits[e->last];
	bool own_child;

	/* There a file system's server waits for requests. */
	if (object_kind(w->object) == OBJECT_KIND_fuse)
		return false;
	return (w->kind == WAIT_KIND_read || w->kind == WAIT_KIND_write || w->kind == WAIT_KIND_poll || w->kind == WAIT_KIND_epoll) &&
	       hangs_waits_for_stopped(f, e, &own_child) && (own_child || f->options->pid);
}

/* Of a process that is stopped its first thread is named, not each. */
static bool stopped_as_a_whole(const struct finder *f, const struct episode *e)
{
	uint32_t leader = tables_process(f->scene->tables, scene_pid(f->scene, f->thread), e->start_ns);
	struct state_times times;

	if (!leader || leader == f->thread || !scene_same_process(f->scene, leader, f->thread))
		return false;
	scene_state_times(f->scene, leader, e->start_ns, e->end_ns, &times);
	return times.ns[SPAN_STOPPED] * 10 > (e->end_ns - e->start_ns) * 9;
}

/* Who sends to it does next to nothing but sleep. */
static bool sender_sleeps(const struct finder *f, const struct wait *w, uint64_t from, uint64_t to)
{
	const struct scene *scene = f->scene;
	uint64_t slept = 0;

	if (w->end != WAIT_END_THREAD || scene_same_process(scene, w->waker, f->thread) || hangs_has_windows(f))
		return false;
	for (uint32_t i = scene_waits_from(scene, w->waker, from); i < scene_waits_end(scene, w->waker); i++) {
		const struct wait *its = &scene->waits[i];

		if (its->start_ns >= to)
			break;
		if (its->kind == WAIT_KIND_sleep)
			slept += (its->end_ns < to ? its->end_ns : to) - its->start_ns;
	}
	return slept * 5 > (to - from) * 4;
}

/* An answer that comes in drops: short waits in a row on one connection, with next to
 * nothing between them. A long download looks the same, and so do the events of a window,
 * and what comes through a pipe may be work: a person must ask, or the one that sends be
 * seen to sleep between the drops. */
static void find_drips(struct finder *f)
{
	const struct scene_thread *t = &f->scene->threads[f->thread];
	const struct thread *about = &f->scene->tables->threads[f->thread];
	const struct wait *first = NULL;
	uint64_t begin = 0, end = 0;
	bool piped;

	if (about->tid != about->pid || (f->options->pid && hangs_has_windows(f)))
		return;
	for (uint32_t i = 0; i <= t->episode_count; i++) {
		const struct episode *e = i < t->episode_count ? &f->scene->episodes[t->episode + i] : NULL;
		const struct wait *w = e ? &f->scene->waits[e->last] : NULL;

		if (first && e && w->kind == first->kind && w->object == first->object && w->detail == first->detail &&
		    e->start_ns - end <= (end - begin) / 10 + 1000000) {
			end = e->end_ns;
			continue;
		}
		piped = first && f->options->pid && scene_is_pipe(first->kind == WAIT_KIND_poll ? first->detail : first->object);
		if (first && end - begin >= hangs_threshold(f, HANGS_BUSY_NS) && (piped || hangs_role_in(f, first) == END_CLIENT) &&
		    (f->options->pid || sender_sleeps(f, first, begin, end)))
			offer(f, begin, end, 40, hang_pieces);
		first = w && (w->kind == WAIT_KIND_read || w->kind == WAIT_KIND_poll) ? w : NULL;
		begin = e ? e->start_ns : 0;
		end = e ? e->end_ns : 0;
	}
}

static void find_retries(struct finder *f)
{
	const struct scene *scene = f->scene;
	uint64_t seen = 0;

	for (uint32_t i = scene_waits_from(scene, f->thread, 0); i < scene_waits_end(scene, f->thread); i++) {
		struct retries r = { .end_ns = 0 };

		if (scene->waits[i].kind != WAIT_KIND_sleep || scene->waits[i].start_ns < seen || scene->waits[i].idle ||
		    loop_is(scene, &scene->episodes[scene->waits[i].episode]))
			continue;
		if (hangs_retries(f, i, &r))
			offer(f, r.start_ns, r.end_ns, 50, "it tries again and again, in vain");
		seen = r.end_ns;
	}
}

static void find_waits(struct finder *f)
{
	const struct scene_thread *t = &f->scene->threads[f->thread];

	for (uint32_t i = 0; i < t->episode_count; i++) {
		const struct episode *e = &f->scene->episodes[t->episode + i];
		const struct wait *w = &f->scene->waits[e->last];
		uint64_t asked;
		uint32_t awaits;

		if (e->end_ns - e->start_ns < hangs_threshold(f, HANGS_WAIT_NS) || w->idle)
			continue;
		if (never_long(w->kind))
			offer(f, e->start_ns, e->end_ns, 95, "a wait inside the kernel took too long");
		else if (hangs_waits_for_exec(f, e))
			offer(f, e->start_ns, e->end_ns, 95, "a program that it started did not begin");
		else if (w->kind == WAIT_KIND_sleep && loop_is(f->scene, e) &&
			 suspects_refused_lock(f->scene, f->thread, e->start_ns, e->end_ns))
			offer(f, e->start_ns, e->end_ns, 100, "it tries again and again for a file lock");
		else if (may_ask(f, w) && !hangs_rests_at(f, w) && !is_short_for_own(f, e) && hangs_is_pending(f, e, &asked, &awaits)) {
			/* Whoever is killed may just as well have waited for work. */
			offer(f, hangs_first_deed(f->scene, f->thread, asked, e->start_ns), e->end_ns,
			      w->cause == WAKE_CAUSE_signal || scene_ended_by_signal(f->scene, w) ? 70 : 110,
			      waits_for_owner(w) ? "it waited for a lock" : "what it asked for was not answered");
			f->hangs.items[f->hangs.length - 1].awaits = awaits;
			f->hangs.items[f->hangs.length - 1].slices = e->slices;
		} else if (hangs_nobody_can_end(f, e))
			offer(f, e->start_ns, e->end_ns, 100, "it waits for a lock or a word that nobody else can change");
		else if (w->kind == WAIT_KIND_stop && !stopped_as_a_whole(f, e) && !hangs_was_suspended(f, e))
			offer(f, e->start_ns, e->end_ns, HANG_STOPPED_WEIGHT, hang_stopped);
		else if (held_up(f, e))
			offer(f, e->start_ns, e->end_ns, 60, held_up(f, e));
		else if (hangs_flag_came(f, e) || hangs_looks_in_vain(f, e))
			offer(f, e->start_ns, e->end_ns, 50, hang_looks);
		else if (hangs_was_stopped(f, e))
			offer(f, e->start_ns, e->end_ns, 105, "what it asked for was not answered");
		else if (waits_for_stopped(f, e))
			offer(f, e->start_ns, e->end_ns, 90, "what it waits for was stopped");
		else if (hangs_signal_went_elsewhere(f, e))
			offer(f, e->start_ns, e->end_ns, 60, "what it waits for was told to another thread");
		else if (hangs_waits_for_own(f, e))
			offer(f, e->start_ns, e->end_ns, 45, hang_own);
		else if (worth_asking(f, w))
			offer(f, e->start_ns, e->end_ns, 40, "it waited for long");
	}
	find_drips(f);
	find_retries(f);
}

/* ---- processor time ---- */

/* A machine with too much to do is slow for all; starved is who is kept off by one
 * thread or by a quota. */
static bool is_kept_off(const struct finder *f, uint64_t from, uint64_t to)
{
	struct starved starved;
	struct state_times times;

	scene_state_times(f->scene, f->thread, from, to, &times);
	starved_find(f->scene, f->thread, from, to, &starved);
	return starved_is(&starved, f->scene, times.ns[SPAN_RUNNING]);
}

/* A stretch in which the thread ran, or could have, without a wait of any length. */
static void judge_stretch(struct finder *f, uint64_t from, uint64_t to)
{
	struct state_times times;
	uint64_t spin_from = from, spin_to = to;

	if (to - from < hangs_threshold(f, STARVED_NS))
		return;
	scene_state_times(f->scene, f->thread, from, to, &times);
	if (hangs_spins(f, times.ns[SPAN_RUNNING], &spin_from, &spin_to) && spin_to - spin_from >= hangs_threshold(f, HANGS_BUSY_NS)) {
		if (!hangs_spins_for_load(f, spin_from, spin_to))
			offer(f, spin_from, spin_to, 120, "it spins, looking again and again");
		return;
	}
	if (times.ns[SPAN_RUNNABLE] * 10 > (to - from) * 8 && is_kept_off(f, from, to)) {
		offer(f, from, to, 90, "it could run and was given no processor");
		return;
	}
	find_silences(f, from, to, 50);
}

static void find_stretches(struct finder *f)
{
	const struct scene_thread *t = &f->scene->threads[f->thread];
	uint64_t begin = 0;
	bool open = false;

	for (uint32_t i = 0; i <= t->span_count; i++) {
		const struct span *s = &t->spans[i];
		bool breaks = i == t->span_count || s->state == SPAN_ABSENT || s->state == SPAN_UNKNOWN ||
			      ((s->state == SPAN_WAITING || s->state == SPAN_STOPPED) && span_end(s) - s->start_ns > 50000000);

		if (!open && !breaks) {
			open = true;
			begin = s->start_ns;
		} else if (open && breaks) {
			open = false;
			judge_stretch(f, begin, s->start_ns);
		}
	}
}

/* ---- together ---- */

static bool wanted(const struct finder *f, uint32_t thread)
{
	if (scene_is_system(f->scene, thread))
		return false;
	if (f->options->pid)
		return scene_pid(f->scene, thread) == f->options->pid;
	return !f->options->root_pid || scene_descends_from(f->scene, thread, f->options->root_pid);
}

/* All hangs of all times, into what was found last unless it is that already. */
static const struct hangs_found *find_all(struct diagnoser *diagnoser, const struct hangs_options *options)
{
	struct hangs_found *found = diagnoser_hangs_found(diagnoser);
	struct finder f = {
		.diagnoser = diagnoser, .scene = diagnoser_scene(diagnoser), .ends = diagnoser_ends(diagnoser), .options = options,
	};

	if (found->known && found->pid == options->pid && found->root_pid == options->root_pid &&
	    found->threshold_ns == options->threshold_ns && found->version == f.scene->version)
		return found;
	for (f.thread = 1; f.thread < f.scene->thread_count; f.thread++) {
		size_t before = f.hangs.length;

		if (!wanted(&f, f.thread))
			continue;
		hangs_learn_places(&f);
		find_turns(&f);
		find_waits(&f);
		find_stretches(&f);
		if (f.hangs.length > before)
			f.hangs.length = before + hangs_join_work(f.hangs.items + before, f.hangs.length - before);
	}
	vec_done(&f.places);
	vec_done(&f.trails);
	f.hangs.length = hangs_drop_parents(f.scene, f.hangs.items, f.hangs.length);
	for (size_t i = 0; i < f.hangs.length; i++) {
		struct hang *hang = &f.hangs.items[i];

		if (!options->pid)
			hangs_hand_down(f.scene, hang);
		hang->tid = scene_tid(f.scene, hang->thread);
		hang->pid = scene_pid(f.scene, hang->thread);
		hang->comm = tables_comm(f.scene->tables, hang->thread, hang->end_ns);
	}
	free(found->hangs);
	*found = (struct hangs_found){ f.hangs.items, f.hangs.length, options->pid, options->root_pid, f.scene->version,
				       options->threshold_ns, true };
	return found;
}

size_t hangs_find_all(struct diagnoser *diagnoser, const struct hangs_options *options, const struct hang **ret_hangs)
{
	const struct hangs_found *found = find_all(diagnoser, options);

	*ret_hangs = found->hangs;
	return found->count;
}

size_t hangs_find(struct arena *arena, struct diagnoser *diagnoser, const struct hangs_options *options,
		  const struct hang **ret_hangs)
{
	const struct hangs_found *found = find_all(diagnoser, options);
	const struct scene *scene = diagnoser_scene(diagnoser);
	struct hang *hangs = arena_array(arena, struct hang, found->count);
	size_t count = 0;

	for (size_t i = 0; i < found->count; i++) {
		struct hang h = found->hangs[i];

		/* Of a process that is asked about, its first thread is meant. */
		if (options->pid && scene->tables->threads[h.thread].tid == options->pid)
			h.weight *= 3;
		if (options->to_ns && (h.start_ns > options->to_ns || h.end_ns < options->from_ns))
			continue;
		hangs[count++] = h;
	}
	hangs_rank(hangs, count);
	hangs_prefer_outer(diagnoser, hangs, count);
	*ret_hangs = hangs;
	return count;
}
