/* What took long and may be meant to, see hangs_meant.h. */
#include "diagnose/hangs_meant.h"

#include "base/map.h"
#include "diagnose/asked_in_vain.h"
#include "diagnose/awaits_reply.h"
#include "diagnose/broken_off.h"
#include "diagnose/ending.h"
#include "diagnose/hangs_asks.h"
#include "diagnose/hangs_busy.h"
#include "diagnose/hangs_connects.h"
#include "diagnose/hangs_loop.h"
#include "diagnose/hangs_way.h"
#include "diagnose/killed_before.h"
#include "diagnose/leads.h"

static uint64_t known_length(const struct meaning *m)
{
	return m->hang->end_ns > way_known_from(m) ? m->hang->end_ns - way_known_from(m) : 0;
}

static bool first_has_windows(const struct meaning *m)
{
	return ends_has_windows(m->f.ends, scene_pid(m->scene, m->hang->thread)) && leads_process(m->scene, m->hang->thread);
}

/* The way ends at a person, or where one reads at a terminal. */
static bool ends_at_person(const struct meaning *m)
{
	const struct wait *last = way_wait(m, m->count - 1);

	return m->end->person || (last && last->kind == WAIT_KIND_read && object_kind(last->object) == OBJECT_KIND_tty);
}

/* All along the way, but that a pipe may be full because who reads it waits for the person: a pager's. */
static bool is_free_for_person(struct meaning *m)
{
	const struct wait *w = m->count > 1 ? way_wait(m, m->count - 2) : NULL;

	return way_is_free(m) || (w && w->kind == WAIT_KIND_write && scene_is_pipe(w->object) && m->end->state != SPAN_STOPPED && !way_is_circle(m) &&
			      (m->count == 2 || way_free_to(m, m->count - 3)) && way_link_is_open(m->v->steps.items[m->way[m->count - 1]].link));
}

/* ---- parts of one program ---- */

static bool is_unix(uint64_t object)
{
	return object_kind(object) == OBJECT_KIND_unix_stream || object_kind(object) == OBJECT_KIND_unix_dgram ||
	       object_kind(object) == OBJECT_KIND_unix_seqpacket;
}

/* One of the two started the other, or both are of one process. */
static bool are_kin(const struct scene *scene, uint32_t a, uint32_t b)
{
	return scene_same_process(scene, a, b) || scene_descends_from(scene, a, scene_pid(scene, b)) || scene_descends_from(scene, b, scene_pid(scene, a));
}

/* No name leads to what it waits for: only what one program started has it. `other`: who ended it, or should have. */
static bool is_private(const struct meaning *m, const struct wait *w, uint32_t other)
{
	uint64_t object = hangs_listened_to(w);

	switch (w->kind) {
	case WAIT_KIND_child: case WAIT_KIND_signal:
		return true;
	case WAIT_KIND_futex: case WAIT_KIND_semaphore:
		return are_kin(m->scene, w->thread, other);
	case WAIT_KIND_read: case WAIT_KIND_poll:
		return object_kind(object) == OBJECT_KIND_pipe || object_kind(object) == OBJECT_KIND_eventfd ||
		       (is_unix(object) && ends_role(m->f.ends, object) == END_UNKNOWN && are_kin(m->scene, w->thread, other));
	default:
		return false;
	}
}

static bool is_one_program(struct meaning *m)
{
	for (unsigned i = 0; i + 1 < m->count; i++) {
		const struct wait *w = way_wait(m, i);
		uint32_t next = way_thread(m, i + 1);

		if (!w || !(is_private(m, w, next) || scene_descends_from(m->scene, next, scene_pid(m->scene, m->hang->thread))))
			return false;
	}
	return way_is_free(m);
}

/* It began to sleep when one on the way had let it go on, or made it: that is what it was asked to do. */
static bool was_set_to_it(const struct meaning *m, const struct wait *sleep)
{
	const struct scene *scene = m->scene;
	const struct thread *t = &scene->tables->threads[sleep->thread];
	const struct wait *before = sleep->thread && (uint32_t)(sleep - scene->waits) > scene->threads[sleep->thread].wait ? sleep - 1 : NULL;

	if (sleep->start_ns < t->start_ns + limit_of(scene, LIMIT_look_queued_ns))
		return true;
	for (unsigned i = 0; before && before->end == WAIT_END_THREAD && i + 1 < m->count; i++)
		if (scene_same_process(scene, before->waker, way_thread(m, i)) && before->waker != sleep->thread)
			return true;
	return false;
}

