/* When a thread of a script has which lock, see script_locks.h. */
#include "path/script_locks.h"

#include <stdlib.h>

#include "path/naming.h"

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
static const struct wait *got_by(const struct script_locks *l, uint32_t thread, const struct hold *h)
{
	uint32_t first = l->scene->threads[thread].wait;

	for (uint32_t i = scene_waits_from(l->scene, thread, h->end_ns); i-- > first; ) {
		const struct wait *w = &l->scene->waits[i];

		if (w->end_ns < h->start_ns)
			return NULL;
		if (w->object == h->object && w->end_ns < h->end_ns)
			return w;
	}
	return NULL;
}

/* Who took it while nobody wanted it had it for about as long as others did, if it ran meanwhile. */
static uint64_t begin_of(const struct script_locks *l, uint32_t thread, const struct hold *h, const struct hold *before)
{
	uint64_t ns = 0, begin, waited;
	uint32_t wait = scene_waits_from(l->scene, thread, h->start_ns), first = l->scene->threads[thread].wait;

	if (h->exact)
		return h->start_ns;
	for (size_t i = 0; i < l->typical.length && !ns; i++)
		if (l->typical.items[i].lock == h->lock && l->typical.items[i].function == h->function)
			ns = l->typical.items[i].ns;
	begin = h->end_ns - (h->end_ns > ns ? ns : h->end_ns);
	waited = wait > first ? l->scene->waits[wait - 1].end_ns : 0;
	/* While it waits for something it takes no lock. */
	if (waited > h->start_ns) {
		wait--;
		begin = begin < l->scene->waits[wait].start_ns ? begin : l->scene->waits[wait].start_ns;
		waited = wait > first ? l->scene->waits[wait - 1].end_ns : 0;
	}
	begin = begin < h->earliest_ns ? h->earliest_ns : begin;
	begin = begin < waited ? waited : begin;
	begin = before && begin < before->end_ns ? before->end_ns : begin;
	return begin < h->start_ns ? begin : h->start_ns;
}

#define LOOKED_AROUND 4u /* holds that a thread has at once, as far as is looked */

/* When the thread took the locks: as it asked for them; where nobody tells, at the latest
 * when others were seen to want them. */
static void find_taken(struct script_locks *l, uint32_t thread, const struct hold *holds, size_t count)
{
	vec_clear(&l->taken);
	for (size_t i = 0; i < count; i++) {
		const struct wait *w = got_by(l, thread, &holds[i]);

		vec_push(&l->taken, ((struct lock_taken){ w ? w->start_ns : begin_of(l, thread, &holds[i], i ? &holds[i - 1] : NULL), w, true }));
		if (holds[i].shared || holds[i].end_ns > l->p->to_ns || holds[i].end_ns <= l->p->from_ns)
			l->taken.items[i].told = false;
	}
	/* Locks are given back in the opposite order: one that is kept longer than another was taken before it. */
	for (size_t i = 0; i < count; i++)
		for (size_t k = i < LOOKED_AROUND ? 0 : i - LOOKED_AROUND; k < count && k <= i + LOOKED_AROUND; k++) {
			const struct lock_taken *inner = &l->taken.items[k];

			if (!l->taken.items[i].wait && inner->ns && inner->ns <= l->taken.items[i].ns && holds[k].end_ns > l->taken.items[i].ns &&
			    holds[k].end_ns < holds[i].end_ns && holds[k].object != holds[i].object)
				l->taken.items[i].ns = inner->ns - 1;
		}
}

static uint32_t lock_number(struct script_locks *l, uint64_t object, uint32_t text)
{
	uint32_t lock = script_number_of(&l->numbers, object);

	if (lock == l->p->locks.length)
		vec_push(&l->p->locks, text);
	return lock;
}

static void add_points(struct script_locks *l, uint32_t lock, uint64_t taken_ns, uint64_t had_ns, uint64_t given_ns)
{
	vec_push(&l->points, ((struct lock_point){ taken_ns, had_ns, lock, false }));
	vec_push(&l->points, ((struct lock_point){ given_ns, given_ns, lock, true }));
}

