/* Inside of the graph: its columns, and how rows are found.
 *
 * A row is one stretch with the absence behind it, 64 bytes, one cache line.
 * Rows are handed out in blocks of eight to one thread at a time, so that a
 * row's thread need not be kept in it, and a thread's rows are found by
 * arithmetic over its list of blocks. */
#ifndef GRAPH_STORE_H
#define GRAPH_STORE_H

#include "base/map.h"
#include "base/vec.h"
#include "graph/edge_order.h"
#include "graph/graph.h"

#define ROW_BLOCK 8

enum row_flag {
	ROW_HINT_KIND = 0x000f, /* HINT_KIND_ */
	ROW_CONTINUES = 0x0010, /* belongs to the segment of the thread's row before */
	ROW_CLOSED = 0x0020,    /* out is known */
	ROW_WAIT = 0x0040,      /* a wait follows */
	ROW_WOKEN = 0x0080,     /* its wake-up is known */
	ROW_EARLY = 0x0100,     /* the wake-up came before the switch-out: wake_delta counts backwards */
	ROW_REMOVED = 0x0200,   /* the edge from the wake-up is cut */
	ROW_IDLE = 0x0400,      /* marked as harmless idling */
	ROW_GAP = 0x0800,       /* events were lost during the absence */
	ROW_LAST = 0x1000,      /* the thread ended with it */
	ROW_SPLIT = 0x2000,     /* the next row follows at once: no absence */
	ROW_YIELD = 0x4000,     /* it gave up the processor by itself while runnable */
	ROW_LOST = 0x8000       /* the way out was not seen */
};

#define LEVEL_BEGINS 0x80u
#define LEVEL_MOST 0x7fu

static inline uint8_t row_level(unsigned callouts)
{
	return (uint8_t)(callouts < LEVEL_MOST ? callouts : LEVEL_MOST);
}

struct row {
	uint64_t in_ns;
	uint64_t object;
	uint32_t in_event, out_event, wake_event;
	uint32_t wake_row;      /* GRAPH_NONE unknown */
	uint32_t length;        /* out - in, ns; UINT32_MAX: see graph->long_stretches */
	uint32_t wake_delta;    /* wake - out, ns (EARLY: out - wake); UINT32_MAX: see graph->long_waits */
	uint32_t preemption;    /* the first one inside it, 0 none */
	uint32_t hint;          /* tid; nodes: the thread interrupted */
	uint32_t timeout;       /* short_time_code() */
	uint16_t syscall;
	uint16_t cpu;           /* that it came in on */
	uint8_t rule;           /* that began it, an index of row_rules */
	uint8_t wake_rule;      /* that made or cut the wake-up's edge, an index of row_rules */
	uint8_t wait;           /* WAIT_KIND_ */
	uint8_t level;          /* callout level; LEVEL_BEGINS: the row is a callout's first */
	uint8_t state_cause;    /* TASK_STATE_ below, WAKE_CAUSE_ above */
	uint8_t result_kind;    /* enum graph_wait_result below, enum graph_segment_kind above */
	uint16_t flags;
};
_Static_assert(sizeof(struct row) == 64, "a row is one cache line");

/* A time inside of a stretch in which the thread was runnable but not on a
 * processor. Those of a stretch follow one another. */
struct preemption {
	uint32_t next;          /* 0 none */
	uint32_t out_delta;     /* out - row's in, ns */
	uint32_t away;          /* in - out, ns */
	uint16_t cpu;           /* that it came back on */
	uint16_t yields;        /* 1: it had given up the processor by itself */
};

struct stored_edge {
	uint64_t from_ns, to_ns;
	uint32_t from_row, to_row;
	uint32_t from_event, to_event;
	uint16_t rule;          /* global number */
	uint8_t kind, confidence;
	uint32_t removed;       /* global number of the rule that cut it, 0 none */
};

/* As kept: two on a cache line. */
#define EDGE_REMOVED 0x80
struct packed_edge {
	uint64_t to_ns;
	uint32_t from_row, to_row;
	uint32_t from_event, to_event;
	uint32_t age;           /* to - from, short_time_code() */
	uint16_t rule;          /* global number: that made it, or that cut it */
	uint8_t kind;           /* EDGE_REMOVED: cut by the rule */
	uint8_t confidence;
};
_Static_assert(sizeof(struct packed_edge) == 32, "two edges on a cache line");

struct block {
	uint32_t thread;
	uint32_t index;         /* place in its thread's list of blocks */
};

