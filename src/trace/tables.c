/* See tables.h: what the state records tell, gathered in one pass. Threads are
 * in threads.c. */
#include "trace/tables.h"

#include <stdlib.h>
#include <string.h>

#include "trace/part.h"
#include "trace/tables_private.h"

/* Numbers of modules are dense; one far above the number of records is damage and
 * would only cost memory. */
#define SPARSE_LIMIT(records) (16 * (uint64_t)(records) + 65536)

#define HEAD_SLACK_NS 1000000000u /* what of a file's head may stand before its snapshot */

struct tables_gathering {
	struct tables *tables;
	struct thread_builder *threads;
	const struct trace_summary *summary;
	unsigned parts;
	bool partial;             /* not from the trace's begin on */
	struct vec(struct module) modules;
	struct frame_table *frames;
	bool shared;              /* they are others' too, and whole */
	struct vec(struct descriptor) descriptors;
	struct vec(struct told_symbol) symbols;
};

/* The enum tables_part that an event tells of; 0: none. */
static const uint8_t part_of[EVENT_MAX] = {
	[EVENT_task] = TABLES_THREADS, [EVENT_fork] = TABLES_THREADS, [EVENT_exec] = TABLES_THREADS, [EVENT_exit] = TABLES_THREADS,
	[EVENT_rename] = TABLES_THREADS, [EVENT_module] = TABLES_STACKS, [EVENT_frame] = TABLES_STACKS,
	[EVENT_symbol] = TABLES_STACKS, [EVENT_descriptor] = TABLES_DESCRIPTORS,
};

/* The nth text of a tail, "" when it has fewer. */
const char *tail_text(const struct event *e, unsigned n)
{
	const char *at = e->tail, *end = e->tail + e->tail_length;

	while (n-- && at < end)
		at += strlen(at) + 1;
	return at < end ? at : "";
}

static void take_module(struct tables_gathering *g, const struct event *e)
{
	const struct event_module *at = event_as(e, module);
	struct arena *arena = &g->tables->arena;

	if (!at->module || at->module >= SPARSE_LIMIT(g->summary->counts[EVENT_module]))
		return;
	while (g->modules.length <= at->module)
		vec_push(&g->modules, ((struct module){ .number = (uint32_t)g->modules.length, .path = "", .build_id = "", .code = "" }));
	g->modules.items[at->module] = (struct module){ at->module, at->kind, at->device, at->inode,
							arena_strdup(arena, tail_text(e, 0)), arena_strdup(arena, tail_text(e, 1)),
							arena_strdup(arena, tail_text(e, 2)) };
}

static void take(struct tables_gathering *g, const struct event *e)
{
	switch (e->type) {
	case EVENT_module:
		take_module(g, e);
		break;
	case EVENT_frame:
		if (!g->shared)
			frame_table_take(g->frames, e);
		break;
	case EVENT_descriptor:
		vec_push(&g->descriptors, ((struct descriptor){ e->time, *event_as(e, descriptor),
								arena_strdup(&g->tables->arena, e->tail), e->tid }));
		break;
	case EVENT_symbol:
		/* several texts, with a zero behind each */
		vec_push(&g->symbols, ((struct told_symbol){ *event_as(e, symbol),
							     arena_memdup(&g->tables->arena, e->tail, e->tail_length + 1u), e->tail_length }));
		break;
	default:
		thread_builder_take(g->threads, e);
	}
}

#define MOVE(g, list, field, count) \
	((g)->tables->field = arena_memdup(&(g)->tables->arena, (g)->list.items, (g)->list.length * sizeof((g)->list.items[0])), \
	 (g)->tables->count = (__typeof__((g)->tables->count))(g)->list.length, free((g)->list.items))

struct tables_gathering *tables_gather(const struct trace *trace)
{
	struct tables_gathering *g = mem_zalloc(sizeof(*g));

	g->tables = mem_zalloc(sizeof(*g->tables));
	g->summary = trace_summary(trace);
	g->threads = thread_builder_new(g->tables, trace);
	g->parts = TABLES_ALL;
	vec_push(&g->modules, ((struct module){ .path = "", .build_id = "", .code = "" }));
	g->frames = frame_table_use(trace_shared_frames(trace));
	g->shared = g->frames != NULL;
	if (!g->shared)
		g->frames = frame_table_new();
	return g;
}

