/* Parts of a trace in blocks with what some threads did before, see past.h. */
#include <stdlib.h>

#include "trace/blocks_own.h"
#include "trace/past.h"

#define BLOCK_MOST 4u          /* times the usual weight */
#define KEPT 32u               /* blocks: those that the next part asks about, too */

struct blocks_past {
	struct {
		size_t block;
		uint64_t used;         /* when it was last asked for; 0 never */
		struct past_block past;
	} kept[KEPT];
	uint64_t clock;
};

static uint64_t begin_ns(const struct blocks *b, size_t block)
{
	return b->entries.items[block].block.from_ns;
}

/* In memory until others are asked for; under the lock. */
static const struct past_block *past_of(struct blocks *b, size_t block)
{
	struct blocks_past *all = b->past;
	unsigned at = 0;

	for (unsigned i = 0; i < KEPT; i++) {
		if (all->kept[i].used && all->kept[i].block == block) {
			all->kept[i].used = ++all->clock;
			return &all->kept[i].past;
		}
		if (all->kept[i].used < all->kept[at].used)
			at = i;
	}
	past_block_done(&all->kept[at].past);
	past_block_read(b->trace, begin_ns(b, block), begin_ns(b, block + 1) - 1, &all->kept[at].past);
	all->kept[at].block = block;
	all->kept[at].used = ++all->clock;
	return &all->kept[at].past;
}

void blocks_past_free(struct blocks *b)
{
	for (unsigned i = 0; b->past && i < KEPT; i++)
		past_block_done(&b->past->kept[i].past);
	free(b->past);
}

/* What comes before all that the blocks divide is no block: it is as long as it happens to be. */
static size_t back_to(const struct blocks *b, size_t since, size_t first)
{
	size_t i = first;

	while (i > since && b->entries.items[i].block.weight_before - b->entries.items[i - 1].block.weight_before <= BLOCK_MOST * b->block_weight)
		i--;
	return i;
}

/* Those told from then on, with what stands there. */
static int stand(struct blocks *b, size_t block, struct past *past, struct err *err)
{
	struct standing_events standing;
	struct arena arena;
	int r;

	arena_init(&arena);
	r = blocks_standing(b, block, &arena, &standing, err);
	if (!r)
		past_stand(past, begin_ns(b, block), &standing);
	arena_done(&arena);
	return r;
}

static int gather(struct blocks *b, size_t since, size_t first, struct past *past, struct err *err)
{
	int r = 0;

	for (size_t i = since; i < first; i++)
		past_meet(past, past_of(b, i), begin_ns(b, i + 1));
	past_begin(past, begin_ns(b, since));
	for (size_t i = since; !r && i < first; i++) {
		if (past_begins_at(past, begin_ns(b, i)))
			r = stand(b, i, past, err);
		if (!r)
			past_take(past, past_of(b, i));
	}
	return r;
}

int blocks_part_since(struct blocks *b, size_t since, struct map *threads, size_t first, size_t last, uint64_t to_ns, struct arena *arena,
		      struct trace **ret_part, struct err *err)
{
	uint64_t end_ns = blocks_end_ns(b, last);
	struct standing_events at = { 0 }, *standing = arena_new(arena, struct standing_events);
	struct past past = { .threads = *threads, .floor_ns = begin_ns(b, first), .arena = arena };
	int r = blocks_standing(b, first, arena, &at, err);

	since = back_to(b, since, first);
	map_init(threads);
	pthread_mutex_lock(&b->past_lock);
	if (!b->past)
		b->past = mem_zalloc(sizeof(*b->past));
	if (!r)
		r = gather(b, since, first, &past, err);
	pthread_mutex_unlock(&b->past_lock);
	past_end(&past, &at, standing);
	if (r) {
		map_done(&past.threads);
		return r;
	}
	if (to_ns > end_ns)
		to_ns = end_ns;
	*ret_part = trace_part(b->trace, begin_ns(b, first), to_ns, standing);
	blocks_share_frames(b, first, to_ns, *ret_part);
	trace_part_tells_past(*ret_part, past.threads);
	return 0;
}
