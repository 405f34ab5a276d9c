/* The clipped walk against a reference that asks, for every single moment, whom
 * it is charged to: 10,000 random small scenes with timers, interrupts, relays,
 * births and missing wakers. The same worlds written as traces must come back
 * through the event graph as the scenes that they were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "diagnose/walk.h"
#include "text_trace.h"

#define THREADS 7
#define LENGTH 160

struct world {
	struct arena arena;
	struct scene scene;
	struct tables tables;
	struct thread threads[THREADS];
	struct scene_thread rows[THREADS];
	uint8_t at[THREADS][LENGTH];            /* span state at each moment */
	struct vec(struct wait) waits;
	struct vec(struct wake) wakes;
	uint64_t seed;
	bool logged;                            /* what a trace can tell, and nothing else, happens */
	struct buf log;                         /* the trace, as text */
	uint64_t logged_moment;
	unsigned logged_events;                 /* in that moment */
};

#define TID(thread) ((thread) + 100)

#define MOMENT_NS 1000

static unsigned event_offset(struct world *w, uint64_t now)
{
	if (w->logged_moment != now)
		w->logged_events = 0;
	w->logged_moment = now;
	return w->logged_events++;
}

/* One event of the trace, on the processor that is the thread's own; those of a
 * moment follow each other. */
static void log_event(struct world *w, uint64_t now, unsigned processor, unsigned tid, const char *event)
{
	if (w->logged)
		buf_printf(&w->log, "1.%09u [%u] %u %s\n", (unsigned)now * MOMENT_NS + event_offset(w, now), processor,
			   tid, event);
}

static void log_in(struct world *w, uint64_t now, unsigned thread)
{
	char event[64];

	snprintf(event, sizeof(event), "switch next=%u", TID(thread));
	log_event(w, now, thread, 0, event);
}

static void log_wait(struct world *w, uint64_t now, const struct wait *wait)
{
	static const char *const names[] = { [WAIT_KIND_futex] = "futex", [WAIT_KIND_poll] = "poll", [WAIT_KIND_sleep] = "sleep",
					     [WAIT_KIND_read] = "read", [WAIT_KIND_stop] = "stop" };
	char event[128];

	snprintf(event, sizeof(event), "switch next=0 state=%s wait=%s argument=%u", wait->kind == WAIT_KIND_stop ? "stopped" : "sleeping",
		 names[wait->kind], (unsigned)wait->site % 2);
	log_event(w, now, wait->thread, TID(wait->thread), event);
}

static void log_wake(struct world *w, uint64_t now, unsigned waker, unsigned target, const char *how)
{
	char event[128];

	snprintf(event, sizeof(event), "wake target=%u %s", TID(target), how);
	log_event(w, now, waker ? waker : target, waker ? TID(waker) : 0, event);
}

static unsigned pick(struct world *w, unsigned below)
{
	w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(w->seed >> 33) % below;
}

static void log_birth(struct world *w, uint64_t now, unsigned thread, unsigned child)
{
	char event[64];

	snprintf(event, sizeof(event), "fork child=%u child_pid=%u \"t\"", TID(child), TID(child));
	log_event(w, now, thread, TID(thread), event);
}

static void begin_wait(struct world *w, unsigned thread, uint64_t now)
{
	static const uint8_t kinds[] = { WAIT_KIND_futex, WAIT_KIND_poll, WAIT_KIND_sleep, WAIT_KIND_read, WAIT_KIND_stop };
	uint8_t kind = kinds[pick(w, pick(w, 4) ? 4 : 5)];

	vec_push(&w->waits, ((struct wait){ .start_ns = now, .end_ns = LENGTH, .thread = thread, .kind = kind,
					    .site = kind * 2 + pick(w, 2) }));
	log_wait(w, now, &w->waits.items[w->waits.length - 1]);
}

static struct wait *open_wait(struct world *w, unsigned thread)
{
	for (size_t i = w->waits.length; i-- > 1; )
		if (w->waits.items[i].thread == thread)
			return &w->waits.items[i];
	return NULL;
}

/* In a trace one of the two came first; a world's moments do not tell which. */
static bool came_as_it_went(const struct world *w, uint32_t thread, const struct wait *wait)
{
	for (size_t i = 1; i < w->waits.length; i++)
		if (w->waits.items[i].thread == thread && w->waits.items[i].end_ns == wait->start_ns)
			return true;
	return false;
}

