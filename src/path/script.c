/* What each thread did, as a program, see script.h.
 *
 * A wait that another program's thread ended is an OP_AWAIT of that wake-up; what a kernel
 * thread, an interrupt or a clock ended took as long as it took. A lock's waits and holds
 * (holds.h) become OP_LOCK and OP_UNLOCK. */
#include "path/script.h"

#include <string.h>

struct lock_point {
	uint64_t time;
	uint32_t lock;
	bool release;
};

struct making {
	struct view *view;
	const struct scene *scene;
	const struct holds *holds;
	struct script *p;
	struct map wakes;         /* event -> number + 1 of wake-ups by programs, in the window */
	struct map locks;         /* object -> number + 1 */
	struct vec(struct lock_point) points; /* of the thread that is made */
	size_t point;
	uint32_t wake, wakes_end, fork;
	uint32_t *born;           /* threads by creation: first child of each, chained by next_born */
	uint32_t *next_born;
};

static void put(struct making *m, enum op_kind kind, uint64_t value, uint32_t place)
{
	struct op *last = m->p->ops.length ? &m->p->ops.items[m->p->ops.length - 1] : NULL;
	struct op_thread *t = &m->p->threads.items[m->p->threads.length - 1];

	if (kind <= OP_QUEUED && !value)
		return;
	if (kind <= OP_QUEUED && t->count && last->kind == kind && last->place == place) {
		last->value += value;
		return;
	}
	vec_push(&m->p->ops, ((struct op){ .value = value, .kind = kind, .place = place }));
	t->count++;
}

