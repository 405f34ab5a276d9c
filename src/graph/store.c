/* Columns of the graph: memory, rows, orders; see store.h. */
#include "graph/store.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/populate.h"
#include "base/search.h"
#include "trace/part.h"

#define REGION_LEAST ((size_t)4 << 20)
#define REGION_MOST ((size_t)16 << 30) /* expected at once */
#define REGION_STEP ((size_t)64 << 10) /* whose pages are made at once */

void region_done(struct region *region)
{
	if (region->data)
		munmap(region->data, region->capacity);
	*region = (struct region){ 0 };
}

/* Whether it could be had. */
static bool region_map(struct region *region, size_t capacity)
{
	void *data = region->data ? mremap(region->data, region->capacity, capacity, MREMAP_MAYMOVE)
				  : mmap(NULL, capacity, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (data == MAP_FAILED)
		return false;
	region->data = data;
	region->capacity = capacity;
	return true;
}

static void region_expect(struct region *region, size_t bytes)
{
	/* What a trace says of itself may be wrong. */
	if (bytes > REGION_MOST)
		bytes = REGION_MOST;
	if (bytes > REGION_LEAST && !region->data)
		region_map(region, (bytes / REGION_LEAST + 1) * REGION_LEAST);
}

void region_reserve(struct region *region, size_t bytes)
{
	size_t capacity = region->capacity ? region->capacity : REGION_LEAST;

	if (bytes <= region->capacity)
		return;
	/* Addresses are cheap and pages come when touched, so grow by doubling;
	 * pages move with the mapping, nothing is copied. */
	while (capacity < bytes)
		capacity *= 2;
	if (!region_map(region, capacity)) {
		fprintf(stderr, "argus: out of memory (%zu bytes wanted)\n", capacity);
		abort();
	}
}

/* Before what begins at `at` is written; it lies within one step. */
static void region_ahead(struct region *region, size_t at)
{
	if (at < region->touched || at % REGION_STEP != 0 || at + REGION_STEP > region->capacity)
		return;
	mem_populate((char *)region->data + at, REGION_STEP);
	region->touched = at + REGION_STEP;
}

static uint64_t long_ns(const struct map *map, uint32_t row)
{
	const uint64_t *ns = map_find(map, row);

	return ns ? *ns : UINT32_MAX;
}

uint64_t row_long_stretch_ns(const struct graph *graph, uint32_t row)
{
	return long_ns(&graph->long_stretches, row);
}

uint64_t row_long_wait_ns(const struct graph *graph, uint32_t row)
{
	return long_ns(&graph->long_waits, row);
}

void row_set_out(struct graph *graph, uint32_t row, uint64_t out_ns)
{
	struct row *r = &graph->rows[row];
	uint64_t length = out_ns > r->in_ns ? out_ns - r->in_ns : 0;

	r->flags |= ROW_CLOSED;
	r->length = length < UINT32_MAX ? (uint32_t)length : UINT32_MAX;
	if (length >= UINT32_MAX)
		map_put(&graph->long_stretches, row, length);
}

void row_set_wake(struct graph *graph, uint32_t row, uint64_t wake_ns)
{
	struct row *r = &graph->rows[row];
	uint64_t out = row_out_ns(graph, row);
	uint64_t delta = wake_ns < out ? out - wake_ns : wake_ns - out;

	r->flags = (uint16_t)((r->flags & ~ROW_EARLY) | ROW_WOKEN | (wake_ns < out ? ROW_EARLY : 0));
	r->wake_delta = delta < UINT32_MAX ? (uint32_t)delta : UINT32_MAX;
	if (delta >= UINT32_MAX)
		map_put(&graph->long_waits, row, delta);
}

uint32_t short_time_code(uint64_t ns)
{
	unsigned shift = 0;

	while (ns >= 1u << 26) {
		/* Round to the nearest. */
		ns = (ns >> 1) + (ns & 1);
		shift++;
	}
	return (uint32_t)(shift << 26 | ns);
}

uint64_t short_time_ns(uint32_t code)
{
	return (uint64_t)(code & ((1u << 26) - 1)) << (code >> 26);
}

bool store_is_recorder(const struct graph *graph, uint32_t thread)
{
	const char *text = trace_machine(graph->trace, "recorder_pid");
	uint32_t pid = text ? (uint32_t)strtoul(text, NULL, 10) : 0;

	return (pid && graph->threads.items[thread].pid == pid) ||
	       (thread < graph->tables->thread_count && graph->tables->threads[thread].flags & TASK_FLAGS_argus);
}

uint64_t row_run_ns(const struct graph *graph, uint32_t row, uint64_t end_ns)
{
	const struct row *r = &graph->rows[row];
	uint64_t out = row_out_ns(graph, row), run;

	if (out == UINT64_MAX)
		out = end_ns;
	run = out > r->in_ns ? out - r->in_ns : 0;
	for (uint32_t at = r->preemption; at; at = graph->preemptions[at].next)
		run -= graph->preemptions[at].away < run ? graph->preemptions[at].away : run;
	return run;
}

uint32_t row_segment(const struct graph *graph, uint32_t row)
{
	uint32_t thread = row_thread(graph, row), place = row_place(graph, row);

	while (place && graph->rows[row].flags & ROW_CONTINUES)
		row = row_at_place(graph, thread, --place);
	return row;
}

uint32_t row_at_time(const struct graph *graph, uint32_t thread, uint64_t time_ns)
{
	uint32_t low = 0, high;

	if (thread >= graph->threads.length)
		return GRAPH_NONE;
	high = graph->threads.items[thread].rows;
	SEARCH(low, high, middle, graph->rows[row_at_place(graph, thread, middle)].in_ns <= time_ns);
	return low ? row_at_place(graph, thread, low - 1) : GRAPH_NONE;
}

void store_expect(const struct trace *trace, struct region *region, uint64_t events, size_t bytes)
{
	/* A part's counts are those of the whole. */
	if (trace_whole(trace) == trace)
		region_expect(region, events * 2 * bytes);
}

struct graph *store_new(const struct trace *trace, struct graph_room *room)
{
	struct graph *graph = mem_zalloc(sizeof(*graph));
	pthread_mutex_t *lock = mem_zalloc(sizeof(*lock));
	const struct trace_summary *summary = trace_summary(trace);

	pthread_mutex_init(lock, NULL);
	graph->lazy = lock;
	graph->trace = trace;
	arena_init(&graph->arena);
	arena_init(&graph->correction.arena);
	if (room) {
		graph->room = room;
		graph->rows_region = room->rows;
		graph->preemptions_region = room->preemptions;
		graph->preemptions = graph->preemptions_region.data;
		*room = (struct graph_room){ 0 };
	} else {
		store_expect(trace, &graph->rows_region, summary->counts[EVENT_switch] + summary->counts[EVENT_wake], sizeof(struct row));
	}
	graph->rows = graph->rows_region.data;
	vec_push(&graph->names, '\0');
	vec_push(&graph->rules, ((struct graph_rule){ .name = "none", .text = "" }));
	return graph;
}

uint32_t store_new_row(struct graph *graph, uint32_t thread, uint32_t *last_row, uint32_t rows)
{
	uint32_t block, row;

	if (rows % ROW_BLOCK) {
		row = *last_row + 1;
	} else {
		block = graph->block_count;
		if (block == UINT32_MAX / ROW_BLOCK) {
			fprintf(stderr, "argus: more than 2^32 stretches\n");
			abort();
		}
		region_reserve(&graph->blocks_region, ((size_t)block + 1) * sizeof(struct block));
		region_reserve(&graph->rows_region, ((size_t)block + 1) * ROW_BLOCK * sizeof(struct row));
		graph->blocks = graph->blocks_region.data;
		graph->rows = graph->rows_region.data;
		region_ahead(&graph->rows_region, (size_t)block * ROW_BLOCK * sizeof(struct row));
		graph->blocks[block] = (struct block){ .thread = thread, .index = rows / ROW_BLOCK };
		memset(graph->rows + (size_t)block * ROW_BLOCK, 0, ROW_BLOCK * sizeof(struct row)); /* it may be another graph's */
		graph->block_count++;
		row = block * ROW_BLOCK;
	}
	*last_row = row;
	return row;
}

uint32_t store_new_preemption(struct graph *graph, const struct preemption *preemption)
{
	uint32_t number = graph->preemption_count ? graph->preemption_count : 1;

	region_reserve(&graph->preemptions_region, ((size_t)number + 1) * sizeof(*preemption));
	graph->preemptions = graph->preemptions_region.data;
	region_ahead(&graph->preemptions_region, (size_t)number * sizeof(*preemption));
	graph->preemptions[number] = *preemption;
	graph->preemption_count = number + 1;
	return number;
}

uint32_t store_name(struct graph *graph, const char *name)
{
	size_t length = strlen(name) + 1, at = graph->names.length;

	vec_reserve(&graph->names, at + length);
	memcpy(graph->names.items + at, name, length);
	graph->names.length += length;
	return (uint32_t)at;
}

/* The numbers below count in the order of their keys; to be freed. */
static uint32_t *order_of(size_t count, uint32_t (*key)(const struct graph *graph, size_t item), const struct graph *graph)
{
	const unsigned bits = 11, mask = (1u << bits) - 1;
	uint64_t *pairs = mem_alloc((count + 1) * sizeof(*pairs)), *other = mem_alloc((count + 1) * sizeof(*other)), *swap;
	uint32_t *order;

	/* Key above, number below: all but one of a pass's accesses are in a row. */
	for (size_t i = 0; i < count; i++)
		pairs[i] = (uint64_t)key(graph, i) << 32 | i;
	/* Radix sort; passes in which all share a digit are skipped. */
	for (unsigned shift = 32; shift < 64; shift += bits) {
		size_t counts[2048] = { 0 }, at = 0;

		for (size_t i = 0; i < count; i++)
			counts[pairs[i] >> shift & mask]++;
		if (count && counts[pairs[0] >> shift & mask] == count)
			continue;
		for (unsigned i = 0; i <= mask; i++) {
			size_t n = counts[i];

			counts[i] = at;
			at += n;
		}
		for (size_t i = 0; i < count; i++)
			other[counts[pairs[i] >> shift & mask]++] = pairs[i];
		swap = pairs;
		pairs = other;
		other = swap;
	}
	free(other);
	order = mem_alloc((count + 1) * sizeof(*order));
	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)pairs[i];
	free(pairs);
	return order;
}