/* It waits for its own clock, at one stretch, and for nothing else. */
static bool goes_by_clock(const struct meaning *m, const struct wait *w)
{
	const struct episode *e = &m->scene->episodes[w->episode];
	uint64_t from = e->start_ns > m->hang->start_ns ? e->start_ns : m->hang->start_ns;
	uint64_t to = e->end_ns < m->hang->end_ns ? e->end_ns : m->hang->end_ns;

	return e->slices == 1 && to > from && most_of(m->scene, to - from, m->hang->end_ns - m->hang->start_ns) && w->timeout_ns &&
	       (w->end == WAIT_END_TIMEOUT || w->end == WAIT_END_OPEN) && (w->kind == WAIT_KIND_sleep || is_private(m, w, w->thread));
}

/* That of what it asked for, whatever else may come over the connection. */
static bool awaits_reply(const struct meaning *m, const struct wait *w)
{
	return rule_holds(m->scene, RULE_reply_by_name) && awaits_reply_by_name(m->f.diagnoser->names, m->scene->tables, w);
}

/* What the window server sent it in the hang lay there unread: nobody is woken by that whose loop does not listen. */
static bool leaves_unread(const struct meaning *m, uint32_t thread, uint32_t server)
{
	struct row row = ends_of_process(m->f.ends, scene_pid(m->scene, thread));

	for (uint32_t i = 0; i < row.count && rule_holds(m->scene, RULE_owner_reads_not); i++) {
		const struct descriptor *d = ends_at(m->f.ends, row, i);

		if (d->at.queued && d->time >= m->hang->start_ns && d->time <= m->hang->end_ns && is_unix(d->at.object) &&
		    ends_faces(m->f.ends, d->at.object, scene_pid(m->scene, server)))
			return true;
	}
	return false;
}

/* Who let the window server go on had been asked by it as the hang began, as who has what is pasted is, and did something else since than to listen. */
static bool server_had_asked(struct meaning *m)
{
	const struct wait *its = m->count > 2 ? way_wait(m, 2) : NULL;

	if (!its || !rule_holds(m->scene, RULE_owner_is_asked) || wait_is_loop_rest(its) || scene_same_process(m->scene, its->thread, way_thread(m, 1)))
		return false;
	return leaves_unread(m, its->thread, way_thread(m, 1)) ||
	       (!way_rests_at(m, its) && way_was_asked(m, 1, way_there_before(m->scene, its->thread, m->hang->start_ns)));
}

/* ---- rules ---- */

static bool awaits_person(struct meaning *m)
{
	const struct wait *w = way_wait(m, 0), *last = way_wait(m, m->count - 1);

	/* who debugs it waits for the next command */
	if (m->hang->rule == RULE_stopped)
		return m->v->steps.items[m->way[m->count - 1]].link == LINK_TRACER && last &&
		       (hangs_listens(last->kind) || last->kind == WAIT_KIND_child);
	if (ends_at_person(m))
		return is_free_for_person(m);
	if (!w || !hangs_listens(w->kind) || awaits_reply(m, w))
		return false;
	if (m->count == 1)
		return hangs_awaits_person(&m->f, w) && way_is_free(m);
	if (server_had_asked(m))
		return false;
	/* nobody sets a limit to his wait for an answer of the window server; without one it may be for that, or for whatever comes */
	return ends_is_window_server(m->f.ends, scene_pid(m->scene, way_thread(m, 1))) &&
	       ((w->timeout_ns && hangs_is_window_server(&m->f, hangs_listened_to(w))) || way_is_free(m));
}

/* It waits there again and again, with nothing outstanding, also at other times. */
static bool is_at_rest(struct meaning *m)
{
	const struct wait *w = way_wait(m, 0);

	return w && hangs_listens(w->kind) && m->hang->rule != RULE_not_answered && m->hang->rule != RULE_own_pace && way_rests_at(m, w) && way_is_free(m);
}