const struct wait *script_like(const struct script_locks *l, const struct wait *w)
{
	const uint64_t *like = w->kind == WAIT_KIND_futex && naming_wait_class(l->naming, w) == WAIT_CLASS_other
		? map_find(&l->likes, w->object) : NULL;

	return like ? &l->scene->waits[*like] : w;
}

bool script_is_lock_wait(const struct script_locks *l, const struct wait *w)
{
	const struct wait *like = script_like(l, w);

	return w->end == WAIT_END_THREAD && naming_wait_class(l->naming, like) == WAIT_CLASS_lock && !naming_is_shared_lock(l->naming, like);
}

/* Of stretches in which the thread would have the same lock twice, the inner ends: it has it once. */
static void drop_inner_points(struct script_locks *l)
{
	struct vec(uint32_t) depths = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < l->points.length; i++) {
		struct lock_point at = l->points.items[i];

		while (depths.length <= at.lock)
			vec_push(&depths, 0);
		if (at.release ? --depths.items[at.lock] : depths.items[at.lock]++)
			continue;
		l->points.items[kept++] = at;
	}
	l->points.length = kept;
	vec_done(&depths);
}

void script_locks_of(struct script_locks *l, uint32_t thread, const struct hold *holds, size_t count)
{
	uint32_t waits_end = scene_waits_end(l->scene, thread);
	size_t next = 0;

	vec_clear(&l->points);
	vec_clear(&l->claimed);
	l->point = 0;
	find_taken(l, thread, holds, count);
	for (size_t i = 0; i < count; i++) {
		const struct lock_taken *taken = &l->taken.items[i];

		if (!taken->told)
			continue;
		add_points(l, lock_number(l, holds[i].object, holds[i].lock), taken->ns, holds[i].start_ns, holds[i].end_ns);
		if (taken->wait)
			vec_push(&l->claimed, (uint32_t)(taken->wait - l->scene->waits));
	}
	if (l->claimed.length)
		qsort(l->claimed.items, l->claimed.length, sizeof(*l->claimed.items), by_number);
	/* Who got a lock that nobody wanted while he had it waited for it all the same. */
	for (uint32_t i = scene_waits_from(l->scene, thread, l->p->from_ns); i < waits_end && l->scene->waits[i].end_ns <= l->p->to_ns; i++) {
		const struct wait *w = &l->scene->waits[i];

		while (next < l->claimed.length && l->claimed.items[next] < i)
			next++;
		if ((next == l->claimed.length || l->claimed.items[next] != i) && script_is_lock_wait(l, w))
			add_points(l, lock_number(l, w->object, naming_lock(l->naming, script_like(l, w))), w->start_ns, w->end_ns, w->end_ns);
	}
	if (l->points.length)
		qsort(l->points.items, l->points.length, sizeof(*l->points.items), by_time);
	drop_inner_points(l);
}

static void find_likes(struct script_locks *l)
{
	for (uint32_t i = 1; i < l->scene->thread_count; i++)
		for (uint32_t k = scene_waits_from(l->scene, i, l->p->from_ns); k < scene_waits_end(l->scene, i) && !naming_is_kernel(l->naming, i); k++) {
			const struct wait *w = &l->scene->waits[k];

			if (w->kind == WAIT_KIND_futex && w->object && naming_wait_class(l->naming, w) != WAIT_CLASS_other)
				map_put(&l->likes, w->object, k);
		}
}

void script_locks_begin(struct script_locks *l, struct naming *naming, const struct holds *holds, struct script *p)
{
	*l = (struct script_locks){ .naming = naming, .scene = naming->scene, .p = p };
	map_init(&l->numbers);
	map_init(&l->likes);
	holds_find_typical(holds, &l->typical);
	find_likes(l);
}

void script_locks_end(struct script_locks *l)
{
	map_done(&l->numbers);
	map_done(&l->likes);
	vec_done(&l->typical);
	vec_done(&l->points);
	vec_done(&l->claimed);
	vec_done(&l->taken);
}