/* One moment of one thread's life; running threads wake others or go to sleep,
 * sleepers are woken by timers, devices, or run again for no seen reason. */
static void live(struct world *w, unsigned thread, uint64_t now)
{
	uint8_t *at = w->at[thread];
	uint8_t state = now ? at[now - 1] : SPAN_RUNNING;
	unsigned other = 1 + pick(w, THREADS - 1);

	if (!now && at[now] != SPAN_ABSENT)
		log_in(w, now, thread);
	if (at[now] != SPAN_UNKNOWN)
		state = at[now]; /* woken or born at this moment */
	if (state == SPAN_WAITING || state == SPAN_STOPPED) {
		struct wait *wait = open_wait(w, thread);

		if (now > wait->start_ns && !pick(w, 12)) {
			static const uint8_t ends[] = { WAIT_END_TIMEOUT, WAIT_END_TIMEOUT, WAIT_END_SOURCE, WAIT_END_UNKNOWN };

			wait->end_ns = now;
			wait->end = ends[pick(w, 4)];
			state = pick(w, 2) || wait->end == WAIT_END_UNKNOWN ? SPAN_RUNNING : SPAN_RUNNABLE;
			if (wait->end != WAIT_END_UNKNOWN)
				log_wake(w, now, 0, thread, wait->end == WAIT_END_TIMEOUT ? "context=hardirq cause=timeout"
										       : "context=hardirq cause=device source=0x9");
			if (state == SPAN_RUNNING)
				log_in(w, now, thread);
		}
	} else if (state == SPAN_RUNNABLE) {
		if (!pick(w, 3)) {
			state = SPAN_RUNNING;
			log_in(w, now, thread);
		}
	} else if (state == SPAN_RUNNING && !pick(w, 3)) {
		struct wait *wait = open_wait(w, other);

		if (other != thread && now && w->at[other][now] == SPAN_UNKNOWN && wait && wait->end_ns == LENGTH &&
		    !(w->logged && came_as_it_went(w, thread, wait)) &&
		    (w->at[other][now - 1] == SPAN_WAITING || w->at[other][now - 1] == SPAN_STOPPED)) {
			wait->end_ns = now;
			wait->end = WAIT_END_THREAD;
			wait->waker = thread;
			wait->end_event = now;
			vec_push(&w->wakes, ((struct wake){ .time = now, .waker = thread, .target = other }));
			log_wake(w, now, thread, other, "cause=thread");
			w->at[other][now] = SPAN_RUNNABLE;
		} else if (other != thread && !w->threads[other].start_ns && w->at[other][now] == SPAN_UNKNOWN && now &&
			   w->at[other][now - 1] == SPAN_ABSENT) {
			w->threads[other].start_ns = now;
			w->threads[other].creator = thread;
			w->at[other][now] = SPAN_RUNNABLE;
			log_birth(w, now, thread, other);
		} else if (pick(w, 2)) {
			begin_wait(w, thread, now);
			state = w->waits.items[w->waits.length - 1].kind == WAIT_KIND_stop ? SPAN_STOPPED : SPAN_WAITING;
		}
	}
	at[now] = state;
}