void edge_list_done(struct edge_list *list)
{
	region_done(&list->region);
	edge_notes_done(&list->into);
	edge_notes_done(&list->from);
	*list = (struct edge_list){ 0 };
}

struct packed_edge edge_pack(const struct stored_edge *edge)
{
	return (struct packed_edge){ .to_ns = edge->to_ns, .from_row = edge->from_row, .to_row = edge->to_row,
				     .from_event = edge->from_event, .to_event = edge->to_event,
				     .age = short_time_code(edge->to_ns - edge->from_ns),
				     .rule = edge->removed ? (uint16_t)edge->removed : edge->rule,
				     .kind = (uint8_t)(edge->kind | (edge->removed ? EDGE_REMOVED : 0)), .confidence = edge->confidence };
}

struct stored_edge edge_unpack(const struct packed_edge *edge)
{
	return (struct stored_edge){ .from_ns = edge->to_ns - short_time_ns(edge->age), .to_ns = edge->to_ns,
				     .from_row = edge->from_row, .to_row = edge->to_row, .from_event = edge->from_event,
				     .to_event = edge->to_event, .rule = edge->rule, .kind = edge->kind & (EDGE_REMOVED - 1),
				     .confidence = edge->confidence, .removed = edge->kind & EDGE_REMOVED ? edge->rule : 0 };
}

