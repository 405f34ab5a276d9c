/* Nodes of the calling-context tree: each once, found again however many there are. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include "record/stack_tree.h"

#define COUNT 200000u

static struct stack_node node_of(uint32_t i)
{
	return (struct stack_node){ .address = i * 16ull, .parent = i % 1000, .module = i % 7, .status = i % 3 };
}

static void test_each_once(void **state)
{
	struct stack_tree tree;
	uint32_t *numbers = calloc(COUNT, sizeof(*numbers));
	bool is_new;
	(void)state;

	assert_int_equal(stack_tree_open(&tree, NULL), 0);
	for (uint32_t i = 0; i < COUNT; i++) {
		struct stack_node node = node_of(i);

		/* numbers that belong to no path yet are not found by one */
		if (i % 100 == 0)
			assert_int_not_equal(stack_tree_reserve(&tree), 0);
		numbers[i] = stack_tree_node(&tree, &node, &is_new);
		assert_true(is_new);
		assert_int_not_equal(numbers[i], 0);
	}
	for (uint32_t i = 0; i < COUNT; i++) {
		struct stack_node node = node_of(i);

		assert_int_equal(stack_tree_node(&tree, &node, &is_new), numbers[i]);
		assert_false(is_new);
	}
	assert_int_equal(tree.count, 1 + COUNT + COUNT / 100);
	free(numbers);
	stack_tree_close(&tree);
}

/* A few nodes take a few pages, not a table for all there might be. */
static void test_starts_small(void **state)
{
	struct stack_tree tree;
	bool is_new;
	(void)state;

	assert_int_equal(stack_tree_open(&tree, NULL), 0);
	for (uint32_t i = 0; i < 1000; i++) {
		struct stack_node node = node_of(i);

		stack_tree_node(&tree, &node, &is_new);
	}
	assert_in_range(tree.slot_count, 2000, 16384);
	stack_tree_close(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_once),
		cmocka_unit_test(test_starts_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