static int by_thread(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	return x->thread != y->thread ? (x->thread > y->thread) - (x->thread < y->thread)
				      : (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int by_waker(const void *a, const void *b)
{
	const struct wake *x = a, *y = b;

	return x->waker != y->waker ? (x->waker > y->waker) - (x->waker < y->waker) : (x->time > y->time) - (x->time < y->time);
}

static void keep(struct world *w)
{
	if (w->waits.length > 1)
		qsort(w->waits.items + 1, w->waits.length - 1, sizeof(*w->waits.items), by_thread);
	if (w->wakes.length)
		qsort(w->wakes.items, w->wakes.length, sizeof(*w->wakes.items), by_waker);
	for (unsigned i = 0; i < THREADS; i++) {
		struct scene_thread *row = &w->rows[i];
		struct span *spans = arena_array(&w->arena, struct span, LENGTH + 1);

		for (unsigned now = 0; now < LENGTH; now++)
			if (!now || w->at[i][now] != w->at[i][now - 1])
				spans[row->span_count++] = (struct span){ .start_ns = now, .state = w->at[i][now] };
		spans[row->span_count].start_ns = LENGTH;
		row->wait = 1;
		for (uint32_t j = 1; j < w->waits.length; j++) {
			row->wait += w->waits.items[j].thread < i;
			row->wait_count += w->waits.items[j].thread == i;
		}
		for (uint32_t j = 0; j < w->wakes.length; j++) {
			row->wake += w->wakes.items[j].waker < i;
			row->wake_count += w->wakes.items[j].waker == i;
		}
		row->spans = spans;
	}
	w->scene.tables = &w->tables;
	w->scene.threads = w->rows;
	w->scene.thread_count = THREADS;
	w->scene.waits = w->waits.items;
	w->scene.wait_count = (uint32_t)w->waits.length;
	w->scene.wakes = w->wakes.items;
	w->scene.wake_count = (uint32_t)w->wakes.length;
	w->scene.end_ns = LENGTH;
	w->tables.threads = w->threads;
	w->tables.thread_count = THREADS;
	scene_join_waits(&w->scene);
}

static void make_world(struct world *w, uint64_t seed, bool logged)
{
	memset(w, 0, sizeof(*w));
	w->logged = logged;
	w->seed = seed * 2654435761u + 12345;
	vec_push(&w->waits, ((struct wait){ 0 }));
	for (unsigned i = 1; i < THREADS; i++)
		if (i > 2 && !pick(w, 3))
			w->at[i][0] = SPAN_ABSENT;
	for (unsigned i = 1; logged && i < THREADS; i++)
		if (w->at[i][0] != SPAN_ABSENT)
			buf_printf(&w->log, "1 [0] %u task pid=%u flags=leader \"t\"\n", TID(i), TID(i));
	for (uint64_t now = 0; now < LENGTH; now++) {
		unsigned first = pick(w, THREADS - 1);

		for (unsigned i = 0; i < THREADS - 1; i++)
			live(w, 1 + (first + i) % (THREADS - 1), now);
	}
	keep(w);
}

static void free_world(struct world *w)
{
	buf_done(&w->log);
	free(w->scene.episodes);
	arena_done(&w->scene.laid);
	arena_done(&w->arena);
	vec_done(&w->waits);
	vec_done(&w->wakes);
}

/* Who should have ended a wait: any fixed answer will do, relays included. */
static unsigned some_hops(struct walk *walk, const struct episode *episode, uint64_t from, uint64_t to,
			  struct hop hops[WALK_MAX_HOPS])
{
	(void)from;
	(void)to;
	(void)walk;
	if (episode->first % 3 == 0)
		return 0;
	hops[0] = (struct hop){ .from_ns = episode->start_ns, .thread = 1 + episode->first % (THREADS - 1), .confidence = 50 };
	if (episode->first % 3 == 1)
		return 1;
	hops[1] = (struct hop){ .from_ns = (episode->start_ns + episode->end_ns) / 2,
				.thread = 1 + (episode->first + 3) % (THREADS - 1), .confidence = 50 };
	return 2;
}

/* ---- the reference ---- */

struct charged {
	uint32_t thread;
	uint8_t state, charge;
};

static bool looked_again(const struct world *w, const struct wait *before, const struct wait *after)
{
	if (before->site != after->site || before->kind == WAIT_KIND_stop || before->end != WAIT_END_TIMEOUT)
		return false;
	for (size_t i = 0; i < w->wakes.length; i++) {
		const struct wake *k = &w->wakes.items[i];

		if (k->waker != before->thread || k->time < before->end_ns || k->time >= after->start_ns)
			continue;
		/* it ended a wait that had begun before the look */
		for (size_t j = 1; j < w->waits.length; j++) {
			const struct wait *ended = &w->waits.items[j];

			if (ended->thread == k->target && ended->kind != WAIT_KIND_stop && ended->start_ns < before->end_ns &&
			    ended->end_ns == k->time)
				return false;
		}
	}
	return true;
}

static const struct wait *next_wait(const struct world *w, const struct wait *wait)
{
	for (const struct wait *n = wait + 1; n < w->waits.items + w->waits.length; n++)
		if (n->thread == wait->thread)
			return n;
	return NULL;
}

static struct charged charge(const struct world *w, uint32_t thread, uint64_t now, const uint32_t *stack, unsigned depth)
{
	uint32_t above[THREADS + 1];
	const struct wait *first = NULL, *last = NULL;
	uint32_t to = 0;
	struct charged mine = { thread, w->at[thread][now], CHARGE_THREAD };

	if (now < w->threads[thread].start_ns && w->threads[thread].creator && depth) {
		uint32_t creator = w->threads[thread].creator;

		for (unsigned i = 0; i < depth; i++)
			if (stack[i] == creator)
				return mine;
		return charge(w, creator, now, stack, depth);
	}
	if (depth)
		memcpy(above, stack, depth * sizeof(*stack));
	above[depth] = thread;
	for (const struct wait *i = w->waits.items + 1; i < w->waits.items + w->waits.length; i++) {
		if (i->thread != thread)
			continue;
		if (!last || !looked_again(w, last, i))
			first = i;
		last = i;
		for (const struct wait *n; (n = next_wait(w, last)) && looked_again(w, last, n); )
			last = n;
		if (first->start_ns <= now && now < last->end_ns)
			break;
		i = last;
		first = NULL;
	}
	if (!first)
		return mine;
	mine.state = last->kind == WAIT_KIND_stop ? SPAN_STOPPED : SPAN_WAITING;
	if (last->kind == WAIT_KIND_stop || (last->kind == WAIT_KIND_sleep && last->end == WAIT_END_THREAD)) {
		mine.charge = last->end == WAIT_END_SOURCE ? CHARGE_SOURCE : CHARGE_THREAD;
		return mine;
	}
	if (last->end == WAIT_END_SOURCE) {
		mine.charge = CHARGE_SOURCE;
		return mine;
	}
	if (last->end == WAIT_END_THREAD) {
		to = last->waker;
	} else {
		struct hop hops[WALK_MAX_HOPS];
		struct episode e = { first->start_ns, last->end_ns, (uint32_t)(first - w->waits.items),
				     (uint32_t)(last - w->waits.items), 1, thread };
		unsigned count = w->logged ? 0 : some_hops(NULL, &e, 0, 0, hops);

		for (unsigned i = 0; i < count; i++)
			if (!i || hops[i].from_ns <= now)
				to = hops[i].thread;
		if (!count) {
			mine.charge = CHARGE_MISSING;
			return mine;
		}
	}
	for (unsigned i = 0; i <= depth; i++)
		if (above[i] == to) {
			mine.charge = CHARGE_CIRCLE;
			return mine;
		}
	/* Made later, by one that waits for it now. */
	for (unsigned i = 0; i <= depth; i++)
		if (now < w->threads[to].start_ns && above[i] == w->threads[to].creator) {
			mine.charge = CHARGE_MISSING;
			return mine;
		}
	return charge(w, to, now, above, depth + 1);
}

static void agrees_with_the_reference(void **state)
{
	size_t waits = 0, circles = 0, sources = 0, missing = 0, others = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 10000; seed++) {
		struct world w;
		struct pieces pieces = { 0 };
		struct walk_steps steps = { 0 };
		struct walk walk = { .pieces = &pieces, .steps = &steps, .missing = some_hops };
		uint64_t from, to, at;

		make_world(&w, seed, false);
		walk.scene = &w.scene;
		from = pick(&w, LENGTH / 2);
		to = from + 1 + pick(&w, LENGTH / 2);
		walk_window(&walk, 1 + pick(&w, 2), from, to);
		at = from;
		for (size_t i = 0; i < pieces.length; i++) {
			const struct piece *p = &pieces.items[i];

			assert_int_equal(p->start_ns, at);
			assert_true(p->end_ns > p->start_ns);
			for (uint64_t now = p->start_ns; now < p->end_ns; now++) {
				struct charged c = charge(&w, walk.stack[0], now, NULL, 0);

				assert_int_equal(c.thread, p->thread);
				assert_int_equal(c.state, p->state);
				assert_int_equal(c.charge, p->charge);
			}
			at = p->end_ns;
			circles += p->charge == CHARGE_CIRCLE;
			sources += p->charge == CHARGE_SOURCE;
			missing += p->charge == CHARGE_MISSING;
			others += p->thread != walk.stack[0];
		}
		assert_int_equal(at, to);
		waits += w.waits.length;
		vec_done(&pieces);
		vec_done(&steps);
		free_world(&w);
	}
	/* The scenes are worth something: all that can happen has happened. */
	assert_true(waits > 100000 && circles > 1000 && sources > 1000 && missing > 1000 && others > 10000);
}

/* The scene that the graph of the world's trace makes is the world, and the walk
 * in it agrees with the reference. */
static void graphs_agree_with_the_reference(void **state)
{
	size_t waits = 0, woken = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct world w;
		struct trace *trace;
		struct tables *tables;
		struct scene *scene;
		struct pieces pieces = { 0 };
		struct walk_steps steps = { 0 };
		struct walk walk = { .pieces = &pieces, .steps = &steps };
		struct err err = { 0 };
		const uint64_t second = 1000000000;
		uint64_t at;
		uint32_t victim;

		make_world(&w, seed, true);
		buf_printf(&w.log, "1.%09u [63] 0 mark \"end\"\n", LENGTH * MOMENT_NS);
		trace = text_trace_open(buf_str(&w.log));
		if (tables_build(trace, &tables, &err) || scene_build(trace, tables, &scene, &err))
			fail_msg("%s", err.text);
		for (unsigned i = 1; i < THREADS; i++)
			for (uint64_t now = 0; now < LENGTH; now++) {
				uint64_t time = second + (now + 1) * MOMENT_NS - 1;
				uint32_t thread = tables_thread(tables, TID(i), time);
				const struct span *span = thread ? scene_span(scene, thread, time) : NULL;

				assert_int_equal(span ? span->state : SPAN_ABSENT, w.at[i][now]);
			}
		victim = tables_thread(tables, TID(1), second);
		walk.scene = scene;
		walk_window(&walk, victim, second, second + LENGTH * MOMENT_NS);
		at = second;
		for (size_t i = 0; i < pieces.length; i++) {
			const struct piece *p = &pieces.items[i];

			assert_int_equal(p->start_ns, at);
			at = p->end_ns;
			for (uint64_t now = (p->start_ns - second) / MOMENT_NS; now < LENGTH; now++) {
				uint64_t time = second + (now + 1) * MOMENT_NS - 1;
				struct charged c = charge(&w, 1, now, NULL, 0);

				if (time >= p->end_ns)
					break;
				assert_int_equal(scene_tid(scene, p->thread), TID(c.thread));
				assert_int_equal(p->state, c.state);
				assert_int_equal(p->charge, c.charge);
			}
		}
		assert_int_equal(at, second + LENGTH * MOMENT_NS);
		waits += w.waits.length;
		woken += w.wakes.length;
		vec_done(&pieces);
		vec_done(&steps);
		scene_free(scene);
		tables_free(tables);
		trace_close(trace);
		free_world(&w);
	}
	assert_true(waits > 4000 && woken > 1000);
}

