/* What each thread did, as a program, see script.h.
 *
 * A wait that another program's thread ended is an OP_AWAIT of that wake-up; what a kernel
 * thread, an interrupt or a clock ended took as long as it took. A lock's waits and holds
 * (script_locks.h) become OP_LOCK and OP_UNLOCK; a message that was there before it was taken (script_messages.h) is
 * one that its taker would have awaited. */
#include "path/script_scene.h"

#include <string.h>

#include "path/cpu_runs.h"
#include "path/script_clocks.h"
#include "path/script_locks.h"
#include "path/script_loops.h"
#include "path/script_messages.h"

#define LOOP_END (UINT64_C(1) << 63) /* with a loop's first sleep: what ends it, in place of a wake-up's event */
#define SENT (UINT64_C(1) << 62) /* with a message's event: that it is there */

struct making {
	struct naming *naming;
	const struct scene *scene;
	const struct holds *holds;
	struct script *p;
	struct map wakes;         /* event -> number + 1 of wake-ups by programs, in the window */
	const uint8_t *prios;
	uint64_t cost_ns;         /* of a wait, on a processor */
	struct vec(uint32_t) children;        /* begun by it, and not awaited yet */
	struct script_locks locks;
	struct script_clocks clocks;
	size_t passed;            /* the next of the thread's sleeps that were over before they began */
	uint64_t clock_set_ns;    /* when it will set its clock; UINT64_MAX: it has, or never does */
	struct script_messages messages;
	size_t sent, taken;       /* the thread's next */
	struct script_loops loops;
	size_t loop;              /* the next whose end the thread that is made brings about */
	uint64_t looks_until;     /* the end of the loop that the thread is in */
	struct map meetings;      /* events that wake those who stand at a barrier -> its object */
	struct map answers;       /* events that wake who waits for an answer */
	uint32_t met;             /* the thread's wakes before it are of the meeting that is made, or of earlier ones */
	uint32_t *met_at;         /* by thread: the first wake of the meeting to which it came last, + 1 */
	struct latencies latencies;
	uint32_t wake, wakes_end;
	uint32_t *born;           /* threads by creation: first child of each, chained by next_born */
	uint32_t *next_born;
};

static void put(struct making *m, enum op_kind kind, uint64_t value, uint32_t place)
{
	struct op *last = m->p->ops.length ? &m->p->ops.items[m->p->ops.length - 1] : NULL;
	struct op_thread *t = &m->p->threads.items[m->p->threads.length - 1];

	if ((kind <= OP_LATENCY || kind == OP_SLACK) && !value)
		return;
	if (kind <= OP_QUEUED && t->count && last->kind == kind && last->place == place) {
		last->value += value;
		return;
	}
	vec_push(&m->p->ops, ((struct op){ .value = value, .kind = kind, .place = place }));
	t->count++;
}

/* `thread`: of work on a processor whose, else 0; `ustack`: of a wait, else 0. */
static uint32_t place_of(struct making *m, const struct stretch_words *w, uint32_t thread, uint32_t ustack, bool polls)
{
	uint64_t hash = hash_u64(hash_u64((uint64_t)w->key.who.program << 32 | w->key.who.thread) + ((uint64_t)w->lock << 32 | w->function));

	hash = hash_u64(hash_u64(hash + ((uint64_t)thread << 2 | (uint64_t)w->runs << 1 | polls)) + ustack);
	for (;; hash++) {
		bool fresh = false;
		uint64_t *number = map_at(&m->p->place_numbers, hash, &fresh);
		const struct op_place *p;

		if (fresh) {
			*number = m->p->places.length;
			vec_push(&m->p->places, ((struct op_place){ w->lock, w->function, w->key.who, w->runs, polls, thread, ustack }));
			return (uint32_t)*number;
		}
		p = &m->p->places.items[*number];
		if (p->lock == w->lock && p->function == w->function && p->runs == w->runs && p->polls == polls && p->thread == thread && p->ustack == ustack &&
		    p->who.program == w->key.who.program && p->who.thread == w->key.who.thread)
			return (uint32_t)*number;
	}
}

uint32_t script_number_of(struct map *map, uint64_t key)
{
	bool fresh = false;
	uint64_t *number = map_at(map, key, &fresh);

	if (fresh)
		*number = map->length;
	return (uint32_t)*number - 1;
}