/* Another process asked, and one on the way then started the one that waits there: that is what the answer needs, and no watch kept for its own
 * sake. */
static bool was_started_for_it(const struct meaning *m, const struct wait *its)
{
	const struct scene *scene = m->scene;
	const struct wait *w = way_wait(m, 0);
	uint32_t first = tables_process(scene->tables, scene_pid(scene, its->thread), its->start_ns);
	uint64_t born_ns = first ? scene->tables->threads[first].start_ns : 0;

	return rule_holds(scene, RULE_watch_for_answer) && w && w != its && hangs_listens(w->kind) && hangs_role_in(&m->f, w) == END_CLIENT &&
	       !scene_descends_from(scene, its->thread, scene_pid(scene, w->thread)) &&
	       born_ns + limit_of(scene, LIMIT_asked_before_ns) >= m->hang->start_ns && born_ns <= its->start_ns;
}

static bool watches_files(struct meaning *m)
{
	for (unsigned i = 0; i < m->count; i++) {
		const struct wait *w = way_wait(m, i);

		if (w && object_kind(hangs_listened_to(w)) == OBJECT_KIND_inotify)
			return way_free_to(m, i) && !was_started_for_it(m, w);
	}
	return false;
}

static bool is_same_rest(const struct wait *w, const struct wait *its)
{
	return its->site == w->site || (its->kind == w->kind && hangs_listened_to(w) && hangs_listened_to(its) == hangs_listened_to(w));
}

static bool is_same_set(const struct wait *w, const struct wait *its)
{
	return w->kind == WAIT_KIND_epoll && its->kind == w->kind && w->object && its->object == w->object;
}

/* How far a rest reaches that a thread begins soon enough. */
static uint64_t rest_reaches(const struct scene *scene, const struct wait *w, uint32_t thread, uint64_t since, uint64_t most)
{
	uint32_t i = scene_waits_from(scene, thread, since);
	uint64_t reaches = since;

	/* one that began before lasts on */
	i -= i > scene->threads[thread].wait && scene->waits[i - 1].end_ns > since;
	for (; i < scene_waits_end(scene, thread) && scene->waits[i].start_ns <= since + most; i++) {
		const struct wait *its = &scene->waits[i];

		if (its->end_ns > reaches && (is_same_set(w, its) || (thread == w->thread && is_same_rest(w, its))))
			reaches = its->end_ns;
	}
	return reaches;
}

/* It came back to that place again and again, and was never elsewhere for long, as far as that is known: not before a part of a long trace.
 * At a set any of its threads may listen, as in runtimes that have many for it. */
static bool keeps_resting(const struct meaning *m, const struct wait *w)
{
	const struct scene *scene = m->scene;
	uint64_t from = way_known_from(m), since = from, most = part_of(scene, LIMIT_a_good_part, known_length(m));

	while (since + most < m->hang->end_ns) {
		uint64_t reaches = rest_reaches(scene, w, w->thread, since, most);

		if (w->kind == WAIT_KIND_epoll)
			SCENE_EACH_MATE(scene, w->thread, mate) {
				uint64_t its = rest_reaches(scene, w, mate, since, most);

				reaches = its > reaches ? its : reaches;
			}
		if (reaches == since)
			return false;
		since = reaches;
	}
	return since > from;
}

/* Who came only then, tells the program to end, or is known to have asked that server, not to be asked by it. */
static bool comes_from_outside(const struct meaning *m, const struct wait *w, uint32_t next)
{
	const struct scene *scene = m->scene;
	uint32_t pid = scene_pid(scene, next), first = tables_process(scene->tables, pid, m->hang->end_ns);

	if (scene_ended_by_signal(scene, w) && broken_off_ends_programs(scene_signal_at_end(scene, w)))
		return true;
	if (w->kind == WAIT_KIND_accept || (first && scene->tables->threads[first].start_ns > m->hang->start_ns))
		return true;
	return hangs_is_client(&m->f, w->thread, next);
}

/* Somebody on the way asked, and gave up: who waits for that one is kept, but for a person's sake, as that one is. */
static bool gave_up_asking(const struct meaning *m)
{
	for (unsigned i = 0; i < m->count; i++) {
		const struct wait *w = way_wait(m, i);

		if (w && asked_in_vain(m->scene, w))
			return true;
	}
	return false;
}