static void assert_same_thread(const struct scene *a, const struct scene *b, uint32_t thread)
{
	const struct scene_thread *t = &a->threads[thread], *u = &b->threads[thread];

	assert_int_equal(t->wait_count, u->wait_count);
	assert_int_equal(t->wait, u->wait);
	for (uint32_t i = t->wait; i < t->wait + t->wait_count; i++) {
		struct wait v = a->waits[i], w = b->waits[i];
		const struct episode *e = &a->episodes[v.episode], *f = &b->episodes[w.episode];

		assert_true(e->start_ns == f->start_ns && e->end_ns == f->end_ns && e->first == f->first && e->last == f->last &&
			    e->slices == f->slices && e->thread == f->thread);
		v.episode = w.episode = 0;
		assert_memory_equal(&v, &w, sizeof(v));
	}
	assert_int_equal(t->span_count, u->span_count);
	for (uint32_t i = 0; i < t->span_count; i++)
		assert_true(t->spans[i].start_ns == u->spans[i].start_ns && t->spans[i].state == u->spans[i].state &&
			    t->spans[i].place == u->spans[i].place && span_end(&t->spans[i]) == span_end(&u->spans[i]));
	assert_int_equal(t->running_ns, u->running_ns);
	scene_need_wakes(b, thread);
	assert_int_equal(t->wake_count, u->wake_count);
	for (uint32_t i = 0; i < t->wake_count; i++)
		assert_memory_equal(&a->wakes[t->wake + i], &b->wakes[u->wake + i], sizeof(struct wake));
}