/* ---- one thread ---- */

/* When it does what another thread's loop looks for; UINT64_MAX never again. */
static uint64_t next_loop(const struct making *m, uint32_t thread)
{
	return m->loop < m->loops.list.length && m->loops.list.items[m->loop].other == thread ? m->loops.list.items[m->loop].done_ns : UINT64_MAX;
}

/* When it next asks for a lock or gives one back; UINT64_MAX never. */
static uint64_t next_point(const struct making *m)
{
	return m->locks.point < m->locks.points.length ? m->locks.points.items[m->locks.point].time : UINT64_MAX;
}

/* When it next sends, or takes, what nobody waited for; UINT64_MAX never. */
static uint64_t next_message(const struct script_message *messages, size_t count, size_t at, uint32_t thread)
{
	return at < count && messages[at].thread == thread ? messages[at].ns : UINT64_MAX;
}

static uint64_t next_sent(const struct making *m, uint32_t thread)
{
	return next_message(m->messages.sent.items, m->messages.sent.length, m->sent, thread);
}

static uint64_t next_taken(const struct making *m, uint32_t thread)
{
	return next_message(m->messages.taken.items, m->messages.taken.length, m->taken, thread);
}

/* When it next would have slept until a moment that had passed; UINT64_MAX never. */
static uint64_t next_passed(const struct making *m, uint32_t thread)
{
	return m->passed < m->clocks.passed.length && m->clocks.passed.items[m->passed].thread == thread
		? m->clocks.passed.items[m->passed].ns : UINT64_MAX;
}

/* All must have come before the first one goes on: those whom the thread, from that wake-up on, wakes at one barrier. */
static void put_meeting(struct making *m, uint32_t wake)
{
	const struct scene *scene = m->scene;
	const uint64_t *object = map_find(&m->meetings, scene->wakes[wake].number), *other;

	if (!object || wake < m->met)
		return;
	for (m->met = wake; m->met < m->wakes_end; m->met++) {
		const struct wake *w = &scene->wakes[m->met];
		const uint64_t *number = map_find(&m->wakes, w->number);

		other = map_find(&m->meetings, w->number);
		if (!other || *other != *object || !number || m->met_at[w->target] == wake + 1)
			return;
		m->met_at[w->target] = wake + 1;
		put(m, OP_MEET, *number - 1, 0);
	}
}

/* Behind an answer, or a wait: what it does until it answers next, without another wait, it does for who asks that. */
static void put_asked(struct making *m, uint32_t thread, uint64_t time)
{
	const struct scene *scene = m->scene;
	uint32_t wait = scene_waits_from(scene, thread, time);
	uint64_t until = wait < scene_waits_end(scene, thread) ? scene->waits[wait].start_ns : UINT64_MAX;

	for (uint32_t i = m->wake; i < m->wakes_end && scene->wakes[i].time < until; i++) {
		const uint64_t *number = map_find(&m->answers, scene->wakes[i].number) ? map_find(&m->wakes, scene->wakes[i].number) : NULL;

		if (!number)
			continue;
		put(m, OP_ASKED, *number - 1, 0);
		return;
	}
}