/* A server on the way took the question, rested again all the time, and was let go on by one whom nobody had asked, and whom nothing kept. */
static bool waits_for_news(struct meaning *m)
{
	const struct wait *first = way_wait(m, 0);

	if (m->end->state != SPAN_WAITING || m->end->charge == CHARGE_SOURCE || first_has_windows(m) || (first && awaits_reply(m, first)))
		return false;
	for (unsigned i = 0; i + 1 < m->count && way_free_to(m, i); i++) {
		const struct wait *w = way_wait(m, i);
		uint32_t next = way_thread(m, i + 1);
		uint8_t link = m->v->steps.items[m->way[i + 1]].link;

		/* who listens to one that gave up, and to nobody else, keeps all others waiting for that one */
		if (!w || (link != LINK_WAKE && link != LINK_SENT) || scene_same_process(m->scene, next, w->thread) ||
		    (!wait_is_loop_rest(w) && (!i || gave_up_asking(m))) ||
		    !way_rests_at(m, w) || !keeps_resting(m, w))
			continue;
		if (comes_from_outside(m, w, next) && way_free_from(m, i + 1) && !way_was_asked(m, i, way_there_before(m->scene, next, m->hang->start_ns)))
			return true;
	}
	return false;
}

/* It is known to ask nobody itself. */
static bool has_no_server(const struct meaning *m, uint32_t pid)
{
	struct row row = ends_of_process(m->f.ends, pid);

	for (uint32_t i = 0; i < row.count; i++)
		if (ends_role(m->f.ends, ends_at(m->f.ends, row, i)->at.object) == END_CLIENT)
			return false;
	return row.count > 0;
}

static bool listens_to_all(const struct meaning *m, const struct wait *w)
{
	return wait_is_loop_rest(w) || (w->kind == WAIT_KIND_poll && hangs_role_in(&m->f, w) == END_LISTENER);
}

static bool same_deadline(const struct scene *scene, const struct wait *a, const struct wait *b)
{
	uint64_t one = a->start_ns + a->timeout_ns, other = b->start_ns + b->timeout_ns, slack = limit_of(scene, LIMIT_same_limit_ns);

	return a->timeout_ns && a->kind == b->kind && hangs_listened_to(a) == hangs_listened_to(b) && one <= other + slack && other <= one + slack;
}

/* A loop that others let go on meanwhile listens on until the same time, which was set before the hang began: as that came the hang ended. */
static bool own_time_came(const struct meaning *m, const struct wait *w)
{
	const struct scene *scene = m->scene;
	const struct wait *first = scene->waits + scene->threads[w->thread].wait, *end = scene->waits + scene_waits_end(scene, w->thread);
	const struct wait *last = w, *set = w;
	uint64_t soon = limit_of(scene, LIMIT_asked_before_ns) + part_of(scene, LIMIT_edge, m->hang->end_ns - m->hang->start_ns);

	while (set > first && same_deadline(scene, set - 1, w))
		set--;
	while (last + 1 < end && last[1].end_ns <= m->hang->end_ns && same_deadline(scene, last + 1, w))
		last++;
	return set->start_ns < m->hang->start_ns && last->end == WAIT_END_TIMEOUT && last->end_ns + soon >= m->hang->end_ns;
}

/* A server that asks nobody itself, or a thread of the same process, let its own limit run out, in one wait, or at its rest, and went on then. */
static bool answers_by_clock(struct meaning *m)
{
	for (unsigned i = 1; i < m->count && way_free_to(m, i) && !first_has_windows(m) && !way_is_circle(m); i++) {
		const struct wait *w = way_wait(m, i);

		if (!w)
			continue;
		/* an alarm, as `timeout` sets it */
		if (w->kind == WAIT_KIND_signal && w->end == WAIT_END_SOURCE && w->cause == WAKE_CAUSE_timer)
			return true;
		if (w->kind == WAIT_KIND_sleep || !w->timeout_ns ||
		    (w->end != WAIT_END_TIMEOUT && !(i + 1 == m->count && listens_to_all(m, w) && own_time_came(m, w))))
			continue;
		if (scene_same_process(m->scene, w->thread, m->hang->thread) ? !way_rests_at(m, w) : !has_no_server(m, scene_pid(m->scene, w->thread)))
			continue;
		if (goes_by_clock(m, w) || ((listens_to_all(m, w) || w->kind == WAIT_KIND_futex) && way_rests_at(m, w) && keeps_resting(m, w)))
			return true;
	}
	return false;
}

