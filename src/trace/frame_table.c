/* See frame_table.h. */
#include "trace/frame_table.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/arena.h"
#include "trace/trace.h"

struct frame_table *frame_table_new(void)
{
	struct frame_table *frames = mem_zalloc(sizeof(*frames));

	sparse_reach(&frames->memory, sizeof(struct frame));
	frames->items = frames->memory.memory;
	frames->count = 1;
	frames->users = 1;
	vec_push(&frames->nodes, 0);
	return frames;
}

/* It is among the nodes from now on. */
static struct frame *frame_of(struct frame_table *frames, uint32_t node)
{
	struct frame *frame = &frames->items[node];

	if (!frame->at) {
		frame->at = (uint32_t)frames->nodes.length;
		vec_push(&frames->nodes, node);
	}
	return frame;
}

void frame_table_take(struct frame_table *frames, const struct event *e)
{
	const struct event_frame *at = event_as(e, frame);
	uint32_t module = at->module < MODULE_NUMBERS ? at->module : 0, status = at->status < UINT8_MAX ? at->status : UINT8_MAX;
	struct frame *frame;

	if (!at->node || at->node >= NODE_NUMBERS)
		return;
	sparse_reach(&frames->memory, ((size_t)at->node + 1) * sizeof(*frame));
	frames->items = frames->memory.memory;
	if (frames->count <= at->node)
		frames->count = at->node + 1;
	/* Written before it is read: a page that is read first is mapped twice. */
	*(volatile uint64_t *)&frames->items[at->node].address = at->address;
	frame = frame_of(frames, at->node);
	*frame = (struct frame){ at->address, at->parent, module & (MODULE_NUMBERS - 1), status & UINT8_MAX, 0, frame->at };
}

/* Depths, and an end to parents that are not there or go in circles. */
void frame_table_finish(struct frame_table *frames)
{
	struct frame *items = frames->items;
	struct vec(uint32_t) path = { 0 };

	for (size_t i = 1; i < frames->nodes.length; i++) {
		uint32_t at = frames->nodes.items[i], depth;

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
	vec_done(&frames->nodes);
	free(frames);
}