/* What it did to others up to the moment, and sleeps that were over before they began. */
static void put_deeds(struct making *m, uint32_t thread, uint64_t until, bool inclusive)
{
	const struct scene *scene = m->scene;

	while (m->wake < m->wakes_end && (scene->wakes[m->wake].time < until || (inclusive && scene->wakes[m->wake].time == until))) {
		const uint64_t *number = map_find(&m->wakes, scene->wakes[m->wake].number);

		put_meeting(m, m->wake++);
		if (number)
			put(m, OP_WAKE, *number - 1, 0);
		if (map_find(&m->answers, scene->wakes[m->wake - 1].number))
			put_asked(m, thread, scene->wakes[m->wake - 1].time);
	}
	while (next_loop(m, thread) < until || (inclusive && next_loop(m, thread) == until && until != UINT64_MAX))
		put(m, OP_WAKE, *map_find(&m->wakes, LOOP_END | m->loops.list.items[m->loop++].first) - 1, 0);
	if (m->clock_set_ns < until || (inclusive && m->clock_set_ns == until && until != UINT64_MAX)) {
		put(m, OP_SET_CLOCK, m->clock_set_ns, 0);
		m->clock_set_ns = UINT64_MAX;
	}
	while (next_sent(m, thread) < until || (inclusive && next_sent(m, thread) == until && until != UINT64_MAX))
		put(m, OP_WAKE, *map_find(&m->wakes, SENT | m->messages.sent.items[m->sent++].number) - 1, 0);
	while (next_taken(m, thread) < until || (inclusive && next_taken(m, thread) == until && until != UINT64_MAX))
		put(m, OP_AWAIT, *map_find(&m->wakes, SENT | m->messages.taken.items[m->taken++].number) - 1, 0);
	while (next_passed(m, thread) < until || (inclusive && next_passed(m, thread) == until && until != UINT64_MAX)) {
		put(m, OP_CLOCK, m->clocks.passed.items[m->passed++].until_ns, 0);
		put(m, OP_DELAY, 1, 0);
	}
	while (m->born[thread] && (scene->tables->threads[m->born[thread]].start_ns < until ||
				   (inclusive && scene->tables->threads[m->born[thread]].start_ns == until))) {
		put(m, OP_BEGIN, m->born[thread], 0);
		vec_push(&m->children, m->born[thread]);
		m->born[thread] = m->next_born[m->born[thread]];
	}
	while (next_point(m) < until || (inclusive && next_point(m) == until && until != UINT64_MAX)) {
		const struct lock_point *at = &m->locks.points.items[m->locks.point++];

		if (!at->release)
			vec_push(&m->p->turns, ((struct lock_turn){ at->had_ns, at->lock, (uint32_t)m->p->ops.length }));
		put(m, at->release ? OP_UNLOCK : OP_LOCK, at->lock, 0);
	}
}

/* The next moment at which it does something to others. */
static uint64_t next_deed(const struct making *m, uint32_t thread, uint64_t limit)
{
	const struct scene *scene = m->scene;

	if (m->wake < m->wakes_end && scene->wakes[m->wake].time < limit)
		limit = scene->wakes[m->wake].time;
	if (next_loop(m, thread) < limit)
		limit = next_loop(m, thread);
	if (m->clock_set_ns < limit)
		limit = m->clock_set_ns;
	if (next_sent(m, thread) < limit)
		limit = next_sent(m, thread);
	if (next_taken(m, thread) < limit)
		limit = next_taken(m, thread);
	if (next_passed(m, thread) < limit)
		limit = next_passed(m, thread);
	if (m->born[thread] && scene->tables->threads[m->born[thread]].start_ns < limit)
		limit = scene->tables->threads[m->born[thread]].start_ns;
	if (next_point(m) < limit)
		limit = next_point(m);
	return limit;
}

static void put_running(struct making *m, uint32_t thread, uint8_t doing, enum op_kind kind, uint64_t from, uint64_t to)
{
	for (uint64_t at = from; at < to; ) {
		uint64_t until, end;
		const struct hold *hold;
		struct stretch_words words;

		put_deeds(m, thread, at, true);
		hold = holds_at(m->holds, thread, at, &until);
		end = next_deed(m, thread, until < to ? until : to);
		words = critical_words(m->naming, thread, NULL, doing, hold, at);
		put(m, kind, end - at, place_of(m, &words, thread, 0, false));
		at = end;
	}
}

/* In whose work the thread stood for its processor. */
static uint32_t place_in_front(struct making *m, uint16_t cpu, uint64_t time, uint64_t *until)
{
	uint32_t thread = cpu_runs_who(m->naming, cpu, time, until);
	struct stretch_words words;
	const struct hold *hold;
	uint64_t held_until;

	if (!thread || naming_is_kernel(m->naming, thread))
		return 0;
	if (!scene_descends_from(m->scene, thread, scene_pid(m->scene, m->p->root)))
		return PLACE_OTHERS;
	hold = holds_at(m->holds, thread, time, &held_until);
	if (held_until < *until)
		*until = held_until;
	words = critical_words(m->naming, thread, NULL, CLASS_RUN, hold, time);
	return place_of(m, &words, thread, 0, false);
}

