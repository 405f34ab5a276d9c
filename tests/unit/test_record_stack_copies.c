/* Copies of stacks come out as they went in, whatever their sizes; the room that
 * they took is given back, and does not grow with their number. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "record/stack_copies.h"

struct full_copy {
	struct stack_copy head;
	uint8_t data[STACK_COPY_BYTES];
};

static struct full_copy made;

static const struct stack_copy *copy_of(uint32_t number, uint32_t bytes)
{
	made.head = (struct stack_copy){ .id = number, .bytes = bytes, .sp = number * 3ull };
	memset(made.data, (int)(number & 255), bytes);
	return &made.head;
}

static void expect(struct stack_copies *copies, uint32_t number, uint32_t bytes)
{
	const struct pending_copy *c = stack_copies_first(copies);

	assert_non_null(c);
	assert_int_equal(c->head.id, number);
	assert_int_equal(c->head.bytes, bytes);
	for (uint32_t i = 0; i < bytes; i++)
		assert_int_equal(c->data[i], number & 255);
	stack_copies_drop(copies);
}

static uint32_t bytes_of(uint32_t number)
{
	return number * 2654435761u % (STACK_COPY_BYTES + 1);
}

static void test_order(void **state)
{
	struct stack_copies copies;
	uint32_t added = 0, taken = 0;
	(void)state;

	assert_int_equal(stack_copies_open(&copies, NULL), 0);
	srand(7);
	/* until the room was gone through several times, with ever other numbers waiting */
	while (added < 30000) {
		for (int more = rand() % 800; more > 0 && stack_copies_add(&copies, copy_of(added, bytes_of(added))); more--)
			added++;
		for (int fewer = rand() % 800; fewer > 0 && taken < added; fewer--, taken++)
			expect(&copies, taken, bytes_of(taken));
		if (taken == added)
			assert_null(stack_copies_first(&copies));
	}
	for (; taken < added; taken++)
		expect(&copies, taken, bytes_of(taken));
	assert_true(stack_copies_empty(&copies));
	stack_copies_close(&copies);
}

static void test_full(void **state)
{
	struct stack_copies copies;
	uint32_t added = 0;
	(void)state;

	assert_int_equal(stack_copies_open(&copies, NULL), 0);
	while (stack_copies_add(&copies, copy_of(added, STACK_COPY_BYTES)))
		added++;
	assert_in_range(added, STACK_COPIES_BYTES / (sizeof(struct full_copy) + 64) - 1, STACK_COPIES_BYTES / STACK_COPY_BYTES);
	expect(&copies, 0, STACK_COPY_BYTES);
	expect(&copies, 1, STACK_COPY_BYTES);
	assert_true(stack_copies_add(&copies, copy_of(added, STACK_COPY_BYTES)));
	for (uint32_t i = 2; i <= added; i++)
		expect(&copies, i, STACK_COPY_BYTES);
	assert_true(stack_copies_empty(&copies));
	stack_copies_close(&copies);
}

/* One at a time needs room for one, however many come. */
static void test_stays_small(void **state)
{
	struct stack_copies copies;
	(void)state;

	assert_int_equal(stack_copies_open(&copies, NULL), 0);
	for (uint32_t i = 0; i < 10000; i++) {
		assert_true(stack_copies_add(&copies, copy_of(i, bytes_of(i))));
		expect(&copies, i, bytes_of(i));
		stack_copies_release(&copies);
	}
	assert_in_range(copies.touched, 1, sizeof(struct pending_copy) + STACK_COPY_BYTES);
	stack_copies_close(&copies);
}

/* Wherever the reader has stopped, a burst finds room. */
static void test_a_burst_behind_few(void **state)
{
	(void)state;
	for (uint32_t few = 0; few < 2000; few += 37) {
		struct stack_copies copies;
		uint32_t room = 0;

		assert_int_equal(stack_copies_open(&copies, NULL), 0);
		for (uint32_t i = 0; i < few; i++) {
			assert_true(stack_copies_add(&copies, copy_of(i, bytes_of(i))));
			expect(&copies, i, bytes_of(i));
		}
		stack_copies_release(&copies);
		while (stack_copies_add(&copies, copy_of(room, STACK_COPY_BYTES)))
			room++;
		assert_true(room * STACK_COPY_BYTES > STACK_COPIES_BYTES * 7ull / 8);
		stack_copies_close(&copies);
	}
}

static void test_release(void **state)
{
	struct stack_copies copies;
	(void)state;

	assert_int_equal(stack_copies_open(&copies, NULL), 0);
	for (uint32_t i = 0; i < 200; i++)
		assert_true(stack_copies_add(&copies, copy_of(i, STACK_COPY_BYTES)));
	stack_copies_release(&copies);
	assert_true(copies.touched > 200 * STACK_COPY_BYTES);
	for (uint32_t i = 0; i < 200; i++)
		expect(&copies, i, STACK_COPY_BYTES);
	stack_copies_release(&copies);
	assert_int_equal(copies.touched, 0);
	assert_true(stack_copies_add(&copies, copy_of(7, 100)));
	expect(&copies, 7, 100);
	stack_copies_close(&copies);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_stays_small),
		cmocka_unit_test(test_a_burst_behind_few), cmocka_unit_test(test_release),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