static bool has_open(const struct meaning *m, uint64_t object, uint32_t pid)
{
	struct row row = ends_of_object(m->f.ends, object);

	for (uint32_t i = 0; i < row.count; i++)
		if (ends_at(m->f.ends, row, i)->pid == pid)
			return true;
	return false;
}

static bool listened_itself(const struct meaning *m, uint64_t object)
{
	const struct scene *scene = m->scene;
	uint32_t thread = m->hang->thread, end = scene_waits_end(scene, thread);

	for (uint32_t i = scene_waits_from(scene, thread, 0); i < end; i++)
		if (hangs_listens(scene->waits[i].kind) && hangs_listened_to(&scene->waits[i]) == object)
			return true;
	return false;
}

/* One program started both, as a pool's workers, and that thing is the other's, too. */
static bool could_listen(const struct meaning *m, uint64_t object, uint32_t other)
{
	const struct scene *scene = m->scene;
	const struct thread *threads = scene->tables->threads;
	uint32_t mine = tables_process(scene->tables, scene_pid(scene, m->hang->thread), m->hang->start_ns);
	uint32_t its = tables_process(scene->tables, scene_pid(scene, other), m->hang->start_ns);

	return mine && its && mine != its && threads[mine].parent_pid == threads[its].parent_pid &&
	       has_open(m, object, scene_pid(scene, m->hang->thread));
}

/* It reads what comes through a pipe, for which it asked nobody, while it is its turn to. Who waits for that, and reads there itself in its own turn,
 * has the pipe open, and is not the one that is to write, though nobody else is known to. */
static bool reads_in_turn(struct meaning *m, const struct wait *its)
{
	uint64_t object = hangs_listened_to(its);
	struct finder other = m->f;

	other.thread = its->thread;
	if ((its->kind != WAIT_KIND_read && (its->kind != WAIT_KIND_poll || its->argument != 1)) || !scene_is_pipe(object) ||
	    hangs_awaits_answer(&other, its) || (m->count > 2 && way_was_asked(m, 1, way_there_before(m->scene, way_thread(m, 2), m->hang->start_ns))))
		return false;
	if (listened_itself(m, object))
		return m->end->state != SPAN_STOPPED && way_free_to(m, m->count - 1);
	return way_is_free(m) && could_listen(m, object, its->thread);
}

/* Who has the lock rests, and listens for whoever comes, or for what is handed out: the lock is the turn to do so. */
static bool waits_for_turn(struct meaning *m)
{
	const struct wait *w = way_wait(m, 0), *its = m->count > 1 ? way_wait(m, 1) : NULL;

	return w && its && !first_has_windows(m) &&
	       (w->kind == WAIT_KIND_futex || w->kind == WAIT_KIND_semaphore || w->kind == WAIT_KIND_file_lock) &&
	       (its->kind == WAIT_KIND_accept || hangs_role_in(&m->f, its) == END_LISTENER || reads_in_turn(m, its));
}

/* It sleeps again and again, itself or by children: that is its pace. */
static bool paces_itself(const struct meaning *m, const struct wait *w)
{
	const struct account *a = m->v->culprit;
	const struct episode *e = &m->scene->episodes[w->episode];

	if (a->state != SPAN_WAITING || !most_of(m->scene, a->state_ns[SPAN_WAITING], known_length(m)))
		return false;
	return (w->kind == WAIT_KIND_sleep && w->end == WAIT_END_TIMEOUT) || (w->kind == WAIT_KIND_child && e->slices >= limit_of(m->scene, LIMIT_loop_looks));
}

static bool sleeps_as_told(struct meaning *m)
{
	const struct wait *w = way_wait(m, m->count - 1);

	if (m->count < 2 || !w || first_has_windows(m) || !is_one_program(m))
		return false;
	/* who always answers at once is not there to sleep */
	if (m->hang->rule == RULE_own_pace && !way_rests_at(m, w))
		return false;
	return (goes_by_clock(m, w) && was_set_to_it(m, w)) || paces_itself(m, w);
}