static void put_queued(struct making *m, uint32_t thread, uint16_t cpu, uint64_t from, uint64_t to)
{
	for (uint64_t at = from; at < to; ) {
		uint64_t until = to;
		uint32_t place = place_in_front(m, cpu, at, &until);

		put_deeds(m, thread, at, true);
		until = next_deed(m, thread, until);
		put(m, OP_QUEUED, until - at, place);
		at = until;
	}
}

/* Who waits for the end of one child waits for those, too, whose end came before: that is no
 * wait in the trace, but is one when they work longer. */
static void put_joins(struct making *m, uint64_t time)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->children.length; i++) {
		uint32_t child = m->children.items[i];

		if (m->scene->tables->threads[child].end_ns <= time)
			put(m, OP_JOIN, child, 0);
		else
			m->children.items[kept++] = child;
	}
	m->children.length = kept;
}

/* Who stands for a lock of the kernel's that a program has which is not of the run: that one does not give it back sooner
 * or later by what the run does. */
static bool stands_for_others(const struct making *m, const struct wait *w)
{
	return w->kind == WAIT_KIND_kernel_lock && w->waker && !scene_descends_from(m->scene, w->waker, scene_pid(m->scene, m->p->root));
}

/* The number of the wake-up that ended the wait, + 1; NULL when no program did. */
static const uint64_t *wake_of(const struct making *m, const struct wait *w)
{
	return w && w->end == WAIT_END_THREAD && w->end_ns <= m->p->to_ns ? map_find(&m->wakes, w->end_event) : NULL;
}

#define MEANWHILE_DEPTH 16u /* threads that wait for each other, as far as is looked */

/* A stretch in which the thread waited for what another one did, as long as that took, or for whom that one waited for
 * meanwhile: where the trace does not tell which deed of the other one it was. */
static void put_meanwhile(struct making *m, uint32_t thread, uint32_t other, uint64_t from, uint64_t to, unsigned depth)
{
	uint64_t until;

	for (uint64_t at = from; at < to; at = until) {
		const struct hold *hold = holds_at(m->holds, other, at, &until);
		const struct span *span = scene_span(m->scene, other, at);
		const struct wait *wait = span && span->state == SPAN_WAITING && span_wait(span) ? &m->scene->waits[span_wait(span)] : NULL;
		struct stretch_words words;

		until = until < to ? until : to;
		until = span && span_end(span) < until && span_end(span) > at ? span_end(span) : until;
		if (wait && depth < MEANWHILE_DEPTH && wait->end == WAIT_END_THREAD && wait->waker && wait->waker != thread &&
		    !naming_is_kernel(m->naming, wait->waker)) {
			put_meanwhile(m, thread, wait->waker, at, until, depth + 1);
			continue;
		}
		put_deeds(m, thread, at, true);
		until = next_deed(m, thread, until);
		words = critical_words(m->naming, other, wait, wait ? CLASS_WAIT : CLASS_RUN, hold, at);
		put(m, OP_DELAY, until - at, span ? place_of(m, &words, wait ? 0 : other, wait ? wait->ustack : 0, false) : 0);
	}
}

/* The number of what ends the loop, as a wake-up. */
static uint64_t loop_end(const struct making *m, const struct script_loop *loop)
{
	return *map_find(&m->wakes, LOOP_END | loop->first) - 1;
}

