/* src/trace/tid_table.c: threads by number, with numbers that no machine has among them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "trace/tid_table.h"

static void keeps_what_was_told_last(void **state)
{
	static const uint64_t tids[] = { 1, 7, 4194303, 4194304, UINT32_MAX };
	struct tid_table table = { 0 };
	uint32_t tid, word;
	uint64_t at = 0;

	(void)state;
	assert_false(tid_table_next(&table, &at, &tid, &word));
	for (size_t i = 0; i < sizeof(tids) / sizeof(*tids); i++) {
		tid_table_put(&table, tids[i], 0);
		tid_table_put(&table, tids[i], i + 10);
		tid_table_put(&table, tids[i], 0);
	}
	assert_int_equal(table.length, 5);
	at = 0;
	for (size_t i = 0; i < sizeof(tids) / sizeof(*tids); i++) {
		assert_true(tid_table_next(&table, &at, &tid, &word));
		if (tid < 4194304)
			assert_int_equal(tid, tids[i]);
		assert_true(word >= 10 && word < 15 && tids[word - 10] == tid);
	}
	assert_false(tid_table_next(&table, &at, &tid, &word));
	tid_table_done(&table);
}

static void takes_words_that_are_too_large(void **state)
{
	struct tid_table table = { 0 };
	uint32_t tid, word;
	uint64_t at = 0;

	(void)state;
	tid_table_put(&table, 5, UINT64_MAX);
	assert_true(tid_table_next(&table, &at, &tid, &word));
	assert_int_equal(tid, 5);
	assert_false(tid_table_next(&table, &at, &tid, &word));
	tid_table_done(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_what_was_told_last),
		cmocka_unit_test(takes_words_that_are_too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
