/* See edge_order.h. */
#include "graph/edge_order.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "graph/store.h"

#define EDGE_BLOCK ((size_t)1 << EDGE_BLOCK_BITS)

/* ---- while edges are made ---- */

void edge_note_add(struct edge_notes *notes, size_t rows, uint32_t block)
{
	struct edge_note *note;

	if (rows >= notes->length) {
		size_t length = rows + rows / 2 + 16;

		notes->items = mem_realloc(notes->items, length * sizeof(*notes->items));
		memset(notes->items + notes->length, 0, (length - notes->length) * sizeof(*notes->items));
		notes->length = length;
	}
	note = &notes->items[rows];
	if (!(note->length & (note->length - 1)))
		note->blocks = mem_realloc(note->blocks, (note->length ? (size_t)note->length * 2 : 1) * sizeof(*note->blocks));
	note->blocks[note->length++] = block;
	note->last = block + 1;
}

void edge_notes_done(struct edge_notes *notes)
{
	for (size_t i = 0; i < notes->length; i++)
		free(notes->items[i].blocks);
	free(notes->items);
	*notes = (struct edge_notes){ 0 };
}

/* ---- the table ---- */

static void prepare(struct edge_order *order, size_t edges)
{
	order->block_count = (edges + EDGE_BLOCK - 1) / EDGE_BLOCK;
	order->blocks = mem_zalloc((order->block_count + 1) * sizeof(*order->blocks));
}

void edge_order_take(struct edge_order *order, struct edge_notes *notes, size_t edges)
{
	size_t at;

	while (notes->length && !notes->items[notes->length - 1].length)
		notes->length--;
	at = notes->length + 1;
	order->length = at;
	for (size_t i = 0; i < notes->length; i++)
		order->length += notes->items[i].length;
	order->places = mem_alloc(order->length * sizeof(*order->places));
	for (size_t i = 0; i < notes->length; i++) {
		const struct edge_note *note = &notes->items[i];

		order->places[i] = (uint32_t)at;
		if (note->length)
			memcpy(order->places + at, note->blocks, note->length * sizeof(*order->places));
		at += note->length;
	}
	order->places[notes->length] = (uint32_t)at;
	edge_notes_done(notes);
	prepare(order, edges);
}

void edge_order_done(struct edge_order *order)
{
	for (size_t i = 0; i < order->block_count; i++)
		free(order->blocks[i]);
	free(order->blocks);
	free(order->places);
	*order = (struct edge_order){ 0 };
}

/* ---- asking ---- */

static size_t edges_of_block(const struct graph *graph, size_t block)
{
	size_t left = graph->edges.length - block * EDGE_BLOCK;

	return left < EDGE_BLOCK ? left : EDGE_BLOCK;
}

static uint32_t row_of(const struct packed_edge *edge, bool by_from)
{
	return by_from ? edge->from_row : edge->to_row;
}

/* Radix sort of the rows above, the places below; both arrays are used. Where they end. */
static uint64_t *sort_pairs(uint64_t *pairs, uint64_t *other, size_t count, uint64_t most)
{
	const unsigned bits = 11, mask = (1u << bits) - 1;

	for (unsigned shift = EDGE_BLOCK_BITS; shift < 64 && most >> shift; shift += bits) {
		uint32_t counts[1u << 11] = { 0 }, at = 0;
		uint64_t *swap = pairs;

		for (size_t i = 0; i < count; i++)
			counts[pairs[i] >> shift & mask]++;
		for (unsigned i = 0; i <= mask; i++) {
			uint32_t n = counts[i];

			counts[i] = at;
			at += n;
		}
		for (size_t i = 0; i < count; i++)
			other[counts[pairs[i] >> shift & mask]++] = pairs[i];
		pairs = other;
		other = swap;
	}
	return pairs;
}

static uint16_t *order_block(const struct graph *graph, bool by_from, size_t block)
{
	const struct packed_edge *edges = graph->edges.items + block * EDGE_BLOCK;
	size_t count = edges_of_block(graph, block);
	uint64_t *room = mem_alloc(2 * count * sizeof(*room)), *pairs = room;
	uint32_t least = UINT32_MAX, most = 0;
	uint16_t *order = mem_alloc(count * sizeof(*order));

	for (size_t i = 0; i < count; i++) {
		uint32_t row = row_of(&edges[i], by_from);

		least = row < least ? row : least;
		most = row > most ? row : most;
	}
	for (size_t i = 0; i < count; i++)
		pairs[i] = (uint64_t)(row_of(&edges[i], by_from) - least) << EDGE_BLOCK_BITS | i;
	pairs = sort_pairs(pairs, room + count, count, (uint64_t)(most - least) << EDGE_BLOCK_BITS);
	for (size_t i = 0; i < count; i++)
		order[i] = (uint16_t)(pairs[i] & (EDGE_BLOCK - 1));
	free(room);
	return order;
}

static const uint16_t *block_order(const struct graph *graph, bool by_from, size_t block)
{
	uint16_t **place = &graph->edge_orders[by_from].blocks[block], *order = __atomic_load_n(place, __ATOMIC_ACQUIRE);
	pthread_mutex_t *lock = graph->lazy;

	if (order)
		return order;
	pthread_mutex_lock(lock);
	if (!*place)
		__atomic_store_n(place, order_block(graph, by_from, block), __ATOMIC_RELEASE);
	order = *place;
	pthread_mutex_unlock(lock);
	return order;
}

size_t edge_order_next(const struct graph *graph, bool by_from, uint32_t row, uint64_t *at)
{
	const struct edge_order *table = &graph->edge_orders[by_from];
	size_t rows = row >> EDGE_ROWS_BITS, block = (size_t)(*at >> EDGE_BLOCK_BITS), from, to;

	if (!table->length || rows >= table->places[0] - 1u)
		return SIZE_MAX;
	from = table->places[rows];
	to = table->places[rows + 1];
	SEARCH(from, to, middle, table->places[middle] < block);
	for (; from < table->places[rows + 1]; from++) {
		const struct packed_edge *edges;
		const uint16_t *order;
		size_t low = 0, high;

		if (table->places[from] != block)
			*at = 0;
		block = table->places[from];
		order = block_order(graph, by_from, block);
		edges = graph->edges.items + block * EDGE_BLOCK;
		high = edges_of_block(graph, block);
		if (*at & (EDGE_BLOCK - 1))
			low = *at & (EDGE_BLOCK - 1);
		else
			SEARCH(low, high, middle, row_of(&edges[order[middle]], by_from) < row);
		if (low < edges_of_block(graph, block) && row_of(&edges[order[low]], by_from) == row) {
			/* behind the last place of a block begins the next one */
			*at = ((uint64_t)block << EDGE_BLOCK_BITS) + low + 1;
			return block * EDGE_BLOCK + order[low];
		}
	}
	*at = (uint64_t)table->block_count << EDGE_BLOCK_BITS;
	return SIZE_MAX;
}