struct stored_thread {
	uint64_t number;        /* sources and gaps */
	uint32_t tid, pid;
	uint32_t rows;
	uint32_t first_block;   /* place in block_list */
	uint32_t name;          /* place in names, 0 none */
	uint8_t kind;           /* enum graph_thread_kind */
	uint8_t cause;
	uint16_t reserved;
	uint64_t waits;         /* kinds of its waits, as bits */
};

/* Memory that grows without copying. */
void region_done(struct region *region);
void region_reserve(struct region *region, size_t bytes);
/* Addresses for what so many of the trace's events leave, so many bytes each; they cost
 * nothing until they are touched. */
void store_expect(const struct trace *trace, struct region *region, uint64_t events, size_t bytes);

struct edge_list {
	struct packed_edge *items;
	size_t length;
	struct region region;   /* that they lie in */
	struct edge_notes into, from; /* until the orders take them */
};

struct graph_rule {
	const char *name;
	const char *text;
	uint64_t uses;
	const char *called;     /* NULL nothing */
	const char *meeting;    /* NULL none */
	bool meets;
};

/* What graph_correct() laid over the columns. */
struct correction {
	struct vec(struct stored_edge) joins;
	struct map cut_edges;        /* stored edge or wait (bit 63) -> rule */
	struct map kept;             /* the same, made to count again */
	struct map idle;             /* wait */
	struct map flags;            /* address -> rule */
	struct vec(struct graph_rule) rules;
	struct arena arena;
};

struct graph {
	const struct trace *trace;
	const struct tables *tables;
	struct tables *owned_tables;
	struct region rows_region, blocks_region;
	struct graph_room *room;     /* that gets the largest columns back; NULL none */
	struct row *rows;
	struct block *blocks;
	uint32_t block_count;
	struct vec(struct stored_thread) threads; /* tables' entries, then pseudo-threads */
	uint32_t *block_list;        /* by thread, in order */
	struct vec(char) names;      /* texts ended by NUL; [0] is NUL */
	struct edge_list edges;                  /* as they were made */
	struct edge_order edge_orders[2];        /* by the row they lead to, [1] come from */
	struct map long_stretches, long_waits;
	struct region preemptions_region;
	struct preemption *preemptions;          /* [0] unused */
	uint32_t preemption_count;
	struct vec(struct graph_unread) unread;
	struct map unknown_tids;     /* tid -> first pseudo-thread of it */
	struct vec(struct graph_rule) rules; /* by global number; 0 none */
	uint16_t row_rules[256];     /* global numbers of what rows can name */
	uint32_t row_rule_count;
	uint8_t row_mechanisms[256]; /* of wake rules: kind of the edge and its confidence */
	uint8_t row_confidences[256];
	struct vec(struct trace_gap) gaps;   /* by from_ns; adjoining ones merged */
	struct graph_stats stats;
	struct graph_stats built_stats;      /* without corrections */
	struct graph_contradictions contradictions;
	struct arena arena;          /* rule texts */
	struct correction correction;
	uint32_t *wakes_by_row;      /* waits sorted by wake_row; made when first asked for */
	uint32_t wakes_count;
	void *lazy;                  /* lock of what is made when first asked for: it, and blocks of the edges' orders */
};

/* ---- places of rows ---- */

static inline uint32_t row_thread(const struct graph *graph, uint32_t row)
{
	return graph->blocks[row / ROW_BLOCK].thread;
}

static inline uint32_t row_place(const struct graph *graph, uint32_t row)
{
	return graph->blocks[row / ROW_BLOCK].index * ROW_BLOCK + row % ROW_BLOCK;
}

static inline uint32_t row_at_place(const struct graph *graph, uint32_t thread, uint32_t place)
{
	const struct stored_thread *t = &graph->threads.items[thread];

	return graph->block_list[t->first_block + place / ROW_BLOCK] * ROW_BLOCK + place % ROW_BLOCK;
}

/* GRAPH_NONE at the ends. */
static inline uint32_t row_next(const struct graph *graph, uint32_t row)
{
	uint32_t thread = row_thread(graph, row), place = row_place(graph, row) + 1;

	return place < graph->threads.items[thread].rows ? row_at_place(graph, thread, place) : GRAPH_NONE;
}

static inline uint32_t row_previous(const struct graph *graph, uint32_t row)
{
	uint32_t place = row_place(graph, row);

	return place ? row_at_place(graph, row_thread(graph, row), place - 1) : GRAPH_NONE;
}

