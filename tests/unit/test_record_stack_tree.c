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

/* A path of so many nodes, of which the last's place is returned. */
static uint32_t path_of(struct stack_tree *tree, uint32_t first, uint32_t length)
{
	uint32_t parent = 0;
	bool is_new;

	for (uint32_t i = 0; i < length; i++) {
		struct stack_node node = { .address = first + i, .parent = parent };

		parent = stack_tree_node(tree, &node, &is_new);
	}
	return parent;
}

/* What is in use stays with all its callers and its numbers, what is not makes room. */
static void test_forgets_the_unused(void **state)
{
	struct stack_tree tree;
	(void)state;

	assert_int_equal(stack_tree_open(&tree, NULL), 0);
	path_of(&tree, 1000, 500);
	uint32_t kept = path_of(&tree, 2000, 20), number = tree.numbers[kept];
	uint32_t copy = stack_tree_reserve(&tree), copy_number = tree.numbers[copy];
	path_of(&tree, 5000, 300000);
	/* unwound later than its callers came */
	tree.nodes[copy] = (struct stack_node){ .address = 7, .parent = path_of(&tree, 3000, 10) };
	uint8_t *marks = calloc(tree.count, 1);
	uint32_t next = tree.next_number, slots = tree.slot_count;
	marks[kept] = marks[copy] = 1;
	uint32_t *moved = stack_tree_compact(&tree, marks);

	assert_int_equal(tree.count, 1 + 20 + 1 + 10);
	assert_true(tree.slot_count < slots / 8);
	assert_int_equal(moved[1], 0);
	assert_int_equal(tree.numbers[moved[kept]], number);
	assert_int_equal(tree.numbers[moved[copy]], copy_number);
	assert_int_equal(tree.nodes[moved[copy]].address, 7);
	assert_int_equal(tree.nodes[tree.nodes[moved[copy]].parent].address, 3009);
	/* found again, but not by the path of what was only reserved */
	assert_int_equal(path_of(&tree, 2000, 20), moved[kept]);
	assert_int_equal(path_of(&tree, 3000, 10), tree.nodes[moved[copy]].parent);
	assert_int_equal(tree.count, 1 + 20 + 1 + 10);
	/* what comes anew has new numbers */
	path_of(&tree, 1000, 1);
	assert_int_equal(tree.numbers[tree.count - 1], next);
	free(moved);
	free(marks);
	stack_tree_close(&tree);
}

/* All that is in use gets the numbers of the next file, which are no other file's. */
static void test_numbers_of_a_file(void **state)
{
	struct stack_tree tree;
	bool is_new;
	(void)state;

	assert_int_equal(stack_tree_open(&tree, NULL), 0);
	path_of(&tree, 1000, 100);
	stack_tree_renumber(&tree);
	for (uint32_t i = 1; i < tree.count; i++)
		assert_int_equal(tree.numbers[i], 100 + i);
	/* they begin anew at their end */
	tree.next_number = NODE_NUMBERS - 10;
	stack_tree_renumber(&tree);
	assert_int_equal(tree.numbers[10], NODE_NUMBERS - 1);
	assert_int_equal(tree.numbers[11], 1);
	/* a file in which there are too many does without */
	tree.numbers_left = 1;
	path_of(&tree, 2000, 1);
	assert_int_equal(stack_tree_reserve(&tree), 0);
	assert_int_equal(stack_tree_node(&tree, &(struct stack_node){ .address = 9 }, &is_new), 0);
	assert_true(stack_tree_has_few(&tree));
	stack_tree_renumber(&tree);
	assert_false(stack_tree_has_few(&tree));
	assert_false(stack_tree_began_with_few(&tree));
	assert_int_not_equal(stack_tree_reserve(&tree), 0);
	/* where those in use take most of them the next file will have few, too */
	tree.numbers_most = tree.count + 5;
	stack_tree_renumber(&tree);
	assert_true(stack_tree_has_few(&tree));
	assert_true(stack_tree_began_with_few(&tree));
	stack_tree_close(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_once),
		cmocka_unit_test(test_starts_small),
		cmocka_unit_test(test_forgets_the_unused),
		cmocka_unit_test(test_numbers_of_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