static void put_wait(struct making *m, uint32_t thread, const struct wait *w, uint64_t from, uint64_t to)
{
	const uint64_t *wake = wake_of(m, w), *wanted = wake ? NULL : wake_of(m, script_wanted(m->scene, w));
	const struct script_loop *loop = script_loop_of(&m->loops, (uint32_t)(w - m->scene->waits));
	bool looks = loop && loop->known;
	bool polls = !looks && script_polls(&m->loops, m->scene, w);
	bool clocked = !looks && script_is_clocked(m->scene, &m->clocks, w);
	uint32_t place, setter = loop && polls && !clocked ? loop->other : 0;
	struct stretch_words words;
	uint64_t until, slack;

	put_deeds(m, thread, from, true);
	/* Who waits for a lock gets it when it is free: that is a point of its own. */
	if (script_is_lock_wait(&m->locks, w) && w->end_ns <= m->p->to_ns && w->end_ns > m->p->from_ns)
		return;
	/* Of a lock that several have at once nobody knows in which order they would come. */
	if (wake && (naming_wait_class(m->naming, script_like(&m->locks, w)) == WAIT_CLASS_lock || stands_for_others(m, w)))
		setter = w->waker;
	if (setter) {
		put_meanwhile(m, thread, setter, from, to, 0);
		return;
	}
	if (wake) {
		put(m, OP_AWAIT, *wake - 1, 0);
		if (w->kind == WAIT_KIND_child || naming_wait_class(m->naming, script_like(&m->locks, w)) == WAIT_CLASS_end)
			put_joins(m, w->end_ns);
		return;
	}
	if (looks)
		put(m, OP_LOOK, loop_end(m, loop), 0);
	for (uint64_t at = from; at < to; at = until) {
		const struct hold *hold = holds_at(m->holds, thread, at, &until);

		put_deeds(m, thread, at, true);
		until = until < to ? until : to;
		words = critical_words(m->naming, thread, w, CLASS_WAIT, hold, at);
		place = clocked ? 0 : place_of(m, &words, 0, w->ustack, polls);
		if (until == to && clocked)
			put(m, OP_CLOCK, to, 0);
		slack = until == to && !clocked && w->kind == WAIT_KIND_sleep && w->end == WAIT_END_TIMEOUT && w->timeout_ns
			? script_slept_longer(w, until - at) : 0;
		if (wanted)
			put(m, OP_LIMIT, *wanted - 1, 0);
		put(m, OP_DELAY, until - at - slack, place);
		put(m, OP_SLACK, slack, place);
	}
	/* What is not done by the last look will be seen half of a sleep late. */
	if (looks && w == &m->scene->waits[loop->last]) {
		put(m, OP_AWAIT, loop_end(m, loop), 0);
		put(m, OP_LATE, (w->end_ns - w->start_ns) / 2, 0);
	}
}

unsigned script_latency_class(uint64_t slept_ns)
{
	unsigned class = 0;

	for (; slept_ns > 1 && class + 1 < LATENCY_CLASSES; slept_ns /= 2)
		class++;
	return class;
}

static void put_latency(struct making *m, uint32_t thread, const struct span *s, uint64_t from, uint64_t to)
{
	unsigned class = script_latency_class(s->start_ns - script_behind_wait(&m->scene->threads[thread], s)->start_ns);

	vec_push(&m->latencies, ((struct latency){ class, to - from }));
	put_deeds(m, thread, to, false);
	put(m, OP_LATENCY, to - from, class);
}

static void put_runnable(struct making *m, uint32_t thread, const struct span *s, uint64_t from, uint64_t to)
{
	bool woken = script_behind_wait(&m->scene->threads[thread], s);

	if (s->throttled)
		put_running(m, thread, CLASS_THROTTLED, OP_DELAY, from, to);
	else if (woken && script_was_free(m->scene, span_cpu(s), from))
		put_latency(m, thread, s, from, to);
	else
		put_queued(m, thread, span_cpu(s), from, to);
}

/* Of a loop that looks for what another thread does: it goes on when that is done, and about half of a sleep later. What it
 * does between its sleeps, and whether it stands for a processor there, makes no difference. */
static bool in_loop(struct making *m, uint32_t thread, const struct span *s, uint64_t begin)
{
	const struct script_loop *loop = begin >= m->looks_until && s->state == SPAN_WAITING && span_wait(s)
		? script_loop_of(&m->loops, span_wait(s)) : NULL;

	if (loop && loop->at_it && !loop->known) {
		put_deeds(m, thread, begin, true);
		put(m, OP_AWAIT, loop_end(m, loop), 0);
		put(m, OP_DELAY, loop->end_ns - loop->done_ns, 0);
		m->looks_until = loop->end_ns;
	}
	return begin < m->looks_until;
}

