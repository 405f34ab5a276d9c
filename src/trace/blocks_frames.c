/* Parts of a file that share what it tells of stacks (frame_table.h). One part reads that itself, up to its own end; from the
 * second on it is read once, whole. */
#include <stdlib.h>

#include "trace/blocks_own.h"
#include "trace/frame_table.h"
#include "trace/part.h"

#define KEPT 2u                /* files: threads may be at work where two meet */

struct blocks_frames {
	struct {
		uint64_t from_ns;      /* where the file begins */
		uint64_t used;         /* when it was last asked for; 0 never */
		struct frame_table *frames; /* NULL: asked for once */
	} kept[KEPT];
	uint64_t clock;
};

void blocks_frames_free(struct blocks *b)
{
	for (unsigned i = 0; b->frames && i < KEPT; i++)
		frame_table_leave(b->frames->kept[i].frames);
	free(b->frames);
}

void blocks_rest(struct blocks *b)
{
	pthread_mutex_lock(&b->frames_lock);
	blocks_frames_free(b);
	b->frames = NULL;
	pthread_mutex_unlock(&b->frames_lock);
}

/* Where the next file begins; UINT64_MAX in the last one. */
static uint64_t file_end_ns(const struct blocks *b, size_t block)
{
	for (size_t i = block + 1; i < b->entries.length; i++)
		if (b->entries.items[i].block.file != b->entries.items[block].block.file)
			return b->entries.items[i].block.from_ns;
	return UINT64_MAX;
}

/* Under the lock. */
static struct frame_table *frames_of(struct blocks *b, uint64_t from_ns, uint64_t end_ns)
{
	struct blocks_frames *all = b->frames;
	unsigned at = 0;

	for (unsigned i = 0; i < (b->is_frugal ? 1 : KEPT); i++) {
		if (all->kept[i].used && all->kept[i].from_ns == from_ns) {
			all->kept[i].used = ++all->clock;
			if (!all->kept[i].frames)
				all->kept[i].frames = frame_table_read(b->trace, from_ns, end_ns - 1);
			return all->kept[i].frames;
		}
		if (all->kept[i].used < all->kept[at].used)
			at = i;
	}
	frame_table_leave(all->kept[at].frames);
	all->kept[at].frames = NULL;
	all->kept[at].from_ns = from_ns;
	all->kept[at].used = ++all->clock;
	return NULL;
}

void blocks_share_frames(struct blocks *b, size_t first, uint64_t to_ns, struct trace *part)
{
	uint64_t from_ns = trace_part_prelude_ns(part), end_ns = file_end_ns(b, first);

	/* one that reaches into the next file needs what that tells, too */
	if (end_ns != UINT64_MAX && to_ns + TRACE_LATE_NS >= end_ns)
		return;
	pthread_mutex_lock(&b->frames_lock);
	if (!b->frames)
		b->frames = mem_zalloc(sizeof(*b->frames));
	trace_part_shares_frames(part, frame_table_use(frames_of(b, from_ns, end_ns)));
	pthread_mutex_unlock(&b->frames_lock);
}
