/* See ahead.h. A ring of slots; slot of chunk i is i % SLOTS. */
#include "trace/ahead.h"
#include "base/quiet_thread.h"

#include <pthread.h>
#include <stdlib.h>

#define SLOTS 4u  /* chunks decoded ahead at most: some MiB, that stay in the cache */

enum slot_state { SLOT_EMPTY, SLOT_BUSY, SLOT_READY };

struct slot {
	enum slot_state state;
	int status;
	struct decoded decoded;
};

struct ahead {
	const struct trace *trace;
	struct trace_filter filter;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	size_t taken;              /* all chunks below it are done with */
	size_t begun;              /* all below it are decoded or being decoded, or passed over */
	bool stopping;
	struct slot slots[SLOTS];
};

static bool wanted(const struct ahead *ahead, const struct chunk *chunk)
{
	return !chunk->gap && !chunk->refused && !chunk_passed_over(chunk, &ahead->filter);
}

static void *decode_ahead(void *argument)
{
	struct ahead *ahead = argument;

	pthread_mutex_lock(&ahead->lock);
	while (!ahead->stopping && ahead->begun < ahead->trace->chunks.length) {
		size_t i = ahead->begun;
		struct slot *slot = &ahead->slots[i % SLOTS];

		if (i >= ahead->taken + SLOTS) {
			pthread_cond_wait(&ahead->changed, &ahead->lock);
			continue;
		}
		ahead->begun++;
		if (!wanted(ahead, &ahead->trace->chunks.items[i]))
			continue;
		slot->state = SLOT_BUSY;
		pthread_mutex_unlock(&ahead->lock);
		slot->status = chunk_decode(ahead->trace, &ahead->trace->chunks.items[i], &ahead->filter, &slot->decoded);
		pthread_mutex_lock(&ahead->lock);
		slot->state = SLOT_READY;
		pthread_cond_broadcast(&ahead->changed);
	}
	pthread_mutex_unlock(&ahead->lock);
	return NULL;
}

struct ahead *ahead_start(const struct trace *trace, const struct trace_filter *filter, size_t first)
{
	struct ahead *ahead = mem_zalloc(sizeof(*ahead));
	int failed;

	ahead->trace = trace;
	ahead->filter = *filter;
	ahead->taken = ahead->begun = first;
	pthread_mutex_init(&ahead->lock, NULL);
	pthread_cond_init(&ahead->changed, NULL);
	failed = quiet_thread(&ahead->thread, decode_ahead, ahead);
	if (!failed)
		return ahead;
	pthread_cond_destroy(&ahead->changed);
	pthread_mutex_destroy(&ahead->lock);
	free(ahead);
	return NULL;
}

int ahead_take(struct ahead *ahead, size_t i, struct decoded *decoded)
{
	struct slot *slot = &ahead->slots[i % SLOTS];
	bool own;
	int status = 0;

	pthread_mutex_lock(&ahead->lock);
	own = i >= ahead->begun;
	if (own)
		ahead->begun = i + 1;
	while (!own && slot->state == SLOT_BUSY)
		pthread_cond_wait(&ahead->changed, &ahead->lock);
	if (!own) {
		struct decoded swap = *decoded;

		*decoded = slot->decoded;
		slot->decoded = swap;
		slot->state = SLOT_EMPTY;
		status = slot->status;
	}
	ahead->taken = i + 1;
	pthread_cond_broadcast(&ahead->changed);
	pthread_mutex_unlock(&ahead->lock);
	return own ? chunk_decode(ahead->trace, &ahead->trace->chunks.items[i], &ahead->filter, decoded) : status;
}

void ahead_stop(struct ahead *ahead)
{
	if (!ahead)
		return;
	pthread_mutex_lock(&ahead->lock);
	ahead->stopping = true;
	pthread_cond_broadcast(&ahead->changed);
	pthread_mutex_unlock(&ahead->lock);
	pthread_join(ahead->thread, NULL);
	for (unsigned i = 0; i < SLOTS; i++)
		decoded_done(&ahead->slots[i].decoded);
	pthread_cond_destroy(&ahead->changed);
	pthread_mutex_destroy(&ahead->lock);
	free(ahead);
}