void store_finish(struct graph *graph)
{
	uint32_t at = 0;

	graph->block_list = mem_alloc(((size_t)graph->block_count + 1) * sizeof(uint32_t));
	for (size_t i = 0; i < graph->threads.length; i++) {
		graph->threads.items[i].first_block = at;
		at += (graph->threads.items[i].rows + ROW_BLOCK - 1) / ROW_BLOCK;
	}
	for (uint32_t i = 0; i < graph->block_count; i++) {
		const struct block *block = &graph->blocks[i];

		graph->block_list[graph->threads.items[block->thread].first_block + block->index] = i;
	}
	edge_order_take(&graph->edge_orders[0], &graph->edges.into, graph->edges.length);
	edge_order_take(&graph->edge_orders[1], &graph->edges.from, graph->edges.length);
}

/* Rows that nothing woke come last. */
static uint32_t wake_key(const struct graph *graph, size_t item)
{
	const struct row *row = &graph->rows[item];

	return row->flags & ROW_WOKEN ? row->wake_row : GRAPH_NONE;
}

const uint32_t *store_wakes_by_row(const struct graph *graph, uint32_t *ret_count)
{
	struct graph *g = (struct graph *)graph; /* made on first use, under its lock */
	pthread_mutex_t *lock = g->lazy;

	pthread_mutex_lock(lock);
	if (!g->wakes_by_row) {
		size_t total = (size_t)g->block_count * ROW_BLOCK;

		g->wakes_by_row = order_of(total, wake_key, g);
		while (total && wake_key(g, g->wakes_by_row[total - 1]) == GRAPH_NONE)
			total--;
		g->wakes_count = (uint32_t)total;
	}
	pthread_mutex_unlock(lock);
	*ret_count = g->wakes_count;
	return g->wakes_by_row;
}

