/* See frame_table.h. */
#include "trace/frame_table.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/vec.h"
#include "trace/trace.h"

struct frame_table *frame_table_new(void)
{
	struct frame_table *frames = mem_zalloc(sizeof(*frames));

	frames->memory.aside = true;
	sparse_reach(&frames->memory, sizeof(struct frame));
	sparse_reach(&frames->bits_memory, sizeof(*frames->bits));
	frames->items = frames->memory.memory;
	frames->bits = frames->bits_memory.memory;
	frames->count = 1;
	frames->users = 1;
	return frames;
}

/* It is among those that are told from now on; there is room for it. */
static struct frame *frame_of(struct frame_table *frames, uint32_t node)
{
	uint64_t bit = 1ull << node % 64;

	frames->told += !(frames->bits[node / 64] & bit);
	frames->bits[node / 64] |= bit;
	return &frames->items[node];
}

bool frame_table_next(const struct frame_table *frames, uint32_t *node)
{
	uint32_t from = *node + 1, word = from / 64, words = (frames->count + 63) / 64;
	uint64_t bits = word < words ? frames->bits[word] & ~0ull << from % 64 : 0;

	while (!bits && ++word < words)
		bits = frames->bits[word];
	if (!bits)
		return false;
	*node = word * 64 + (uint32_t)__builtin_ctzll(bits);
	return true;
}

void frame_table_take(struct frame_table *frames, const struct event *e)
{
	const struct event_frame *at = event_as(e, frame);
	uint32_t module = at->module < MODULE_NUMBERS ? at->module : 0, status = at->status < UINT8_MAX ? at->status : UINT8_MAX;
	struct frame *frame;

	if (!at->node || at->node >= NODE_NUMBERS)
		return;
	sparse_reach(&frames->memory, ((size_t)at->node + 1) * sizeof(*frame));
	sparse_reach(&frames->bits_memory, ((size_t)at->node / 64 + 1) * sizeof(*frames->bits));
	frames->items = frames->memory.memory;
	frames->bits = frames->bits_memory.memory;
	if (frames->count <= at->node)
		frames->count = at->node + 1;
	frame = frame_of(frames, at->node);
	*frame = (struct frame){ at->address, at->parent, module & (MODULE_NUMBERS - 1), status & UINT8_MAX, 0 };
}

/* Depths, and an end to parents that are not there or go in circles. */
void frame_table_finish(struct frame_table *frames)
{
	struct frame *items = frames->items;
	struct vec(uint32_t) path = { 0 };

	for (uint32_t node = 0; frame_table_next(frames, &node); ) {
		uint32_t at = node, depth;

		vec_clear(&path);
		while (at && at < frames->count && !items[at].depth) {
			frame_of(frames, at)->depth = UINT32_MAX; /* on the path */
			vec_push(&path, at);
			at = items[at].parent;
		}
		if (path.length && at && (at >= frames->count || items[at].depth == UINT32_MAX)) {
			items[path.items[path.length - 1]].parent = 0;
			at = 0;
		}
		depth = at ? items[at].depth : 0;
		while (path.length)
			items[path.items[--path.length]].depth = ++depth;
	}
	vec_done(&path);
}

struct frame_table *frame_table_read(const struct trace *trace, uint64_t from_ns, uint64_t to_ns)
{
	struct trace_filter filter = { .from_ns = from_ns, .to_ns = to_ns, .unnumbered = true };
	struct frame_table *frames = frame_table_new();
	struct trace_cursor *cursor;

	trace_filter_add(&filter, EVENT_frame);
	cursor = trace_cursor_new(trace, &filter);
	for (const struct event *e; (e = trace_cursor_next(cursor)); )
		if (e->data)
			frame_table_take(frames, e);
	trace_cursor_free(cursor);
	frame_table_finish(frames);
	return frames;
}

struct frame_table *frame_table_use(struct frame_table *frames)
{
	if (frames)
		__atomic_add_fetch(&frames->users, 1, __ATOMIC_RELAXED);
	return frames;
}

void frame_table_leave(struct frame_table *frames)
{
	if (!frames || __atomic_sub_fetch(&frames->users, 1, __ATOMIC_ACQ_REL))
		return;
	sparse_done(&frames->memory);
	sparse_done(&frames->bits_memory);
	free(frames);
}