static void make_thread(struct making *m, uint32_t thread, const struct hold *holds, size_t count)
{
	const struct scene *scene = m->scene;
	const struct scene_thread *t = &scene->threads[thread];
	const struct thread *life = &scene->tables->threads[thread];
	const uint64_t from = m->p->from_ns, to = m->p->to_ns;
	bool told = life->start_ns > from && life->creator && !naming_is_kernel(m->naming, life->creator);

	vec_push(&m->p->threads, ((struct op_thread){ .first = (uint32_t)m->p->ops.length, .start_ns = told ? UINT64_MAX
		: life->start_ns > from ? life->start_ns : from }));
	if (!thread || naming_is_kernel(m->naming, thread) || life->start_ns >= to || life->end_ns <= from)
		return;
	m->p->threads.items[thread].who = naming_role(m->naming, thread);
	m->p->threads.items[thread].prio = m->prios ? m->prios[thread] : 0;
	m->p->threads.items[thread].of_run = scene_descends_from(scene, thread, scene_pid(scene, m->p->root));
	m->wake = scene_wakes_from(scene, thread, from);
	m->wakes_end = scene_wakes_end(scene, thread);
	while (m->loop < m->loops.list.length && m->loops.list.items[m->loop].other < thread)
		m->loop++;
	while (m->passed < m->clocks.passed.length && m->clocks.passed.items[m->passed].thread < thread)
		m->passed++;
	while (m->sent < m->messages.sent.length && m->messages.sent.items[m->sent].thread < thread)
		m->sent++;
	while (m->taken < m->messages.taken.length && m->messages.taken.items[m->taken].thread < thread)
		m->taken++;
	m->clock_set_ns = script_clock_set(scene, &m->clocks, thread, from);
	m->looks_until = 0;
	vec_clear(&m->children);
	script_locks_of(&m->locks, thread, holds, count);
	for (uint32_t i = scene_span_index(scene, thread, from); i < t->span_count && t->spans[i].start_ns < to; i++) {
		const struct span *s = &t->spans[i];
		uint64_t begin = s->start_ns > from ? s->start_ns : from, end = span_end(s) < to ? span_end(s) : to, middle;

		if (in_loop(m, thread, s, begin))
			continue;
		switch ((enum span_state)s->state) {
		case SPAN_RUNNING:
			middle = script_behind_wait(t, s) && begin + m->cost_ns < end ? begin + m->cost_ns : begin;
			put_running(m, thread, CLASS_RUN, OP_COST, begin, middle);
			put_running(m, thread, CLASS_RUN, OP_COMPUTE, middle, end);
			break;
		case SPAN_RUNNABLE:
			put_runnable(m, thread, s, begin, end);
			break;
		case SPAN_WAITING:
		case SPAN_STOPPED:
			if (span_wait(s))
				put_wait(m, thread, &scene->waits[span_wait(s)], begin, end);
			if (m->answers.length)
				put_asked(m, thread, end);
			break;
		case SPAN_UNKNOWN:
			put_running(m, thread, CLASS_UNKNOWN, OP_DELAY, begin, end);
			break;
		case SPAN_ABSENT:
			break;
		}
	}
	put_deeds(m, thread, UINT64_MAX, true);
}

/* Who ends the waits at a barrier is who came last. */
static void find_meetings(struct making *m)
{
	for (uint32_t i = 1; i < m->scene->thread_count; i++)
		for (uint32_t k = scene_waits_from(m->scene, i, m->p->from_ns); k < scene_waits_end(m->scene, i); k++) {
			const struct wait *w = &m->scene->waits[k];

			if (w->end == WAIT_END_THREAD && w->kind == WAIT_KIND_futex &&
			    naming_wait_class(m->naming, script_like(&m->locks, w)) == WAIT_CLASS_barrier)
				map_put(&m->meetings, w->end_event, w->object);
		}
}

static bool is_dialog(uint64_t object)
{
	switch (object_kind(object)) {
	case OBJECT_KIND_tcp:
	case OBJECT_KIND_unix_stream:
	case OBJECT_KIND_unix_seqpacket:
		return true;
	default:
		return false;
	}
}

static bool comes_over_files(const struct wait *w)
{
	return w->end == WAIT_END_THREAD && (w->kind == WAIT_KIND_read || w->kind == WAIT_KIND_poll || w->kind == WAIT_KIND_epoll);
}

/* Who reads from a socket what another thread sends that at times waits for what it is sent: he asked before he was answered, also
 * where the other one had his question before it looked for it. */