static inline bool row_valid(const struct graph *graph, uint32_t row)
{
	return row / ROW_BLOCK < graph->block_count &&
	       row_place(graph, row) < graph->threads.items[row_thread(graph, row)].rows;
}

/* ---- values of rows ---- */

static inline enum graph_segment_kind row_kind(const struct row *row)
{
	return (enum graph_segment_kind)(row->result_kind >> 4);
}

static inline enum graph_wait_result row_result(const struct row *row)
{
	return (enum graph_wait_result)(row->result_kind & 15);
}

static inline void row_set_result(struct row *row, enum graph_wait_result result)
{
	row->result_kind = (uint8_t)((row->result_kind & 0xf0) | result);
}

/* Of stretches and waits that are longer than the row holds. */
uint64_t row_long_stretch_ns(const struct graph *graph, uint32_t row);
uint64_t row_long_wait_ns(const struct graph *graph, uint32_t row);

/* UINT64_MAX while open. */
static inline uint64_t row_out_ns(const struct graph *graph, uint32_t row)
{
	const struct row *r = &graph->rows[row];

	if (!(r->flags & ROW_CLOSED))
		return UINT64_MAX;
	return r->in_ns + (r->length != UINT32_MAX ? r->length : row_long_stretch_ns(graph, row));
}

/* UINT64_MAX unknown. */
static inline uint64_t row_wake_ns(const struct graph *graph, uint32_t row)
{
	const struct row *r = &graph->rows[row];
	uint64_t out = row_out_ns(graph, row), delta = r->wake_delta;

	if (!(r->flags & ROW_WOKEN))
		return UINT64_MAX;
	if (delta == UINT32_MAX)
		delta = row_long_wait_ns(graph, row);
	return r->flags & ROW_EARLY ? out - delta : out + delta;
}

void row_set_out(struct graph *graph, uint32_t row, uint64_t out_ns);
void row_set_wake(struct graph *graph, uint32_t row, uint64_t wake_ns);

/* A duration in 32 bits, 26 of them significant: enough to show a time limit. */
uint32_t short_time_code(uint64_t ns);
uint64_t short_time_ns(uint32_t code);

/* Whether the thread is the recorder's own, whose wake-ups it leaves out. */
bool store_is_recorder(const struct graph *graph, uint32_t thread);

/* Time on a processor; an open stretch runs until end_ns. */
uint64_t row_run_ns(const struct graph *graph, uint32_t row, uint64_t end_ns);

/* First row of the segment that the row is in. */
uint32_t row_segment(const struct graph *graph, uint32_t row);

/* Last row of the thread that came in at or before the time; GRAPH_NONE none. */
uint32_t row_at_time(const struct graph *graph, uint32_t thread, uint64_t time_ns);

/* Whether the edge from the wake-up that ended the row's wait is cut, and how sure it is. */
bool wait_edge_removed(const struct graph *graph, uint32_t row);
uint8_t wait_confidence(const struct graph *graph, const struct row *row);

/* ---- making ---- */

/* `room` may be NULL. */
struct graph *store_new(const struct trace *trace, struct graph_room *room);
/* Place for a thread's next row; `blocks` is how many it has, `rows` how many rows. */
uint32_t store_new_row(struct graph *graph, uint32_t thread, uint32_t *last_row, uint32_t rows);
uint32_t store_new_preemption(struct graph *graph, const struct preemption *preemption);
uint32_t store_name(struct graph *graph, const char *name);
/* After all rows are there and blocks name public threads: lists and orders. */
void store_finish(struct graph *graph);
uint64_t store_bytes(const struct graph *graph);
/* Rows of waits in the order of the rows that woke them. */
const uint32_t *store_wakes_by_row(const struct graph *graph, uint32_t *ret_count);
static inline void edge_list_add(struct edge_list *list, const struct packed_edge *edge)
{
	if ((list->length + 1) * sizeof(*list->items) > list->region.capacity) {
		region_reserve(&list->region, (list->length + 1) * sizeof(*list->items));
		list->items = list->region.data;
	}
	edge_note(&list->into, edge->to_row, list->length);
	edge_note(&list->from, edge->from_row, list->length);
	list->items[list->length++] = *edge;
}
void edge_list_done(struct edge_list *list);
struct packed_edge edge_pack(const struct stored_edge *edge);
struct stored_edge edge_unpack(const struct packed_edge *edge);

#endif
