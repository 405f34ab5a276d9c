/* Chunks decoded lately, whole, for questions about a moment: one event, the events of
 * a segment. They come in dozens and lie close together, and each would decode the same
 * chunks again. Walks through the trace keep out of it. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "trace/reader.h"

#define KEPT_CHUNKS 24u
#define KEPT_FEW 4u            /* of who must not take much */
#define KEPT_EVENTS (1u << 17) /* larger chunks are not kept: no writer makes them */

struct kept_chunk {
	size_t number;             /* of the chunk, + 1; 0 nothing is kept */
	unsigned users;
	uint64_t used;             /* when it was last asked for, counted */
	struct decoded decoded;
};

struct chunk_cache {
	pthread_mutex_t lock;
	uint64_t asked;
	struct kept_chunk kept[KEPT_CHUNKS];
};

struct chunk_cache *chunk_cache_new(void)
{
	struct chunk_cache *cache = mem_zalloc(sizeof(*cache));

	pthread_mutex_init(&cache->lock, NULL);
	return cache;
}

void chunk_cache_free(struct chunk_cache *cache)
{
	if (!cache)
		return;
	for (unsigned i = 0; i < KEPT_CHUNKS; i++)
		decoded_done(&cache->kept[i].decoded);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

/* The one that nobody uses and that was asked for longest ago. */
static struct kept_chunk *oldest(struct chunk_cache *cache)
{
	unsigned count = mem_is_scarce() ? KEPT_FEW : KEPT_CHUNKS;
	struct kept_chunk *found = NULL;

	for (unsigned i = 0; i < count; i++)
		if (!cache->kept[i].users && (!found || cache->kept[i].used < found->used))
			found = &cache->kept[i];
	return found;
}

static struct kept_chunk *decode(struct chunk_cache *cache, const struct trace *trace, size_t number)
{
	struct kept_chunk *kept = oldest(cache);
	struct trace_filter all = { 0 };

	if (!kept || trace->chunks.items[number].count > KEPT_EVENTS)
		return NULL;
	memset(all.types, 0xff, sizeof(all.types));
	kept->number = 0;
	if (chunk_decode(trace, &trace->chunks.items[number], &all, &kept->decoded))
		return NULL;
	kept->number = number + 1;
	return kept;
}

struct kept_chunk *chunk_cache_take(const struct trace *trace, size_t number, bool fresh, const struct decoded **ret_decoded)
{
	struct chunk_cache *cache = trace->cache;
	struct kept_chunk *kept = NULL;

	pthread_mutex_lock(&cache->lock);
	for (unsigned i = 0; i < KEPT_CHUNKS && !kept; i++)
		if (cache->kept[i].number == number + 1)
			kept = &cache->kept[i];
	if (!kept && fresh)
		kept = decode(cache, trace, number);
	if (kept) {
		kept->users++;
		kept->used = ++cache->asked;
		*ret_decoded = &kept->decoded;
	}
	pthread_mutex_unlock(&cache->lock);
	return kept;
}

void chunk_cache_give(const struct trace *trace, struct kept_chunk *kept)
{
	pthread_mutex_lock(&trace->cache->lock);
	kept->users--;
	pthread_mutex_unlock(&trace->cache->lock);
}