static void find_answers(struct making *m)
{
	struct map asked;

	map_init(&asked);
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 1; i < m->scene->thread_count; i++)
			for (uint32_t k = scene_waits_from(m->scene, i, m->p->from_ns); k < scene_waits_end(m->scene, i); k++) {
				const struct wait *w = &m->scene->waits[k];

				if (!comes_over_files(w))
					continue;
				if (!pass)
					map_put(&asked, i, 1);
				else if (w->kind == WAIT_KIND_read && is_dialog(w->object) && map_find(&asked, w->waker))
					map_put(&m->answers, w->end_event, 1);
			}
	map_done(&asked);
}

/* Wake-ups of programs by programs; who began whom. */
static void find_deeds(struct making *m)
{
	const struct scene *scene = m->scene;

	for (uint32_t i = 1; i < scene->thread_count; i++) {
		if (naming_is_kernel(m->naming, i))
			continue;
		for (uint32_t k = scene_wakes_from(scene, i, m->p->from_ns); k < scene_wakes_end(scene, i) && scene->wakes[k].time <= m->p->to_ns; k++)
			script_number_of(&m->wakes, scene->wakes[k].number);
	}
	for (size_t i = 0; i < m->loops.list.length; i++)
		script_number_of(&m->wakes, LOOP_END | m->loops.list.items[i].first);
	for (size_t i = 0; i < m->messages.sent.length; i++)
		script_number_of(&m->wakes, SENT | m->messages.sent.items[i].number);
	/* Children in the order of their creation: from the last on, each put first. */
	for (uint32_t i = scene->thread_count; i-- > 1; ) {
		const struct thread *t = &scene->tables->threads[i];

		if (t->creator && t->creator < scene->thread_count && t->start_ns > m->p->from_ns && t->start_ns < m->p->to_ns &&
		    !naming_is_kernel(m->naming, i)) {
			m->next_born[i] = m->born[t->creator];
			m->born[t->creator] = i;
		}
	}
	m->p->wakes = m->wakes.length;
}

void script_make(struct naming *naming, const struct holds *holds, const struct script_question *q, struct script *ret_script)
{
	struct making m = { .naming = naming, .scene = naming->scene, .holds = holds, .p = ret_script, .prios = q->prios };
	size_t at = 0;

	*ret_script = (struct script){ .root = q->root, .from_ns = q->from_ns, .to_ns = q->to_ns };
	map_init(&ret_script->place_numbers);
	vec_push(&ret_script->places, (struct op_place){ 0 });
	vec_push(&ret_script->places, (struct op_place){ 0 });
	map_init(&m.wakes);
	m.born = mem_zalloc(arena_array_bytes(sizeof(*m.born), naming->scene->thread_count));
	m.met_at = mem_zalloc(arena_array_bytes(sizeof(*m.met_at), naming->scene->thread_count));
	m.next_born = mem_zalloc(arena_array_bytes(sizeof(*m.next_born), naming->scene->thread_count));
	map_init(&m.meetings);
	map_init(&m.answers);
	script_locks_begin(&m.locks, naming, holds, ret_script);
	script_clocks_find(m.scene, q, &m.clocks);
	script_loops_find(naming, q, &m.loops);
	script_messages_find(naming, q, &m.messages);
	find_deeds(&m);
	find_meetings(&m);
	find_answers(&m);
	m.cost_ns = script_cost_of_wait(m.scene);
	for (uint32_t i = 0; i < naming->scene->thread_count; i++) {
		size_t first;

		while (at < holds->list.length && holds->list.items[at].thread < i)
			at++;
		for (first = at; at < holds->list.length && holds->list.items[at].thread == i; )
			at++;
		make_thread(&m, i, at > first ? holds->list.items + first : NULL, at - first);
	}
	ret_script->run_processors = script_processors(ret_script, m.scene);
	script_find_latencies(ret_script, &m.latencies);
	script_number_turns(ret_script);
	map_done(&m.wakes);
	script_locks_end(&m.locks);
	map_done(&m.meetings);
	map_done(&m.answers);
	script_clocks_done(&m.clocks);
	script_loops_done(&m.loops);
	script_messages_done(&m.messages);
	vec_done(&m.latencies);
	vec_done(&m.children);
	free(m.born);
	free(m.next_born);
	free(m.met_at);
}

void script_done(struct script *script)
{
	vec_done(&script->ops);
	vec_done(&script->threads);
	vec_done(&script->places);
	vec_done(&script->locks);
	vec_done(&script->turns);
	map_done(&script->place_numbers);
}