/* What is told of a wait before its thread is laid out is what is there then. */
static void assert_same_wait(const struct scene *a, const struct scene *b, uint32_t thread, uint64_t time)
{
	struct wait v, w;
	bool is_there = scene_wait_at(a, thread, time, &v);

	assert_int_equal(scene_wait_at(b, thread, time, &w), is_there);
	assert_true(!is_there || (v.start_ns == w.start_ns && v.end_ns == w.end_ns && v.end == w.end && v.waker == w.waker));
}

/* Threads that are laid out as they are asked for, in whatever order, are those that are laid out at once; and so is a walk
 * that looks for places near the last ones. */
static void threads_laid_out_one_by_one_are_the_same(void **state)
{
	const uint64_t second = 1000000000;
	size_t waits = 0, told = 0, spared = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct world w;
		struct trace *trace;
		struct tables *tables;
		struct scene *whole = NULL, *lazy = NULL;
		struct pieces pieces = { 0 }, same = { 0 };
		struct walk_steps steps = { 0 };
		struct walk walk = { .pieces = &pieces, .steps = &steps };
		struct scene_near near[THREADS * 2] = { 0 };
		struct err err = { 0 };
		uint32_t first;

		make_world(&w, seed, true);
		buf_printf(&w.log, "1.%09u [63] 0 mark \"end\"\n", LENGTH * MOMENT_NS);
		trace = text_trace_open(buf_str(&w.log));
		if (tables_build(trace, &tables, &err) || scene_build(trace, tables, &whole, &err) || scene_build_lazily(trace, NULL, &lazy, &err))
			fail_msg("%s", err.text);
		assert_int_equal(lazy->thread_count, whole->thread_count);
		assert_true(lazy->thread_count <= THREADS * 2);
		for (uint32_t i = 1; i < lazy->thread_count; i++) {
			for (unsigned times = 0; times < 8; times++)
				assert_same_wait(whole, lazy, i, second + pick(&w, LENGTH) * MOMENT_NS);
			for (unsigned kind = 0; kind < 64; kind++) {
				bool has = false;

				for (uint32_t k = whole->threads[i].wait; k < scene_waits_end(whole, i); k++)
					has |= whole->waits[k].kind == kind;
				assert_true(scene_may_wait_for(lazy, i, 1ull << kind) || !has);
				told += has;
			}
		}
		walk.scene = whole;
		walk_window(&walk, tables_thread(tables, TID(1), second), second, second + LENGTH * MOMENT_NS);
		walk.scene = lazy;
		walk.pieces = &same;
		walk.near = near;
		walk_window(&walk, tables_thread(tables, TID(1), second), second, second + LENGTH * MOMENT_NS);
		assert_int_equal(same.length, pieces.length);
		for (size_t i = 0; i < same.length; i++)
			assert_true(same.items[i].start_ns == pieces.items[i].start_ns && same.items[i].thread == pieces.items[i].thread &&
				    same.items[i].state == pieces.items[i].state && same.items[i].wait == pieces.items[i].wait &&
				    same.items[i].charge == pieces.items[i].charge);
		first = 1 + pick(&w, lazy->thread_count - 1);
		for (uint32_t i = 0; i < lazy->thread_count; i++)
			spared += (lazy->pending[i] & PENDING_waits) != 0;
		for (uint32_t i = 0; i < lazy->thread_count; i++) {
			uint32_t thread = (first + i) % lazy->thread_count;

			if (seed % 3 == 0)
				scene_need_wakes(lazy, thread);
			scene_need(lazy, thread);
			assert_same_thread(whole, lazy, thread);
		}
		waits += w.waits.length;
		vec_done(&pieces);
		vec_done(&same);
		vec_done(&steps);
		scene_free(whole);
		scene_free(lazy);
		tables_free(tables);
		trace_close(trace);
		free_world(&w);
	}
	assert_true(waits > 4000 && told > 400 && spared > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_laid_out_one_by_one_are_the_same),
		cmocka_unit_test(graphs_agree_with_the_reference),
		cmocka_unit_test(agrees_with_the_reference),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
