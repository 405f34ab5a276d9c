/* Who walks over blocks anyway finds what stands at their beginnings, and what the past needs of them. What that takes at
 * a block's end besides, to put it in order and to pack it, is done by a thread beside the walk, on which the next part
 * waits, where there is a processor for it. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/quiet_thread.h"
#include "trace/blocks_own.h"
#include "trace/past.h"
#include "trace/standing.h"

#define ENDED_MOST 2u              /* blocks that wait for that thread: each has the events of its past */

/* A block ended, and another one begins. */
struct ended {
	size_t next;
	struct past_gather *past;  /* of the one that ended; NULL: not wanted */
	bool keeps;                /* what stands at the next one is kept */
	struct standing_events standing;
	struct arena arena;
};

struct blocks_watch {
	struct blocks *blocks;
	struct standing *standing;
	size_t next, last;         /* block that begins next; that the walk goes to */
	size_t settled;            /* the same, of what is kept; under the blocks' lock */
	size_t step;               /* of the last one, and those so many before it each, what stands is kept */
	uint64_t next_ns, from_ns;
	struct past_gather *past;  /* of the block that ends there; NULL: not wanted */
	struct blocks_watch *other; /* of the same blocks */
	bool beside;               /* there is a thread, and what follows is its own and the walk's */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	struct ended ended[ENDED_MOST];
	size_t put, taken;         /* so many so far */
	bool ending;
};

/* ---- beside the walk ---- */

static void settle(struct blocks_watch *watch, struct ended *ended)
{
	struct blocks *b = watch->blocks;
	struct past_block past;

	if (ended->past) {
		past_gather_end(ended->past, &past);
		blocks_keep_past(b, ended->next - 1, &past);
	}
	if (ended->keeps)
		blocks_keep_standing(b, ended->next, &ended->standing);
	arena_done(&ended->arena);
	pthread_mutex_lock(&b->lock);
	watch->settled = ended->next + 1;
	pthread_cond_broadcast(&b->found);
	pthread_mutex_unlock(&b->lock);
}

static void *settle_all(void *data)
{
	struct blocks_watch *watch = data;

	pthread_mutex_lock(&watch->lock);
	while (watch->taken < watch->put || !watch->ending) {
		if (watch->taken == watch->put) {
			pthread_cond_wait(&watch->moved, &watch->lock);
			continue;
		}
		pthread_mutex_unlock(&watch->lock);
		settle(watch, &watch->ended[watch->taken % ENDED_MOST]);
		pthread_mutex_lock(&watch->lock);
		watch->taken++;
		pthread_cond_broadcast(&watch->moved);
	}
	pthread_mutex_unlock(&watch->lock);
	return NULL;
}

static void begin_beside(struct blocks_watch *watch)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2 || mem_is_scarce())
		return;
	pthread_mutex_init(&watch->lock, NULL);
	pthread_cond_init(&watch->moved, NULL);
	watch->beside = !quiet_thread(&watch->thread, settle_all, watch);
}

static void end_beside(struct blocks_watch *watch)
{
	if (!watch->beside)
		return;
	pthread_mutex_lock(&watch->lock);
	watch->ending = true;
	pthread_cond_broadcast(&watch->moved);
	pthread_mutex_unlock(&watch->lock);
	pthread_join(watch->thread, NULL);
	pthread_mutex_destroy(&watch->lock);
	pthread_cond_destroy(&watch->moved);
}

static void hand_over(struct blocks_watch *watch, struct ended *ended)
{
	if (!watch->beside) {
		settle(watch, ended);
		return;
	}
	pthread_mutex_lock(&watch->lock);
	while (watch->put - watch->taken == ENDED_MOST)
		pthread_cond_wait(&watch->moved, &watch->lock);
	watch->ended[watch->put++ % ENDED_MOST] = *ended;
	pthread_cond_broadcast(&watch->moved);
	pthread_mutex_unlock(&watch->lock);
}

/* ---- the walk ---- */

static struct blocks_watch *watch_new(struct blocks *b, size_t first, size_t last, size_t step, bool past)
{
	struct blocks_watch *watch = mem_zalloc(sizeof(*watch));

	watch->blocks = b;
	watch->step = step;
	watch->standing = standing_new(b->trace, b->entries.items[first].block.from_ns);
	watch->next = watch->settled = first + 1;
	watch->last = last;
	watch->next_ns = blocks_end_ns(b, first);
	watch->from_ns = b->entries.items[first].block.from_ns;
	if (past && first < last)
		watch->past = past_gather_new(watch->next_ns);
	begin_beside(watch);
	pthread_mutex_lock(&b->lock);
	watch->other = b->watches;
	b->watches = watch;
	pthread_mutex_unlock(&b->lock);
	return watch;
}

struct blocks_watch *blocks_watch(struct blocks *b, size_t first, size_t last)
{
	return watch_new(b, first, last, 1, true);
}

struct blocks_watch *blocks_watch_steps(struct blocks *b, size_t first, size_t last, size_t step)
{
	return watch_new(b, first, last, step, false);
}

static void begin_next(struct blocks_watch *watch)
{
	struct blocks *b = watch->blocks;
	struct ended ended = { .next = watch->next, .past = watch->past };

	arena_init(&ended.arena);
	ended.keeps = (watch->last - watch->next) % watch->step == 0 && !blocks_is_known(b, watch->next);
	if (ended.keeps)
		standing_take(&ended.arena, watch->standing, b->entries.items[watch->next].block.from_ns, &ended.standing);
	watch->next_ns = blocks_end_ns(b, watch->next++);
	watch->past = ended.past && watch->next <= watch->last ? past_gather_new(watch->next_ns) : NULL;
	hand_over(watch, &ended);
}

void blocks_watch_see(struct blocks_watch *watch, const struct event *e)
{
	while (watch->next <= watch->last && __builtin_expect(e->time > watch->next_ns, 0))
		begin_next(watch);
	if (watch->next > watch->last)
		return;
	standing_see(watch->standing, e);
	if (watch->past && e->time >= watch->from_ns)
		past_gather_see(watch->past, e);
}

bool blocks_watch_is_through(const struct blocks_watch *watch)
{
	return watch->next > watch->last;
}

void blocks_watch_go_through(struct blocks_watch *watch)
{
	while (watch->next <= watch->last)
		begin_next(watch);
}

bool blocks_is_awaited(const struct blocks *b, size_t block)
{
	for (const struct blocks_watch *watch = b->watches; watch; watch = watch->other)
		if (watch->settled <= block && block <= watch->last)
			return true;
	return false;
}

void blocks_watch_end(struct blocks_watch *watch)
{
	if (!watch)
		return;
	end_beside(watch);
	pthread_mutex_lock(&watch->blocks->lock);
	for (struct blocks_watch **at = &watch->blocks->watches; *at; at = &(*at)->other)
		if (*at == watch) {
			*at = watch->other;
			break;
		}
	pthread_cond_broadcast(&watch->blocks->found);
	pthread_mutex_unlock(&watch->blocks->lock);
	past_gather_drop(watch->past);
	standing_free(watch->standing);
	free(watch);
}
