/* The clipped walk against a reference that asks, for every single moment, whom
 * it is charged to: 10,000 random small scenes with timers, interrupts, relays,
 * births and missing wakers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "diagnose/walk.h"

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
};

static unsigned pick(struct world *w, unsigned below)
{
	w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(w->seed >> 33) % below;
}

static void begin_wait(struct world *w, unsigned thread, uint64_t now)
{
	static const uint8_t kinds[] = { WAIT_KIND_futex, WAIT_KIND_poll, WAIT_KIND_sleep, WAIT_KIND_read, WAIT_KIND_stop };
	uint8_t kind = kinds[pick(w, pick(w, 4) ? 4 : 5)];

	vec_push(&w->waits, ((struct wait){ .start_ns = now, .end_ns = LENGTH, .thread = thread, .kind = kind,
					    .site = kind * 2 + pick(w, 2) }));
}

static struct wait *open_wait(struct world *w, unsigned thread)
{
	for (size_t i = w->waits.length; i-- > 1; )
		if (w->waits.items[i].thread == thread)
			return &w->waits.items[i];
	return NULL;
}

/* One moment of one thread's life; running threads wake others or go to sleep,
 * sleepers are woken by timers, devices, or run again for no seen reason. */
static void live(struct world *w, unsigned thread, uint64_t now)
{
	uint8_t *at = w->at[thread];
	uint8_t state = now ? at[now - 1] : SPAN_RUNNING;
	unsigned other = 1 + pick(w, THREADS - 1);

	if (at[now] != SPAN_UNKNOWN)
		state = at[now]; /* woken or born at this moment */
	if (state == SPAN_WAITING || state == SPAN_STOPPED) {
		struct wait *wait = open_wait(w, thread);

		if (now > wait->start_ns && !pick(w, 12)) {
			static const uint8_t ends[] = { WAIT_END_TIMEOUT, WAIT_END_TIMEOUT, WAIT_END_SOURCE, WAIT_END_UNKNOWN };

			wait->end_ns = now;
			wait->end = ends[pick(w, 4)];
			state = pick(w, 2) ? SPAN_RUNNING : SPAN_RUNNABLE;
		}
	} else if (state == SPAN_RUNNABLE) {
		if (!pick(w, 3))
			state = SPAN_RUNNING;
	} else if (state == SPAN_RUNNING && !pick(w, 3)) {
		struct wait *wait = open_wait(w, other);

		if (other != thread && now && w->at[other][now] == SPAN_UNKNOWN && wait && wait->end_ns == LENGTH &&
		    (w->at[other][now - 1] == SPAN_WAITING || w->at[other][now - 1] == SPAN_STOPPED)) {
			wait->end_ns = now;
			wait->end = WAIT_END_THREAD;
			wait->waker = thread;
			wait->end_event = now;
			vec_push(&w->wakes, ((struct wake){ .time = now, .waker = thread, .target = other }));
			w->at[other][now] = SPAN_RUNNABLE;
		} else if (other != thread && !w->threads[other].start_ns && w->at[other][now] == SPAN_UNKNOWN && now &&
			   w->at[other][now - 1] == SPAN_ABSENT) {
			w->threads[other].start_ns = now;
			w->threads[other].creator = thread;
			w->at[other][now] = SPAN_RUNNABLE;
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

static void make_world(struct world *w, uint64_t seed)
{
	memset(w, 0, sizeof(*w));
	w->seed = seed * 2654435761u + 12345;
	vec_push(&w->waits, ((struct wait){ 0 }));
	for (unsigned i = 1; i < THREADS; i++)
		if (i > 2 && !pick(w, 3))
			w->at[i][0] = SPAN_ABSENT;
	for (uint64_t now = 0; now < LENGTH; now++) {
		unsigned first = pick(w, THREADS - 1);

		for (unsigned i = 0; i < THREADS - 1; i++)
			live(w, 1 + (first + i) % (THREADS - 1), now);
	}
	keep(w);
}

static void free_world(struct world *w)
{
	arena_done(&w->scene.laid);
	arena_done(&w->arena);
	vec_done(&w->waits);
	vec_done(&w->wakes);
}

/* Who should have ended a wait: any fixed answer will do, relays included. */
static unsigned some_hops(struct walk *walk, const struct episode *episode, uint64_t from, uint64_t to,
			  struct hop hops[WALK_MAX_HOPS])
{
	(void)walk;
	(void)from;
	(void)to;
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
	for (size_t i = 0; i < w->wakes.length; i++)
		if (w->wakes.items[i].waker == before->thread && w->wakes.items[i].time >= before->end_ns &&
		    w->wakes.items[i].time < after->start_ns)
			return false;
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
	if (last->kind == WAIT_KIND_stop) {
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
		unsigned count = some_hops(NULL, &e, 0, 0, hops);

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

		make_world(&w, seed);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_the_reference),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
