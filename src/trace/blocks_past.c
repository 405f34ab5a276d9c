/* Parts of a trace in blocks with what some threads did before, see past.h. */
#include <stdlib.h>

#include "trace/blocks_own.h"
#include "trace/past.h"

#define BLOCK_MOST 4u          /* times the usual weight */
#define KEPT 32u               /* blocks: those that the next part asks about, too */

/* A block's, as long as somebody uses it. */
struct past_kept {
	struct past_block past;
	unsigned users;            /* under the lock */
};

struct blocks_past {
	struct {
		size_t block;
		uint64_t used;         /* when it was last asked for; 0 never */
		struct past_kept *kept;
	} places[KEPT];
	uint64_t clock;
};

static uint64_t begin_ns(const struct blocks *b, size_t block)
{
	return b->entries.items[block].block.from_ns;
}

/* Under the lock, as what follows. */
static void leave(struct past_kept *kept)
{
	if (!kept || --kept->users)
		return;
	past_block_done(&kept->past);
	free(kept);
}

static struct past_kept *find(struct blocks *b, size_t block)
{
	struct blocks_past *all = b->past;

	for (unsigned i = 0; all && i < KEPT; i++)
		if (all->places[i].used && all->places[i].block == block) {
			all->places[i].used = ++all->clock;
			return all->places[i].kept;
		}
	return NULL;
}

/* In memory until others are asked for. */
static struct past_kept *keep(struct blocks *b, size_t block, const struct past_block *past)
{
	struct past_kept *kept = find(b, block);
	struct past_block extra = *past;
	unsigned at = 0;

	if (kept) {
		past_block_done(&extra);
		return kept;
	}
	if (!b->past)
		b->past = mem_zalloc(sizeof(*b->past));
	for (unsigned i = 0; i < KEPT; i++)
		if (b->past->places[i].used < b->past->places[at].used)
			at = i;
	leave(b->past->places[at].kept);
	kept = mem_zalloc(sizeof(*kept));
	*kept = (struct past_kept){ *past, 1 };
	b->past->places[at].block = block;
	b->past->places[at].used = ++b->past->clock;
	b->past->places[at].kept = kept;
	return kept;
}

static struct past_kept *use(struct blocks *b, size_t block)
{
	struct past_kept *kept;
	struct past_block past;

	pthread_mutex_lock(&b->past_lock);
	kept = find(b, block);
	if (!kept) {
		pthread_mutex_unlock(&b->past_lock);
		past_block_read(b->trace, begin_ns(b, block), begin_ns(b, block + 1) - 1, &past);
		pthread_mutex_lock(&b->past_lock);
		kept = keep(b, block, &past);
	}
	kept->users++;
	pthread_mutex_unlock(&b->past_lock);
	return kept;
}

void blocks_keep_past(struct blocks *b, size_t block, const struct past_block *past)
{
	pthread_mutex_lock(&b->past_lock);
	keep(b, block, past);
	pthread_mutex_unlock(&b->past_lock);
}

void blocks_past_free(struct blocks *b)
{
	for (unsigned i = 0; b->past && i < KEPT; i++)
		leave(b->past->places[i].kept);
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
	struct past_kept **kept = mem_alloc((first - since + 1) * sizeof(struct past_kept *));
	int r = 0;

	for (size_t i = since; i < first; i++) {
		kept[i - since] = use(b, i);
		past_meet(past, &kept[i - since]->past, begin_ns(b, i + 1));
	}
	past_begin(past, begin_ns(b, since));
	for (size_t i = since; !r && i < first; i++) {
		if (past_begins_at(past, begin_ns(b, i)))
			r = stand(b, i, past, err);
		if (!r)
			past_take(past, &kept[i - since]->past);
	}
	pthread_mutex_lock(&b->past_lock);
	for (size_t i = since; i < first; i++)
		leave(kept[i - since]);
	pthread_mutex_unlock(&b->past_lock);
	free(kept);
	return r;
}

int blocks_part_since(struct blocks *b, size_t since, struct map *threads, const struct map *programs, size_t first, size_t last, uint64_t to_ns,
		      struct arena *arena, struct trace **ret_part, struct err *err)
{
	uint64_t end_ns = blocks_end_ns(b, last);
	struct standing_events at = { 0 }, *standing = arena_new(arena, struct standing_events);
	struct past past = { .threads = *threads, .programs = *programs, .floor_ns = begin_ns(b, first), .arena = arena };
	int r = blocks_standing(b, first, arena, &at, err);

	since = back_to(b, since, first);
	map_init(threads);
	if (!r)
		r = gather(b, since, first, &past, err);
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