static bool works_as_told(struct meaning *m)
{
	struct finder its = m->f;

	its.thread = m->hang->thread;
	/* who stands for a processor most of the time is slow because of others */
	if ((m->end->state != SPAN_RUNNING && m->end->state != SPAN_RUNNABLE) || first_has_windows(m) ||
	    most_of(m->scene, m->v->culprit->state_ns[SPAN_RUNNABLE], known_length(m)))
		return false;
	return m->hang->rule == RULE_computes ? m->count == 1 && !hangs_serves_others(&its, m->hang->start_ns) : m->count > 1 && is_one_program(m);
}

/* Its own limit ended it, and who could have done so before, if anybody, was a part of the same program that nothing kept. */
static bool lets_time_pass(struct meaning *m)
{
	const struct wait *w = m->hang->rule != RULE_gave_up ? way_wait(m, 0) : NULL;

	return w && w->end == WAIT_END_TIMEOUT && w->timeout_ns && !first_has_windows(m) && way_is_free(m) &&
	       (is_private(m, w, m->count > 1 ? way_thread(m, 1) : w->thread) ||
		(w->kind == WAIT_KIND_epoll && has_no_server(m, scene_pid(m->scene, w->thread))));
}

/* Its own limits end it, one after the other, whatever the last one's end was. */
static bool goes_by_limits(const struct scene *scene, const struct wait *w)
{
	return w->timeout_ns && (w->end == WAIT_END_TIMEOUT || scene->episodes[w->episode].slices >= limit_of(scene, LIMIT_loop_looks));
}

static bool nobody_is_known(struct meaning *m)
{
	const struct wait *w = m->count == 1 ? way_wait(m, 0) : NULL;

	if (!w || !way_free_to(m, 0))
		return false;
	switch (m->hang->rule) {
	case RULE_looks_in_vain: case RULE_looks_for_answer: case RULE_tries_in_vain: case RULE_turn: case RULE_open_turn:
		return m->end->charge == CHARGE_MISSING && goes_by_limits(m->scene, w);
	case RULE_not_answered: case RULE_nobody_can_end:
		/* what ends it comes from outside, and what it is for is not known either */
		return m->end->charge == CHARGE_SOURCE && (!hangs_listened_to(w) || (w->kind == WAIT_KIND_futex && goes_by_limits(m->scene, w)));
	default:
		return false;
	}
}

/* It is not refused anything, but only asks. */
static bool looks_for_left(struct meaning *m)
{
	struct killed_before killed;

	return m->hang->rule == RULE_killed_before &&
	       killed_before_find(m->scene, m->hang->thread, m->hang->start_ns, m->hang->end_ns, &killed) && !killed.made;
}

/* What it looks for came when another had slept, or worked, for as long as that was to take: nobody is kept. */
static bool looks_first(struct meaning *m)
{
	const struct wait *last = way_wait(m, m->count - 1);
	bool by_clock = last && (last->kind == WAIT_KIND_sleep || last->kind == WAIT_KIND_child);

	if (m->hang->rule != RULE_looks_in_vain || m->count < 2 || (!by_clock && m->end->state != SPAN_RUNNING) || way_is_circle(m))
		return false;
	for (unsigned i = 0; i < m->count; i++) {
		const struct wait *w = way_wait(m, i);

		if (w && way_wait_is_kept(m, w))
			return false;
	}
	return hangs_looks_since_birth(m->scene, m->hang);
}

/* It had just started what it waits for, and nobody on the way had a good part of the time: what that ran took its time, one after the other. */
static bool runs_commands(struct meaning *m)
{
	const struct scene *scene = m->scene;
	const struct wait *w = m->count > 1 ? way_wait(m, 0) : NULL;
	uint32_t next = w ? way_thread(m, 1) : 0;
	const struct thread *t = &scene->tables->threads[next];

	return next && m->hang->rule == RULE_not_answered && !first_has_windows(m) && (hangs_listens(w->kind) || w->kind == WAIT_KIND_child) &&
	       t->tid == t->pid && scene_descends_from(scene, next, scene_pid(scene, w->thread)) &&
	       t->start_ns + limit_of(scene, LIMIT_look_queued_ns) >= scene->episodes[w->episode].start_ns &&
	       m->v->culprit->ns < part_of(scene, LIMIT_explains_least, m->hang->end_ns - m->hang->start_ns);
}

