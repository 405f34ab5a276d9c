/* See tables.h: what the state records tell, gathered in one pass. Threads are
 * in threads.c. */
#include "trace/tables.h"

#include <stdlib.h>
#include <string.h>

#include "trace/tables_private.h"

/* Numbers of modules and frames are dense; one far above the number of records
 * is damage and would only cost memory. */
#define SPARSE_LIMIT(records) (16 * (uint64_t)(records) + 65536)

struct gathered {
	struct tables *tables;
	struct thread_builder *threads;
	const struct trace_summary *summary;
	struct vec(struct module) modules;
	struct vec(struct frame) frames;
	struct vec(struct descriptor) descriptors;
	struct vec(struct mapping) mappings;
};

/* The nth text of a tail, "" when it has fewer. */
const char *tail_text(const struct event *e, unsigned n)
{
	const char *at = e->tail, *end = e->tail + e->tail_length;

	while (n-- && at < end)
		at += strlen(at) + 1;
	return at < end ? at : "";
}

static void take_module(struct gathered *g, const struct event *e)
{
	const struct event_module *at = event_as(e, module);
	struct arena *arena = &g->tables->arena;

	if (!at->module || at->module >= SPARSE_LIMIT(g->summary->counts[EVENT_module]))
		return;
	while (g->modules.length <= at->module)
		vec_push(&g->modules, ((struct module){ .number = (uint32_t)g->modules.length, .path = "", .build_id = "" }));
	g->modules.items[at->module] = (struct module){ at->module, at->kind, at->device, at->inode,
							arena_strdup(arena, tail_text(e, 0)), arena_strdup(arena, tail_text(e, 1)) };
}

static void take_frame(struct gathered *g, const struct event *e)
{
	const struct event_frame *at = event_as(e, frame);

	if (!at->node || at->node >= SPARSE_LIMIT(g->summary->counts[EVENT_frame]))
		return;
	while (g->frames.length <= at->node)
		vec_push(&g->frames, (struct frame){ 0 });
	g->frames.items[at->node] = (struct frame){ at->address, at->parent, at->module, at->status, 0 };
}

/* Depths, and an end to parents that are not there or go in circles. */
static void finish_frames(struct gathered *g)
{
	struct frame *frames = g->frames.items;
	size_t count = g->frames.length;
	struct vec(uint32_t) path = { 0 };

	for (uint32_t node = 1; node < count; node++) {
		uint32_t at = node, depth;

		vec_clear(&path);
		while (at && at < count && !frames[at].depth) {
			frames[at].depth = UINT32_MAX; /* on the path */
			vec_push(&path, at);
			at = frames[at].parent;
		}
		if (path.length && at && (at >= count || frames[at].depth == UINT32_MAX)) {
			frames[path.items[path.length - 1]].parent = 0;
			at = 0;
		}
		depth = at ? frames[at].depth : 0;
		while (path.length)
			frames[path.items[--path.length]].depth = ++depth;
	}
	vec_done(&path);
}

static void take(struct gathered *g, const struct event *e)
{
	switch (e->type) {
	case EVENT_module:
		take_module(g, e);
		break;
	case EVENT_frame:
		take_frame(g, e);
		break;
	case EVENT_descriptor:
		vec_push(&g->descriptors, ((struct descriptor){ e->time, *event_as(e, descriptor),
								arena_strdup(&g->tables->arena, e->tail), e->tid }));
		break;
	case EVENT_mapping:
		vec_push(&g->mappings, ((struct mapping){ e->time, *event_as(e, mapping), e->tid }));
		break;
	default:
		thread_builder_take(g->threads, e);
	}
}

#define MOVE(g, list, field, count) \
	((g)->tables->field = arena_memdup(&(g)->tables->arena, (g)->list.items, (g)->list.length * sizeof((g)->list.items[0])), \
	 (g)->tables->count = (__typeof__((g)->tables->count))(g)->list.length)

int tables_build(const struct trace *trace, struct tables **ret_tables, struct err *err)
{
	static const unsigned types[] = { EVENT_task, EVENT_fork, EVENT_exec, EVENT_exit, EVENT_rename, EVENT_descriptor,
					  EVENT_mapping, EVENT_module, EVENT_frame };
	struct trace_filter filter = { .unnumbered = true };
	struct gathered g = { .tables = mem_zalloc(sizeof(*g.tables)), .summary = trace_summary(trace) };
	struct trace_cursor *cursor;
	const struct event *e;

	(void)err;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		trace_filter_add(&filter, types[i]);
	g.threads = thread_builder_new(g.tables, trace);
	vec_push(&g.modules, ((struct module){ .path = "", .build_id = "" }));
	vec_push(&g.frames, (struct frame){ 0 });
	cursor = trace_cursor_new(trace, &filter);
	while ((e = trace_cursor_next(cursor)))
		if (e->data)
			take(&g, e);
	trace_cursor_free(cursor);
	finish_frames(&g);
	thread_builder_finish(g.threads);
	MOVE(&g, modules, modules, module_count);
	MOVE(&g, frames, frames, frame_count);
	MOVE(&g, descriptors, descriptors, descriptor_count);
	MOVE(&g, mappings, mappings, mapping_count);
	vec_done(&g.modules);
	vec_done(&g.frames);
	vec_done(&g.descriptors);
	vec_done(&g.mappings);
	*ret_tables = g.tables;
	return 0;
}

void tables_free(struct tables *tables)
{
	if (!tables)
		return;
	thread_lookup_free(tables);
	arena_done(&tables->arena);
	free(tables);
}
