/* What each thread did, as a program, see script.h.
 *
 * A wait that another program's thread ended is an OP_AWAIT of that wake-up; what a kernel
 * thread, an interrupt or a clock ended took as long as it took. A lock's waits and holds
 * (holds.h) become OP_LOCK and OP_UNLOCK. */
#include "path/script_scene.h"

#include <string.h>

#include "diagnose/judgement.h"
#include "diagnose/loops.h"
#include "path/cpu_runs.h"

struct lock_point {
	uint64_t time, had_ns;    /* asked for or given back; had from then on */
	uint32_t lock;
	bool release;
};

/* How long a lock is had from one who gave it to the next, where that is known. */
struct typical_hold {
	uint32_t lock, function;
	uint64_t ns;
};

struct lock_taken {
	uint64_t ns;
	const struct wait *wait;  /* by which, NULL: it did not wait */
	bool told;
};

struct making {
	struct naming *naming;
	const struct scene *scene;
	const struct holds *holds;
	struct script *p;
	struct map wakes;         /* event -> number + 1 of wake-ups by programs, in the window */
	struct map locks;         /* object -> number + 1 */
	const uint8_t *prios;
	uint64_t cost_ns;         /* of a wait, on a processor */
	struct vec(struct lock_point) points; /* of the thread that is made */
	struct vec(struct lock_taken) taken;  /* its holds */
	struct vec(uint32_t) claimed;         /* its waits by which it got a lock that is known to have been held */
	size_t point;
	struct vec(uint32_t) children;        /* begun by it, and not awaited yet */
	uint32_t loop, loop_for;  /* episode + 1 that was asked last for whom it waits, and the answer */
	struct map meetings;      /* events that wake those who stand at a barrier */
	struct latencies latencies;
	struct vec(struct typical_hold) typical;
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

/* `thread`: of work on a processor whose, else 0. */
static uint32_t place_of(struct making *m, const struct stretch_words *w, uint32_t thread, bool polls)
{
	uint64_t hash = hash_u64(hash_u64((uint64_t)w->key.who.program << 32 | w->key.who.thread) + ((uint64_t)w->lock << 32 | w->function));

	hash = hash_u64(hash + ((uint64_t)thread << 2 | (uint64_t)w->runs << 1 | polls));
	for (;; hash++) {
		bool fresh = false;
		uint64_t *number = map_at(&m->p->place_numbers, hash, &fresh);
		const struct op_place *p;

		if (fresh) {
			*number = m->p->places.length;
			vec_push(&m->p->places, ((struct op_place){ w->lock, w->function, w->key.who, w->runs, polls, thread }));
			return (uint32_t)*number;
		}
		p = &m->p->places.items[*number];
		if (p->lock == w->lock && p->function == w->function && p->runs == w->runs && p->polls == polls && p->thread == thread &&
		    p->who.program == w->key.who.program && p->who.thread == w->key.who.thread)
			return (uint32_t)*number;
	}
}

static uint32_t number_of(struct map *map, uint64_t key)
{
	bool fresh = false;
	uint64_t *number = map_at(map, key, &fresh);

	if (fresh)
		*number = map->length;
	return (uint32_t)*number - 1;
}

/* ---- locks of one thread ---- */

static int by_time(const void *a, const void *b)
{
	const struct lock_point *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (int)y->release - (int)x->release;
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The thread's last wait for the lock, if that is how it got it. */
static const struct wait *got_by(const struct making *m, uint32_t thread, const struct hold *h)
{
	uint32_t first = m->scene->threads[thread].wait;

	for (uint32_t i = scene_waits_from(m->scene, thread, h->end_ns); i-- > first; ) {
		const struct wait *w = &m->scene->waits[i];

		if (w->end_ns < h->start_ns)
			return NULL;
		if (w->object == h->object && w->end_ns < h->end_ns)
			return w;
	}
	return NULL;
}

/* Who took it while nobody wanted it had it for about as long as others did, if it ran meanwhile. */
static uint64_t begin_of(const struct making *m, uint32_t thread, const struct hold *h, const struct hold *before)
{
	uint64_t ns = 0, begin, waited;
	uint32_t wait = scene_waits_from(m->scene, thread, h->start_ns);

	if (h->exact)
		return h->start_ns;
	for (size_t i = 0; i < m->typical.length && !ns; i++)
		if (m->typical.items[i].lock == h->lock && m->typical.items[i].function == h->function)
			ns = m->typical.items[i].ns;
	begin = h->end_ns > ns ? h->end_ns - ns : 0;
	waited = wait > m->scene->threads[thread].wait ? m->scene->waits[wait - 1].end_ns : 0;
	begin = begin < h->earliest_ns ? h->earliest_ns : begin;
	begin = begin < waited ? waited : begin;
	begin = before && begin < before->end_ns ? before->end_ns : begin;
	return begin < h->start_ns ? begin : h->start_ns;
}

#define LOOKED_AROUND 4u /* holds that a thread has at once, as far as is looked */

/* When the thread took the locks: as it asked for them; where nobody tells, at the latest
 * when others were seen to want them. */
static void find_taken(struct making *m, uint32_t thread, const struct hold *holds, size_t count)
{
	vec_clear(&m->taken);
	for (size_t i = 0; i < count; i++) {
		const struct wait *w = got_by(m, thread, &holds[i]);

		vec_push(&m->taken, ((struct lock_taken){ w ? w->start_ns : begin_of(m, thread, &holds[i], i ? &holds[i - 1] : NULL), w, true }));
		if (holds[i].shared || holds[i].end_ns > m->p->to_ns || holds[i].end_ns <= m->p->from_ns)
			m->taken.items[i].told = false;
	}
	/* Locks are given back in the opposite order: one that is kept longer than another was taken before it. */
	for (size_t i = 0; i < count; i++)
		for (size_t k = i < LOOKED_AROUND ? 0 : i - LOOKED_AROUND; k < count && k <= i + LOOKED_AROUND; k++) {
			const struct lock_taken *inner = &m->taken.items[k];

			if (!m->taken.items[i].wait && inner->ns && inner->ns <= m->taken.items[i].ns && holds[k].end_ns > m->taken.items[i].ns &&
			    holds[k].end_ns < holds[i].end_ns && holds[k].object != holds[i].object)
				m->taken.items[i].ns = inner->ns - 1;
		}
}

static uint32_t lock_number(struct making *m, uint64_t object, uint32_t text)
{
	uint32_t lock = number_of(&m->locks, object);

	if (lock == m->p->locks.length)
		vec_push(&m->p->locks, text);
	return lock;
}

static void add_points(struct making *m, uint32_t lock, uint64_t taken_ns, uint64_t had_ns, uint64_t given_ns)
{
	vec_push(&m->points, ((struct lock_point){ taken_ns, had_ns, lock, false }));
	vec_push(&m->points, ((struct lock_point){ given_ns, given_ns, lock, true }));
}

static bool is_lock_wait(struct making *m, const struct wait *w)
{
	return w->end == WAIT_END_THREAD && naming_wait_class(m->naming, w) == WAIT_CLASS_lock && !naming_is_shared_lock(m->naming, w);
}

/* Of stretches in which the thread would have the same lock twice, the inner ends: it has it once. */
static void drop_inner_points(struct making *m)
{
	struct vec(uint32_t) depths = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < m->points.length; i++) {
		struct lock_point at = m->points.items[i];

		while (depths.length <= at.lock)
			vec_push(&depths, 0);
		if (at.release ? --depths.items[at.lock] : depths.items[at.lock]++)
			continue;
		m->points.items[kept++] = at;
	}
	m->points.length = kept;
	vec_done(&depths);
}

static void find_points(struct making *m, uint32_t thread, const struct hold *holds, size_t count)
{
	uint32_t waits_end = scene_waits_end(m->scene, thread);
	size_t next = 0;

	vec_clear(&m->points);
	vec_clear(&m->claimed);
	m->point = 0;
	find_taken(m, thread, holds, count);
	for (size_t i = 0; i < count; i++) {
		const struct lock_taken *taken = &m->taken.items[i];

		if (!taken->told)
			continue;
		add_points(m, lock_number(m, holds[i].object, holds[i].lock), taken->ns, holds[i].start_ns, holds[i].end_ns);
		if (taken->wait)
			vec_push(&m->claimed, (uint32_t)(taken->wait - m->scene->waits));
	}
	if (m->claimed.length)
		qsort(m->claimed.items, m->claimed.length, sizeof(*m->claimed.items), by_number);
	/* Who got a lock that nobody wanted while he had it waited for it all the same. */
	for (uint32_t i = scene_waits_from(m->scene, thread, m->p->from_ns); i < waits_end && m->scene->waits[i].end_ns <= m->p->to_ns; i++) {
		const struct wait *w = &m->scene->waits[i];

		while (next < m->claimed.length && m->claimed.items[next] < i)
			next++;
		if ((next == m->claimed.length || m->claimed.items[next] != i) && is_lock_wait(m, w))
			add_points(m, lock_number(m, w->object, naming_lock(m->naming, w)), w->start_ns, w->end_ns, w->end_ns);
	}
	if (m->points.length)
		qsort(m->points.items, m->points.length, sizeof(*m->points.items), by_time);
	drop_inner_points(m);
}

/* ---- one thread ---- */

/* What it did to others up to the moment. */
static void put_deeds(struct making *m, uint32_t thread, uint64_t until, bool inclusive)
{
	const struct scene *scene = m->scene;

	while (m->wake < m->wakes_end && (scene->wakes[m->wake].time < until || (inclusive && scene->wakes[m->wake].time == until))) {
		uint64_t event = scene->wakes[m->wake++].number;
		const uint64_t *number = map_find(&m->wakes, event);

		if (number && map_find(&m->meetings, event))
			put(m, OP_MEET, *number - 1, 0);
		if (number)
			put(m, OP_WAKE, *number - 1, 0);
	}
	while (m->born[thread] && (scene->tables->threads[m->born[thread]].start_ns < until ||
				   (inclusive && scene->tables->threads[m->born[thread]].start_ns == until))) {
		put(m, OP_BEGIN, m->born[thread], 0);
		vec_push(&m->children, m->born[thread]);
		m->born[thread] = m->next_born[m->born[thread]];
	}
	while (m->point < m->points.length && (m->points.items[m->point].time < until || (inclusive && m->points.items[m->point].time == until))) {
		const struct lock_point *at = &m->points.items[m->point++];

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
	if (m->born[thread] && scene->tables->threads[m->born[thread]].start_ns < limit)
		limit = scene->tables->threads[m->born[thread]].start_ns;
	if (m->point < m->points.length && m->points.items[m->point].time < limit)
		limit = m->points.items[m->point].time;
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
		put(m, kind, end - at, place_of(m, &words, thread, false));
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
	return place_of(m, &words, thread, false);
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

static uint64_t slept_longer(const struct wait *w, uint64_t most)
{
	uint64_t slept = w->end_ns - w->start_ns, slack = slept > w->timeout_ns ? slept - w->timeout_ns : 0;

	return slack < most ? slack : most;
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
		const struct wait *wait = span && span->state == SPAN_WAITING && span->wait ? &m->scene->waits[span->wait] : NULL;
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
		put(m, OP_DELAY, until - at, span ? place_of(m, &words, wait ? 0 : other, false) : 0);
	}
}

#define LOOKED_LEAST_NS 20000000u /* loops that are shorter are not asked for whom they wait */

/* Who does what the loop looks for, of which the sleep is a part; 0 not surely known. */
static uint32_t looked_for(struct making *m, const struct wait *w)
{
	const struct episode *e = &m->scene->episodes[w->episode];
	uint8_t confidence = 0;

	if (m->loop != w->episode + 1) {
		m->loop = w->episode + 1;
		m->loop_for = e->end_ns - e->start_ns < LOOKED_LEAST_NS || !loop_is(m->scene, e) ? 0
			: loop_partner(m->scene, w->thread, e->start_ns, e->end_ns, &confidence);
		if (confidence < limit_of(m->scene, LIMIT_flag_known))
			m->loop_for = 0;
	}
	return m->loop_for;
}

static void put_wait(struct making *m, uint32_t thread, const struct wait *w, uint64_t from, uint64_t to)
{
	const uint64_t *wake = wake_of(m, w), *wanted = wake ? NULL : wake_of(m, script_wanted(m->scene, w));
	bool polls = w->kind == WAIT_KIND_sleep && w->episode && m->scene->episodes[w->episode].slices > 1;
	bool clocked = script_is_clocked(m->scene, w);
	uint32_t place, setter = polls && !clocked ? looked_for(m, w) : 0;
	struct stretch_words words;
	uint64_t until, slack;

	put_deeds(m, thread, from, true);
	/* Who waits for a lock gets it when it is free: that is a point of its own. */
	if (is_lock_wait(m, w) && w->end_ns <= m->p->to_ns && w->end_ns > m->p->from_ns)
		return;
	/* Of a lock that several have at once nobody knows in which order they would come. */
	if (wake && naming_wait_class(m->naming, w) == WAIT_CLASS_lock)
		setter = w->waker;
	if (setter) {
		put_meanwhile(m, thread, setter, from, to, 0);
		return;
	}
	if (wake) {
		put(m, OP_AWAIT, *wake - 1, 0);
		if (w->kind == WAIT_KIND_child || naming_wait_class(m->naming, w) == WAIT_CLASS_end)
			put_joins(m, w->end_ns);
		return;
	}
	for (uint64_t at = from; at < to; at = until) {
		const struct hold *hold = holds_at(m->holds, thread, at, &until);

		put_deeds(m, thread, at, true);
		until = until < to ? until : to;
		words = critical_words(m->naming, thread, w, CLASS_WAIT, hold, at);
		place = clocked ? 0 : place_of(m, &words, 0, polls);
		if (until == to && clocked)
			put(m, OP_CLOCK, to, 0);
		slack = until == to && !clocked && w->kind == WAIT_KIND_sleep && w->end == WAIT_END_TIMEOUT && w->timeout_ns
			? slept_longer(w, until - at) : 0;
		if (wanted)
			put(m, OP_LIMIT, *wanted - 1, 0);
		put(m, OP_DELAY, until - at - slack, place);
		put(m, OP_SLACK, slack, place);
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
	else if (woken && script_was_free(m->scene, s->cpu, from))
		put_latency(m, thread, s, from, to);
	else
		put_queued(m, thread, s->cpu, from, to);
}

static void make_thread(struct making *m, uint32_t thread, const struct hold *holds, size_t count)
{
	const struct scene *scene = m->scene;
	const struct scene_thread *t = &scene->threads[thread];
	const struct thread *life = &scene->tables->threads[thread];
	uint64_t from = m->p->from_ns, to = m->p->to_ns;
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
	vec_clear(&m->children);
	find_points(m, thread, holds, count);
	for (uint32_t i = scene_span_index(scene, thread, from); i < t->span_count && t->spans[i].start_ns < to; i++) {
		const struct span *s = &t->spans[i];
		uint64_t begin = s->start_ns > from ? s->start_ns : from, end = span_end(s) < to ? span_end(s) : to, middle;

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
			if (s->wait)
				put_wait(m, thread, &scene->waits[s->wait], begin, end);
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

struct length {
	uint32_t lock, function;
	uint64_t ns;
};

static int by_length(const void *a, const void *b)
{
	const struct length *x = a, *y = b;

	if (x->lock != y->lock)
		return x->lock < y->lock ? -1 : 1;
	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

static void find_typical(struct making *m)
{
	struct vec(struct length) lengths = { 0 };

	for (size_t i = 0; i < m->holds->list.length; i++) {
		const struct hold *h = &m->holds->list.items[i];

		if (h->exact && !h->shared)
			vec_push(&lengths, ((struct length){ h->lock, h->function, h->end_ns - h->start_ns }));
	}
	if (lengths.length)
		qsort(lengths.items, lengths.length, sizeof(*lengths.items), by_length);
	for (size_t i = 0, end; i < lengths.length; i = end) {
		const struct length *l = &lengths.items[i];

		for (end = i; end < lengths.length && lengths.items[end].lock == l->lock && lengths.items[end].function == l->function; end++)
			;
		vec_push(&m->typical, ((struct typical_hold){ l->lock, l->function, lengths.items[i + (end - i) / 2].ns }));
	}
	vec_done(&lengths);
}

/* Who ends the waits at a barrier is who came last. */
static void find_meetings(struct making *m)
{
	for (uint32_t i = 1; i < m->scene->thread_count; i++)
		for (uint32_t k = scene_waits_from(m->scene, i, m->p->from_ns); k < scene_waits_end(m->scene, i); k++) {
			const struct wait *w = &m->scene->waits[k];

			if (w->end == WAIT_END_THREAD && w->kind == WAIT_KIND_futex && naming_wait_class(m->naming, w) == WAIT_CLASS_barrier)
				map_put(&m->meetings, w->end_event, 1);
		}
}

/* Wake-ups of programs by programs; who began whom. */
static void find_deeds(struct making *m)
{
	const struct scene *scene = m->scene;

	for (uint32_t i = 1; i < scene->thread_count; i++) {
		if (naming_is_kernel(m->naming, i))
			continue;
		for (uint32_t k = scene_wakes_from(scene, i, m->p->from_ns); k < scene_wakes_end(scene, i) && scene->wakes[k].time <= m->p->to_ns; k++)
			number_of(&m->wakes, scene->wakes[k].number);
	}
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
	map_init(&m.locks);
	m.born = mem_zalloc(arena_array_bytes(sizeof(*m.born), naming->scene->thread_count));
	m.next_born = mem_zalloc(arena_array_bytes(sizeof(*m.next_born), naming->scene->thread_count));
	map_init(&m.meetings);
	find_deeds(&m);
	find_meetings(&m);
	find_typical(&m);
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
	map_done(&m.locks);
	map_done(&m.meetings);
	vec_done(&m.latencies);
	vec_done(&m.typical);
	vec_done(&m.points);
	vec_done(&m.claimed);
	vec_done(&m.taken);
	vec_done(&m.children);
	free(m.born);
	free(m.next_born);
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
