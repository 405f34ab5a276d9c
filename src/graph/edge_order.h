/* Edges by the row that they lead to or come from.
 *
 * Edges are made about in the order of time, and rows are numbered so too: a row's
 * edges lie in few blocks of the list. Which blocks a row may be in is noted, coarsely,
 * as they are made; a block is put in order when one of its rows is first asked for.
 * An order of all, twice, would cost as much time as building a quarter of the graph,
 * and eight bytes an edge, for the few of them that a question looks at. */
#ifndef GRAPH_EDGE_ORDER_H
#define GRAPH_EDGE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct graph;

#define EDGE_BLOCK_BITS 14  /* edges of a block: half a MiB, which a processor has at hand while it sorts them */
#define EDGE_ROWS_BITS 6    /* rows that are noted as one */

/* Blocks with edges of some rows, in order, while edges are made. */
struct edge_note {
	uint32_t last;          /* the last block + 1, 0 none */
	uint32_t length;
	uint32_t *blocks;       /* room for the next power of two */
};

struct edge_notes {
	struct edge_note *items; /* by row >> EDGE_ROWS_BITS */
	size_t length;
};

void edge_note_add(struct edge_notes *notes, size_t rows, uint32_t block);
void edge_notes_done(struct edge_notes *notes);

static inline void edge_note(struct edge_notes *notes, uint32_t row, size_t edge)
{
	size_t rows = row >> EDGE_ROWS_BITS;
	uint32_t block = (uint32_t)(edge >> EDGE_BLOCK_BITS);

	if (rows >= notes->length || notes->items[rows].last != block + 1)
		edge_note_add(notes, rows, block);
}

/* Of the finished graph, for one direction. */
struct edge_order {
	uint32_t *places;       /* one after the other: by row >> EDGE_ROWS_BITS where its blocks begin in here, the end; the blocks */
	size_t length;          /* of places; 0 nothing is there */
	uint16_t **blocks;      /* by number: its edges in order; NULL not asked for yet */
	size_t block_count;
};

/* The notes as a table, which takes their place. */
void edge_order_take(struct edge_order *order, struct edge_notes *notes, size_t edges);
void edge_order_done(struct edge_order *order);

/* The row's next edge, as an index of the list, SIZE_MAX behind the last; *at is 0 at
 * first and is moved on. Edges of a row come in the order in which they were made. */
size_t edge_order_next(const struct graph *graph, bool by_from, uint32_t row, uint64_t *at);

#endif