/* Of those on the way that wait for it, in turn, it let one go on in that time. */
static bool gives_to_waiting(const struct meaning *m, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	const struct scene *scene = m->scene;

	for (uint32_t k = scene_wakes_from(scene, thread, from_ns); k < scene_wakes_end(scene, thread) && scene->wakes[k].time <= to_ns; k++)
		for (unsigned i = 0; i + 1 < m->count; i++)
			if (scene_same_process(scene, scene->wakes[k].target, way_thread(m, i)))
				return true;
	return false;
}

/* Between its sleeps, each until its own time, it gives something on, nearly each time: it is not stuck, and looks for nothing. */
static bool gives_at_its_rate(struct meaning *m)
{
	const struct scene *scene = m->scene;
	const struct wait *last = way_wait(m, m->count - 1);
	uint32_t thread = last ? last->thread : 0, sleeps = 0, gave = 0;
	uint64_t from = way_known_from(m), slept = 0;

	if (m->count < 2 || !last || last->kind != WAIT_KIND_sleep || first_has_windows(m) || !way_is_free(m))
		return false;
	for (uint32_t i = scene_waits_from(scene, thread, from); i < scene_waits_end(scene, thread) && scene->waits[i].end_ns <= m->hang->end_ns; i++) {
		const struct wait *w = &scene->waits[i];
		uint64_t next = i + 1 < scene_waits_end(scene, thread) ? w[1].start_ns : m->hang->end_ns;

		if (w->kind != WAIT_KIND_sleep || w->end != WAIT_END_TIMEOUT)
			continue;
		if (w->end_ns - w->start_ns > part_of(scene, LIMIT_rate_longest, known_length(m)))
			return false;
		slept += w->end_ns - w->start_ns;
		gave += gives_to_waiting(m, thread, w->end_ns, next);
		sleeps++;
	}
	return sleeps >= limit_of(scene, LIMIT_rate_sleeps) && most_of(scene, slept, known_length(m)) && most_of(scene, gave, sleeps);
}

static bool comes_in_drops(struct meaning *m)
{
	return m->hang->rule == RULE_drops;
}

static const struct {
	enum rule_id rule;
	bool (*holds)(struct meaning *m);
} meant_rules[] = {
#define RULE_OF_MEANT(name, function) { RULE_##name, function },
#include "diagnose/rules.def"
};

/* That needs the way to be looked at: the others say for certain what is in the way. */
static bool may_be_meant(enum rule_id rule)
{
	switch (rule) {
	case RULE_not_answered: case RULE_late_trip: case RULE_own_pace: case RULE_late_command: case RULE_idle_children: case RULE_held_up: case RULE_drops:
	case RULE_looks_in_vain: case RULE_looks_for_answer: case RULE_tries_in_vain: case RULE_gave_up: case RULE_nobody_can_end:
	case RULE_turn: case RULE_open_turn: case RULE_computes: case RULE_stopped: case RULE_lock_by_name: case RULE_lock_kept:
	case RULE_file_lock: case RULE_file_server: case RULE_kernel_wait:
	case RULE_killed_before:
		return true;
	default:
		return false;
	}
}

bool hangs_way_is_kept(const struct finder *f, const struct hang *hang)
{
	struct diagnose_request request;
	struct investigation v;
	struct meaning m;
	struct arena arena;
	bool kept = way_look(&m, f, hang, &v, &request, &arena) && m.count > 1 && !way_is_free(&m);

	way_done(&m, &v, &arena);
	return kept;
}

static bool is_unended(const struct scene *scene, const struct wait *w)
{
	return w->end == WAIT_END_OPEN || w->cause == WAKE_CAUSE_signal || scene_ended_by_signal(scene, w);
}

/* Where it waited, and each of those on the way that other processes serve it by, up to who is but thought to be the next, if nothing is in the way.
 * Who only waits for another's end asks nothing. */