static uint32_t place_of(struct making *m, const struct stretch_words *w, uint32_t thread)
{
	uint64_t hash = hash_u64(hash_u64((uint64_t)w->key.who.program << 32 | w->key.who.thread) + ((uint64_t)w->lock << 32 | w->function)) + w->runs;

	thread = w->runs ? thread : 0;
	hash = hash_u64(hash + thread);

	for (;; hash++) {
		bool fresh = false;
		uint64_t *number = map_at(&m->p->place_numbers, hash, &fresh);
		const struct op_place *p;

		if (fresh) {
			*number = m->p->places.length;
			vec_push(&m->p->places, ((struct op_place){ w->lock, w->function, w->key.who, w->runs, thread }));
			return (uint32_t)*number;
		}
		p = &m->p->places.items[*number];
		if (p->lock == w->lock && p->function == w->function && p->runs == w->runs && p->thread == thread && p->who.program == w->key.who.program &&
		    p->who.thread == w->key.who.thread)
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

static void find_points(struct making *m, uint32_t thread, const struct hold *holds, size_t count)
{
	uint64_t until = 0;

	vec_clear(&m->points);
	m->point = 0;
	for (size_t i = 0; i < count; i++) {
		const struct wait *w = got_by(m, thread, &holds[i]);
		uint32_t lock;

		/* Two holds of one lock that overlap are a guess too much. */
		if (holds[i].shared || holds[i].end_ns > m->p->to_ns || holds[i].end_ns <= m->p->from_ns || (w ? w->start_ns : holds[i].start_ns) < until)
			continue;
		lock = number_of(&m->locks, holds[i].object);
		if (lock == m->p->locks.length)
			vec_push(&m->p->locks, holds[i].lock);
		vec_push(&m->points, ((struct lock_point){ w ? w->start_ns : holds[i].start_ns, lock, false }));
		vec_push(&m->points, ((struct lock_point){ holds[i].end_ns, lock, true }));
		until = holds[i].end_ns;
	}
	if (m->points.length)
		qsort(m->points.items, m->points.length, sizeof(*m->points.items), by_time);
}

/* ---- one thread ---- */

/* What it did to others up to the moment. */
static void put_deeds(struct making *m, uint32_t thread, uint64_t until, bool inclusive)
{
	const struct scene *scene = m->scene;

	while (m->wake < m->wakes_end && (scene->wakes[m->wake].time < until || (inclusive && scene->wakes[m->wake].time == until))) {
		const uint64_t *number = map_find(&m->wakes, scene->wakes[m->wake++].number);

		if (number)
			put(m, OP_WAKE, *number - 1, 0);
	}
	while (m->born[thread] && (scene->tables->threads[m->born[thread]].start_ns < until ||
				   (inclusive && scene->tables->threads[m->born[thread]].start_ns == until))) {
		put(m, OP_BEGIN, m->born[thread], 0);
		m->born[thread] = m->next_born[m->born[thread]];
	}
	while (m->point < m->points.length && (m->points.items[m->point].time < until || (inclusive && m->points.items[m->point].time == until))) {
		const struct lock_point *at = &m->points.items[m->point++];

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
		words = critical_words(m->view, thread, NULL, doing, hold, at);
		put(m, kind, end - at, place_of(m, &words, thread));
		at = end;
	}
}

static void put_wait(struct making *m, uint32_t thread, const struct wait *w, uint64_t from, uint64_t to)
{
	const uint64_t *wake = w->end == WAIT_END_THREAD && w->end_ns <= m->p->to_ns ? map_find(&m->wakes, w->end_event) : NULL;
	struct stretch_words words;
	uint64_t until;

	put_deeds(m, thread, from, true);
	/* Who waits for a lock gets it when it is free: that is a point of its own. */
	if (view_wait_class(m->view, w) == WAIT_CLASS_lock && w->end == WAIT_END_THREAD && !view_is_shared_lock(m->view, w))
		return;
	if (wake) {
		put(m, OP_AWAIT, *wake - 1, 0);
		return;
	}
	for (uint64_t at = from; at < to; at = until) {
		const struct hold *hold = holds_at(m->holds, thread, at, &until);

		put_deeds(m, thread, at, true);
		until = until < to ? until : to;
		words = critical_words(m->view, thread, w, CLASS_WAIT, hold, at);
		put(m, OP_DELAY, until - at, place_of(m, &words, thread));
	}
}

static void make_thread(struct making *m, uint32_t thread, const struct hold *holds, size_t count)
{
	const struct scene *scene = m->scene;
	const struct scene_thread *t = &scene->threads[thread];
	const struct thread *life = &scene->tables->threads[thread];
	uint64_t from = m->p->from_ns, to = m->p->to_ns;
	bool told = life->start_ns > from && life->creator && !view_is_kernel(m->view, life->creator);

	vec_push(&m->p->threads, ((struct op_thread){ .first = (uint32_t)m->p->ops.length, .start_ns = told ? UINT64_MAX
		: life->start_ns > from ? life->start_ns : from }));
	if (!thread || view_is_kernel(m->view, thread) || life->start_ns >= to || life->end_ns <= from)
		return;
	m->p->threads.items[thread].who = view_role(m->view, thread);
	m->wake = scene_wakes_from(scene, thread, from);
	m->wakes_end = scene_wakes_end(scene, thread);
	find_points(m, thread, holds, count);
	for (uint32_t i = scene_span_index(scene, thread, from); i < t->span_count && t->spans[i].start_ns < to; i++) {
		const struct span *s = &t->spans[i];
		uint64_t begin = s->start_ns > from ? s->start_ns : from, end = span_end(s) < to ? span_end(s) : to;

		switch ((enum span_state)s->state) {
		case SPAN_RUNNING:
			put_running(m, thread, CLASS_RUN, OP_COMPUTE, begin, end);
			break;
		case SPAN_RUNNABLE:
			put_running(m, thread, s->throttled ? CLASS_THROTTLED : CLASS_QUEUED, s->throttled ? OP_DELAY : OP_QUEUED, begin, end);
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

/* Wake-ups of programs by programs; who began whom. */
static void find_deeds(struct making *m)
{
	const struct scene *scene = m->scene;

	for (uint32_t i = 1; i < scene->thread_count; i++) {
		if (view_is_kernel(m->view, i))
			continue;
		for (uint32_t k = scene_wakes_from(scene, i, m->p->from_ns); k < scene_wakes_end(scene, i) && scene->wakes[k].time <= m->p->to_ns; k++)
			number_of(&m->wakes, scene->wakes[k].number);
	}
	/* Children in the order of their creation: from the last on, each put first. */
	for (uint32_t i = scene->thread_count; i-- > 1; ) {
		const struct thread *t = &scene->tables->threads[i];

		if (t->creator && t->creator < scene->thread_count && t->start_ns > m->p->from_ns && t->start_ns < m->p->to_ns &&
		    !view_is_kernel(m->view, i)) {
			m->next_born[i] = m->born[t->creator];
			m->born[t->creator] = i;
		}
	}
	m->p->wakes = m->wakes.length;
}

void script_make(struct view *view, const struct holds *holds, uint32_t root, uint64_t from_ns, uint64_t to_ns, struct script *ret_script)
{
	struct making m = { .view = view, .scene = view->scene, .holds = holds, .p = ret_script };
	size_t at = 0;

	*ret_script = (struct script){ .root = root, .from_ns = from_ns, .to_ns = to_ns };
	map_init(&ret_script->place_numbers);
	map_init(&m.wakes);
	map_init(&m.locks);
	m.born = mem_zalloc(arena_array_bytes(sizeof(*m.born), view->scene->thread_count));
	m.next_born = mem_zalloc(arena_array_bytes(sizeof(*m.next_born), view->scene->thread_count));
	find_deeds(&m);
	for (uint32_t i = 0; i < view->scene->thread_count; i++) {
		size_t first;

		while (at < holds->list.length && holds->list.items[at].thread < i)
			at++;
		for (first = at; at < holds->list.length && holds->list.items[at].thread == i; )
			at++;
		make_thread(&m, i, holds->list.items + first, at - first);
	}
	map_done(&m.wakes);
	map_done(&m.locks);
	vec_done(&m.points);
	free(m.born);
	free(m.next_born);
}

void script_done(struct script *script)
{
	vec_done(&script->ops);
	vec_done(&script->threads);
	vec_done(&script->places);
	vec_done(&script->locks);
	map_done(&script->place_numbers);
}
