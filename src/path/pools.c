/* Pools and stages, see pools.h. */
#include "path/pools.h"

#include <stdlib.h>

static struct fold_pool *pool_of(struct fold *fold, struct role_name who, bool fresh)
{
	for (size_t i = 0; i < fold->pools.length; i++)
		if (role_is_same(fold->pools.items[i].who, who))
			return &fold->pools.items[i];
	if (!fresh)
		return NULL;
	vec_push(&fold->pools, ((struct fold_pool){ .who = who }));
	return &fold->pools.items[fold->pools.length - 1];
}

static uint64_t *time_of(struct naming *naming, struct fold_pool *pool, const struct span *span)
{
	const struct wait *w = &naming->scene->waits[span_wait(span)];

	switch ((enum span_state)span->state) {
	case SPAN_RUNNING:
	case SPAN_RUNNABLE:
		return &pool->worked_ns;
	case SPAN_WAITING:
		if (!span_wait(span))
			return NULL;
		if (naming_wait_class(naming, w) == WAIT_CLASS_lock)
			return &pool->locks_ns;
		/* An open wait is one for others, unless it has an end of its own. */
		if ((w->end == WAIT_END_THREAD && !naming_is_kernel(naming, w->waker)) ||
		    (w->end == WAIT_END_OPEN && w->kind != WAIT_KIND_sleep && w->kind != WAIT_KIND_block_io && w->kind != WAIT_KIND_sync))
			return &pool->others_ns;
		return &pool->worked_ns;
	case SPAN_STOPPED:
	case SPAN_UNKNOWN:
	case SPAN_ABSENT:
		break;
	}
	return NULL;
}

static void count_thread(struct naming *naming, struct fold_pool *pool, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	const struct scene_thread *t = &naming->scene->threads[thread];

	for (uint32_t i = scene_span_index(naming->scene, thread, from_ns); i < t->span_count && t->spans[i].start_ns < to_ns; i++) {
		const struct span *s = &t->spans[i];
		uint64_t begin = s->start_ns > from_ns ? s->start_ns : from_ns, end = span_end(s) < to_ns ? span_end(s) : to_ns;
		uint64_t *sum = s->state == SPAN_ABSENT || end <= begin ? NULL : time_of(naming, pool, s);

		if (s->state != SPAN_ABSENT && end > begin)
			pool->lived_ns += end - begin;
		if (sum)
			*sum += end - begin;
	}
}

void pools_count(struct naming *naming, struct fold *fold, uint64_t from_ns, uint64_t to_ns)
{
	const struct scene *scene = naming->scene;
	uint32_t *threads;

	for (size_t i = 0; i < fold->rows.length; i++)
		pool_of(fold, fold->rows.items[i].who, true);
	threads = mem_zalloc(arena_array_bytes(sizeof(*threads), fold->pools.length + 1));
	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct thread *life = &scene->tables->threads[i];
		struct fold_pool *pool;

		if (naming_is_kernel(naming, i) || !map_find(&fold->pids, life->pid) || life->start_ns >= to_ns || life->end_ns <= from_ns)
			continue;
		pool = pool_of(fold, naming_role(naming, i), false);
		if (!pool)
			continue;
		threads[pool - fold->pools.items]++;
		count_thread(naming, pool, i, from_ns, to_ns);
	}
	for (size_t i = 0; i < fold->pools.length; i++)
		if (threads[i] > fold->pools.items[i].threads)
			fold->pools.items[i].threads = threads[i];
	free(threads);
}

static int by_path(const void *a, const void *b)
{
	const struct fold_pool *x = a, *y = b;

	if (x->path_ns != y->path_ns)
		return x->path_ns > y->path_ns ? -1 : 1;
	return x->who.thread < y->who.thread ? -1 : x->who.thread > y->who.thread;
}

void pools_finish(struct fold *fold)
{
	size_t kept = 0;

	for (size_t i = 0; i < fold->rows.length; i++) {
		struct fold_pool *pool = pool_of(fold, fold->rows.items[i].who, false);

		if (pool)
			pool->path_ns += fold->rows.items[i].ns;
	}
	for (size_t i = 0; i < fold->pools.length; i++)
		if (fold->pools.items[i].path_ns && fold->pools.items[i].lived_ns)
			fold->pools.items[kept++] = fold->pools.items[i];
	fold->pools.length = kept;
	if (kept)
		qsort(fold->pools.items, kept, sizeof(*fold->pools.items), by_path);
}