static void note_served(struct meaning *m, struct hang *hang)
{
	const struct wait *asks = way_wait(m, 0), *before = asks;
	unsigned count = 0, end = 1;

	while (end < m->count && m->v->steps.items[m->way[end]].link != LINK_SIMILAR && m->v->steps.items[m->way[end]].link != LINK_FLAG)
		end++;
	if (!asks || m->end->state == SPAN_STOPPED || first_has_windows(m) || way_is_circle(m) || !way_free_to(m, end - 1))
		return;
	for (unsigned i = 1; i < end && count < HANG_SERVED; i++) {
		const struct wait *w = way_wait(m, i);

		if (!w)
			continue;
		if (!scene_same_process(m->scene, w->thread, m->hang->thread) && before->kind != WAIT_KIND_child) {
			hang->unended = count ? hang->unended : is_unended(m->scene, asks) || is_unended(m->scene, w);
			hang->served[count++] = (uint32_t)hash_u64((uint64_t)asks->site << 32 ^ w->site) | 1;
		}
		before = w;
	}
}

static enum rule_id look_at_way(const struct finder *f, struct hang *hang)
{
	enum rule_id found = RULE_NONE;
	struct diagnose_request request;
	struct investigation v;
	struct meaning m;
	struct arena arena;
	bool known = way_look(&m, f, hang, &v, &request, &arena), vain = known && gave_up_asking(&m);

	for (size_t i = 0; known && !found && i < sizeof(meant_rules) / sizeof(*meant_rules); i++)
		if (meant_rules[i].holds && (!vain || meant_rules[i].rule == RULE_for_person || meant_rules[i].rule == RULE_for_news) &&
		    rule_holds(f->scene, meant_rules[i].rule) && meant_rules[i].holds(&m))
			found = meant_rules[i].rule;
	if (known)
		note_served(&m, hang);
	way_done(&m, &v, &arena);
	return found;
}

/* It asked a process that was there long before, whose thread then went to where it is kept, and has no answer since. */
static bool asked_who_is_kept(struct meaning *m)
{
	const struct scene *scene = m->scene;
	const struct wait *w = m->count > 1 ? way_wait(m, 0) : NULL;
	uint64_t slack = limit_of(scene, LIMIT_asked_before_ns) + part_of(scene, LIMIT_edge, m->hang->end_ns - m->hang->start_ns);
	uint32_t next = w ? way_thread(m, 1) : 0, first = next ? tables_process(scene->tables, scene_pid(scene, next), m->hang->start_ns) : 0;

	if (!first || !hangs_listens(w->kind) || scene_same_process(scene, next, w->thread) || first_has_windows(m) || ends_at_person(m) ||
	    scene->tables->threads[first].start_ns + limit_of(scene, LIMIT_answerer_before_ns) > m->hang->start_ns ||
	    !way_was_asked(m, 0, scene_pid(scene, next)))
		return false;
	for (unsigned i = 1; i < m->count && scene_same_process(scene, way_thread(m, i), next); i++) {
		const struct wait *its = way_wait(m, i);

		if (its && its->start_ns + slack >= m->hang->start_ns && way_wait_is_kept(m, its))
			return true;
	}
	return false;
}

static bool is_in_haste(const struct finder *f, const struct hang *hang)
{
	struct diagnose_request request;
	struct investigation v;
	struct meaning m;
	struct arena arena;
	bool found = way_look(&m, f, hang, &v, &request, &arena) && asked_who_is_kept(&m);

	way_done(&m, &v, &arena);
	return found;
}

void hangs_mean(const struct finder *f, struct hang *hang)
{
	if (hang->meant == RULE_may_rest)
		return;
	if (ending_is_kept(f->scene, hang))
		hang->meant = RULE_NONE;
	else if (hang->rule == RULE_as_if_asked)
		hang->meant = RULE_unasked;
	else if (hang->rule == RULE_kept_on_the_way)
		hang->meant = rule_holds(f->scene, RULE_asked_who_is_kept) && is_in_haste(f, hang) ? RULE_NONE : RULE_no_haste;
	else
		hang->meant = may_be_meant(hang->rule) ? look_at_way(f, hang) : RULE_NONE;
}