uint64_t store_bytes(const struct graph *graph)
{
	return (uint64_t)graph->block_count * (ROW_BLOCK * sizeof(struct row) + sizeof(struct block) + sizeof(uint32_t)) +
	       (uint64_t)graph->preemption_count * sizeof(struct preemption) +
	       graph->edges.length * sizeof(struct packed_edge) +
	       (graph->edge_orders[0].length + graph->edge_orders[1].length) * sizeof(uint32_t) +
	       graph->threads.length * sizeof(struct stored_thread) + graph->unread.length * sizeof(struct graph_unread) +
	       (graph->long_stretches.capacity + graph->long_waits.capacity) * (sizeof(struct map_slot) + 1) +
	       graph->names.length;
}

void graph_room_done(struct graph_room *room)
{
	region_done(&room->rows);
	region_done(&room->preemptions);
}

void graph_free(struct graph *graph)
{
	if (!graph)
		return;
	if (graph->room)
		*graph->room = (struct graph_room){ .rows = graph->rows_region, .preemptions = graph->preemptions_region };
	else
		graph_room_done(&(struct graph_room){ .rows = graph->rows_region, .preemptions = graph->preemptions_region });
	region_done(&graph->blocks_region);
	vec_done(&graph->threads);
	vec_done(&graph->names);
	edge_list_done(&graph->edges);
	edge_order_done(&graph->edge_orders[0]);
	edge_order_done(&graph->edge_orders[1]);
	vec_done(&graph->unread);
	vec_done(&graph->rules);
	vec_done(&graph->gaps);
	free(graph->block_list);
	free(graph->wakes_by_row);
	map_done(&graph->long_stretches);
	map_done(&graph->long_waits);
	map_done(&graph->unknown_tids);
	vec_done(&graph->correction.joins);
	vec_done(&graph->correction.rules);
	map_done(&graph->correction.cut_edges);
	map_done(&graph->correction.kept);
	map_done(&graph->correction.idle);
	map_done(&graph->correction.flags);
	arena_done(&graph->correction.arena);
	arena_done(&graph->arena);
	tables_free(graph->owned_tables);
	pthread_mutex_destroy(graph->lazy);
	free(graph->lazy);
	free(graph);
}
