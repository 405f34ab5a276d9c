/* Who had which lock when, see holds.h.
 *
 * A wait that a thread ended was ended as that thread gave the lock back. It had it since
 * the one before gave it back, where others stood in the queue then; else at the latest
 * since the first of them began to wait. */
#include "path/holds.h"

#include <string.h>

struct lock_wait {
	uint64_t object, start_ns, end_ns;
	uint32_t wait;
};

struct lock_waits vec(struct lock_wait);

static int by_end(const void *a, const void *b)
{
	const struct lock_wait *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

static int by_start(const void *a, const void *b)
{
	const struct lock_wait *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

#define LOCK_KINDS (1ull << WAIT_KIND_futex | 1ull << WAIT_KIND_file_lock)

static void find_waits(struct naming *naming, struct lock_waits *waits)
{
	const struct scene *scene = naming->scene;

	for (uint32_t thread = 1; thread < scene->thread_count; thread++) {
		naming->no_locks[thread] = naming->no_locks[thread] || !scene_may_wait_for(scene, thread, LOCK_KINDS);
		if (naming->no_locks[thread])
			continue;
		scene_need_waits(scene, thread);
		for (uint32_t i = scene->threads[thread].wait, end = i + scene->threads[thread].wait_count; i < end; i++) {
			const struct wait *w = &scene->waits[i];

			if (w->object && (w->kind == WAIT_KIND_futex || w->kind == WAIT_KIND_file_lock) &&
			    naming_wait_class(naming, w) == WAIT_CLASS_lock)
				vec_push(waits, ((struct lock_wait){ w->object, w->start_ns, w->end_ns, i }));
		}
	}
}

static int by_thread(const void *a, const void *b)
{
	const struct hold *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* Who waits for something else as the lock is given back takes it behind that wait. */
static uint64_t behind_waits(const struct scene *scene, uint32_t thread, uint64_t time, uint64_t limit)
{
	const struct span *span = scene_span(scene, thread, time);

	while (span && time < limit && (span->state == SPAN_WAITING || span->state == SPAN_STOPPED)) {
		time = span_end(span);
		span = scene_span(scene, thread, time);
	}
	return time;
}

/* Holds of one lock: its waits by their ends. */
static void find_of_lock(struct naming *naming, const struct lock_wait *waits, size_t count, struct holds *holds)
{
	uint64_t given_back = 0, *earliest = mem_alloc(arena_array_bytes(sizeof(*earliest), count + 1));

	/* When the first began of those that end there or later. */
	earliest[count] = UINT64_MAX;
	for (size_t i = count; i-- > 0; )
		earliest[i] = waits[i].start_ns < earliest[i + 1] ? waits[i].start_ns : earliest[i + 1];
	for (size_t i = 0; i < count; i++) {
		const struct wait *w = &naming->scene->waits[waits[i].wait];
		uint64_t start = earliest[i] > given_back ? earliest[i] : given_back;

		if (w->end == WAIT_END_THREAD && w->waker && start == given_back)
			start = behind_waits(naming->scene, w->waker, start, w->end_ns);

		if (w->end == WAIT_END_THREAD && w->waker && w->end_ns > start)
			vec_push(&holds->list, ((struct hold){ .start_ns = start, .end_ns = w->end_ns, .earliest_ns = given_back,
				.object = w->object, .thread = w->waker, .woken = w->thread, .lock = naming_lock(naming, w), .exact = earliest[i] <= given_back,
				.shared = naming_is_shared_lock(naming, w), .function = naming_stack(naming, w->ustack).function }));
		if (w->end == WAIT_END_THREAD)
			given_back = w->end_ns;
	}
	free(earliest);
}

static int by_turn(const void *a, const void *b, void *data)
{
	const struct holds *holds = data;
	const struct hold *x = &holds->list.items[*(const uint32_t *)a], *y = &holds->list.items[*(const uint32_t *)b];

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static void find_turns(struct holds *holds)
{
	for (size_t i = 0; i < holds->list.length; i++)
		if (!holds->list.items[i].shared)
			vec_push(&holds->turns, (uint32_t)i);
	if (holds->turns.length)
		qsort_r(holds->turns.items, holds->turns.length, sizeof(*holds->turns.items), by_turn, holds);
}

void holds_find(struct naming *naming, struct holds *ret_holds)
{
	struct lock_waits waits = { 0 };

	*ret_holds = (struct holds){ 0 };
	find_waits(naming, &waits);
	if (waits.length)
		qsort(waits.items, waits.length, sizeof(*waits.items), by_end);
	for (size_t i = 0, end; i < waits.length; i = end) {
		for (end = i; end < waits.length && waits.items[end].object == waits.items[i].object; end++)
			;
		find_of_lock(naming, waits.items + i, end - i, ret_holds);
	}
	if (ret_holds->list.length)
		qsort(ret_holds->list.items, ret_holds->list.length, sizeof(*ret_holds->list.items), by_thread);
	find_turns(ret_holds);
	vec_done(&waits);
}

void holds_done(struct holds *holds)
{
	vec_done(&holds->list);
	vec_done(&holds->turns);
}

#define NESTED_MOST 4 /* locks that a thread has at once, as far as is looked */

const struct hold *holds_at(const struct holds *holds, uint32_t thread, uint64_t time_ns, uint64_t *ret_until)
{
	size_t low = 0, high = holds->list.length;

	/* The first that begins behind the moment. */
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct hold *h = &holds->list.items[mid];

		if (h->thread < thread || (h->thread == thread && h->start_ns <= time_ns))
			low = mid + 1;
		else
			high = mid;
	}
	*ret_until = low < holds->list.length && holds->list.items[low].thread == thread ? holds->list.items[low].start_ns : UINT64_MAX;
	for (unsigned looked = 0; low-- > 0 && looked < NESTED_MOST && holds->list.items[low].thread == thread; looked++)
		if (holds->list.items[low].end_ns > time_ns) {
			if (holds->list.items[low].end_ns < *ret_until)
				*ret_until = holds->list.items[low].end_ns;
			return &holds->list.items[low];
		}
	return NULL;
}

bool holds_turn(const struct holds *holds, uint64_t object, uint64_t time_ns, uint32_t *ret_thread, uint64_t *ret_until)
{
	size_t low = 0, high = holds->turns.length;
	const struct hold *h, *before;

	/* The first that ends behind the moment. */
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		h = &holds->list.items[holds->turns.items[mid]];
		if (h->object < object || (h->object == object && h->end_ns <= time_ns))
			low = mid + 1;
		else
			high = mid;
	}
	h = low < holds->turns.length ? &holds->list.items[holds->turns.items[low]] : NULL;
	if (!h || h->object != object)
		return false;
	if (h->start_ns <= time_ns) {
		*ret_thread = h->thread;
		*ret_until = h->end_ns;
		return true;
	}
	before = low ? &holds->list.items[holds->turns.items[low - 1]] : NULL;
	if (!before || before->object != object)
		return false;
	*ret_thread = before->woken;
	*ret_until = h->start_ns;
	return true;
}

/* ---- queues ---- */

struct edge {
	uint64_t time;
	int change;
};

static int by_time(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->change - y->change;
}

static void count_queue(struct naming *naming, struct fold *fold, const struct lock_wait *waits, size_t count, uint64_t from_ns, uint64_t to_ns)
{
	struct fold_queue *queue = fold_queue(fold, naming_lock(naming, &naming->scene->waits[waits[0].wait]));
	struct vec(struct edge) edges = { 0 };
	struct map threads;
	uint32_t standing = 0;

	map_init(&threads);
	for (size_t i = 0; i < count; i++) {
		uint64_t begin = waits[i].start_ns > from_ns ? waits[i].start_ns : from_ns;
		uint64_t end = waits[i].end_ns < to_ns ? waits[i].end_ns : to_ns;

		if (begin >= end)
			continue;
		queue->waited_ns += end - begin;
		queue->waits += waits[i].start_ns >= from_ns;
		map_put(&threads, naming->scene->waits[waits[i].wait].thread, 1);
		vec_push(&edges, ((struct edge){ begin, 1 }));
		vec_push(&edges, ((struct edge){ end, -1 }));
	}
	if (edges.length)
		qsort(edges.items, edges.length, sizeof(*edges.items), by_time);
	for (size_t i = 0; i < edges.length; i++) {
		if (standing)
			queue->held_ns += edges.items[i].time - edges.items[i - 1].time;
		standing += (uint32_t)edges.items[i].change;
		if (standing > queue->most)
			queue->most = standing;
	}
	if (threads.length > queue->threads)
		queue->threads = (uint32_t)threads.length;
	vec_done(&edges);
	map_done(&threads);
}

void holds_count_queues(struct naming *naming, struct fold *fold, uint64_t from_ns, uint64_t to_ns)
{
	struct lock_waits waits = { 0 };

	find_waits(naming, &waits);
	if (waits.length)
		qsort(waits.items, waits.length, sizeof(*waits.items), by_start);
	for (size_t i = 0, end; i < waits.length; i = end) {
		for (end = i; end < waits.length && waits.items[end].object == waits.items[i].object; end++)
			;
		count_queue(naming, fold, waits.items + i, end - i, from_ns, to_ns);
	}
	vec_done(&waits);
}

/* ---- how long ---- */

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

void holds_find_typical(const struct holds *holds, struct typical_holds *typical)
{
	struct vec(struct length) lengths = { 0 };

	for (size_t i = 0; i < holds->list.length; i++) {
		const struct hold *h = &holds->list.items[i];

		if (h->exact && !h->shared)
			vec_push(&lengths, ((struct length){ h->lock, h->function, h->end_ns - h->start_ns }));
	}
	if (lengths.length)
		qsort(lengths.items, lengths.length, sizeof(*lengths.items), by_length);
	for (size_t i = 0, end; i < lengths.length; i = end) {
		const struct length *l = &lengths.items[i];

		for (end = i; end < lengths.length && lengths.items[end].lock == l->lock && lengths.items[end].function == l->function; end++)
			;
		vec_push(typical, ((struct typical_hold){ l->lock, l->function, lengths.items[i + (end - i) / 2].ns }));
	}
	vec_done(&lengths);
}