bool tables_gather_wants(const struct tables_gathering *gathering, unsigned type)
{
	return part_of[type] && !(gathering->shared && type == EVENT_frame);
}

bool tables_gather_take(struct tables_gathering *gathering, const struct event *e)
{
	if (e->type >= EVENT_MAX || !part_of[e->type] || !e->data)
		return false;
	take(gathering, e);
	return true;
}

void tables_gather_missed(struct tables_gathering *gathering, uint32_t tid, uint64_t last_ns, uint64_t end_ns)
{
	thread_builder_missed(gathering->threads, tid, last_ns, end_ns);
}

struct tables *tables_gather_finish(struct tables_gathering *gathering)
{
	struct tables *tables = gathering->tables;

	if (!gathering->shared)
		frame_table_finish(gathering->frames);
	thread_builder_finish(gathering->threads, gathering->parts & TABLES_THREADS && !gathering->partial);
	MOVE(gathering, modules, modules, module_count);
	tables->shared_frames = gathering->frames;
	tables->frames = gathering->frames->items;
	tables->frame_count = gathering->frames->count;
	tables->node_count = gathering->frames->told;
	MOVE(gathering, descriptors, descriptors, descriptor_count);
	MOVE(gathering, symbols, symbols, symbol_count);
	free(gathering);
	return tables;
}

int tables_build(const struct trace *trace, struct tables **ret_tables, struct err *err)
{
	return tables_build_parts(trace, TABLES_ALL, ret_tables, err);
}

int tables_build_parts(const struct trace *trace, unsigned parts, struct tables **ret_tables, struct err *err)
{
	return tables_build_window(trace, parts, 0, 0, ret_tables, err);
}

static bool is_head(const struct event *e)
{
	uint32_t reason = event_as(e, snapshot)->reason;

	return reason == SNAPSHOT_REASON_start || reason == SNAPSHOT_REASON_file;
}

/* Where the last head begins that is whole at a time; 0 when there is none. */
static uint64_t head_before(const struct trace *trace, uint64_t time_ns)
{
	struct trace_filter filter = { .to_ns = time_ns, .unnumbered = true };
	struct trace_cursor *cursor;
	uint64_t begin = 0, head = 0;

	if (!time_ns)
		return 0;
	trace_filter_add(&filter, EVENT_snapshot);
	cursor = trace_cursor_new(trace, &filter);
	for (const struct event *e; (e = trace_cursor_next(cursor)); ) {
		if (!is_head(e))
			continue;
		if (!event_as(e, snapshot)->end)
			begin = e->time;
		else
			head = begin;
	}
	trace_cursor_free(cursor);
	return head;
}

int tables_build_window(const struct trace *trace, unsigned parts, uint64_t from_ns, uint64_t to_ns, struct tables **ret_tables,
			struct err *err)
{
	struct trace_filter filter = { .from_ns = head_before(trace, from_ns), .unnumbered = true };
	struct tables_gathering *gathering = tables_gather(trace);
	struct trace_cursor *cursor;
	bool next_head = false;
	const struct event *e;

	(void)err;
	/* A machine's records stand a moment before the snapshot, and so may others'. */
	filter.from_ns -= filter.from_ns > HEAD_SLACK_NS ? HEAD_SLACK_NS : filter.from_ns;
	gathering->parts = parts;
	gathering->partial = filter.from_ns > trace_summary(trace)->start_ns;
	for (unsigned i = 0; i < EVENT_MAX; i++)
		if (part_of[i] & parts && tables_gather_wants(gathering, i))
			trace_filter_add(&filter, i);
	if (to_ns)
		trace_filter_add(&filter, EVENT_snapshot);
	cursor = trace_cursor_new(trace, &filter);
	while ((e = trace_cursor_next(cursor))) {
		tables_gather_take(gathering, e);
		if (e->type != EVENT_snapshot || !to_ns || e->time <= to_ns || !is_head(e))
			continue;
		/* Names may be told after the moment that they hold for. */
		if (event_as(e, snapshot)->end && next_head)
			break;
		next_head |= !event_as(e, snapshot)->end;
	}
	trace_cursor_free(cursor);
	*ret_tables = tables_gather_finish(gathering);
	return 0;
}

void tables_free(struct tables *tables)
{
	if (!tables)
		return;
	thread_lookup_free(tables);
	frame_table_leave(tables->shared_frames);
	arena_done(&tables->arena);
	free(tables);
}
