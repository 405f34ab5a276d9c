/* Edges found by their rows: the same ones, in the same order, as a look at all of them finds. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "graph/store.h"

#define EDGES (5u << EDGE_BLOCK_BITS)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void put_in_order(struct graph *graph)
{
	edge_order_take(&graph->edge_orders[0], &graph->edges.into, graph->edges.length);
	edge_order_take(&graph->edge_orders[1], &graph->edges.from, graph->edges.length);
}

static void done(struct graph *graph)
{
	edge_order_done(&graph->edge_orders[0]);
	edge_order_done(&graph->edge_orders[1]);
	edge_list_done(&graph->edges);
}

static void add(struct graph *graph, uint32_t from, uint32_t to)
{
	edge_list_add(&graph->edges, &(struct packed_edge){ .from_row = from, .to_row = to });
}

static void compare(const struct graph *graph, bool by_from, uint32_t row)
{
	uint64_t at = 0;

	for (size_t i = 0; i < graph->edges.length; i++)
		if ((by_from ? graph->edges.items[i].from_row : graph->edges.items[i].to_row) == row)
			assert_int_equal(edge_order_next(graph, by_from, row, &at), i);
	assert_true(edge_order_next(graph, by_from, row, &at) == SIZE_MAX);
	assert_true(edge_order_next(graph, by_from, row, &at) == SIZE_MAX);
}

static void test_like_a_look_at_all(void **state)
{
	struct graph graph = { .lazy = &lock };
	uint64_t random = 7;
	(void)state;

	for (uint32_t i = 0; i < EDGES; i++) {
		uint32_t from = i / 50, to;

		random = random * 6364136223846793005u + 1442695040888963407u;
		to = from + (uint32_t)(random >> 58);
		/* now and then one from long ago, and one row that all go to */
		if (!(random >> 50 & 0xff))
			from = from / 2;
		add(&graph, from, i % 7 ? to : 4242);
	}
	put_in_order(&graph);
	for (uint32_t row = 0; row < EDGES / 50 + 200; row += 37) {
		compare(&graph, true, row);
		compare(&graph, false, row);
	}
	compare(&graph, false, 4242);
	done(&graph);
}

/* The last place of a block that is full, and the first of the next. */
static void test_full_blocks(void **state)
{
	struct graph graph = { .lazy = &lock };
	(void)state;

	for (uint32_t i = 0; i < 2u << EDGE_BLOCK_BITS; i++)
		add(&graph, 9, i);
	put_in_order(&graph);
	compare(&graph, true, 9);
	compare(&graph, true, 8);
	compare(&graph, false, (1u << EDGE_BLOCK_BITS) - 1);
	compare(&graph, false, 1u << EDGE_BLOCK_BITS);
	done(&graph);
}

static void test_no_edges(void **state)
{
	struct graph graph = { .lazy = &lock };
	uint64_t at = 0;
	(void)state;

	assert_true(edge_order_next(&graph, true, 0, &at) == SIZE_MAX);
	put_in_order(&graph);
	assert_true(edge_order_next(&graph, true, 0, &at) == SIZE_MAX);
	done(&graph);
}

/* A saved table that cannot be one is refused. */

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_like_a_look_at_all),
		cmocka_unit_test(test_full_blocks),
		cmocka_unit_test(test_no_edges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
