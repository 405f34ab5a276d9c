/* Tables of lines as the interpreters of several versions make them; the tables here are
 * those of small functions, printed by them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "symbols/python_lines.h"

static void steps_add_up(void **state)
{
	/* 6 bytes on: the next line; 50 on: two back */
	static const uint8_t table[] = { 6, 1, 50, 0xfe };
	(void)state;
	assert_int_equal(python_lines_find(PYTHON_LINES_STEPS, table, sizeof(table), 10, 0), 10);
	assert_int_equal(python_lines_find(PYTHON_LINES_STEPS, table, sizeof(table), 10, 5), 10);
	assert_int_equal(python_lines_find(PYTHON_LINES_STEPS, table, sizeof(table), 10, 6), 11);
	assert_int_equal(python_lines_find(PYTHON_LINES_STEPS, table, sizeof(table), 10, 55), 11);
	assert_int_equal(python_lines_find(PYTHON_LINES_STEPS, table, sizeof(table), 10, 56), 9);
	assert_int_equal(python_lines_find(PYTHON_LINES_STEPS, table, sizeof(table), 10, 5000), 9);
}

static void ranges_may_have_no_line(void **state)
{
	static const uint8_t table[] = { 4, 1, 2, 0x80, 8, 3 };
	(void)state;
	assert_int_equal(python_lines_find(PYTHON_LINES_RANGES, table, sizeof(table), 10, 0), 11);
	assert_int_equal(python_lines_find(PYTHON_LINES_RANGES, table, sizeof(table), 10, 4), 0);
	assert_int_equal(python_lines_find(PYTHON_LINES_RANGES, table, sizeof(table), 10, 6), 14);
	assert_int_equal(python_lines_find(PYTHON_LINES_RANGES, table, sizeof(table), 10, 14), 0);
}

static void locations_are_packed(void **state)
{
	static const uint8_t table[] = {
		0x80 | 15 << 3 | 0,                 /* no line, one instruction */
		0x80 | 0 << 3 | 1, 0x11,            /* the same line, two */
		0x80 | 11 << 3 | 0, 4, 9,           /* one line on */
		0x80 | 13 << 3 | 0, 0x05,           /* two lines back */
		0x80 | 14 << 3 | 7, 0x48, 0x03, 0, 1, 1, /* 100 lines on, eight instructions */
	};
	(void)state;
	assert_int_equal(python_lines_find(PYTHON_LINES_LOCATIONS, table, sizeof(table), 10, 0), 0);
	assert_int_equal(python_lines_find(PYTHON_LINES_LOCATIONS, table, sizeof(table), 10, 2), 10);
	assert_int_equal(python_lines_find(PYTHON_LINES_LOCATIONS, table, sizeof(table), 10, 4), 10);
	assert_int_equal(python_lines_find(PYTHON_LINES_LOCATIONS, table, sizeof(table), 10, 6), 11);
	assert_int_equal(python_lines_find(PYTHON_LINES_LOCATIONS, table, sizeof(table), 10, 8), 9);
	assert_int_equal(python_lines_find(PYTHON_LINES_LOCATIONS, table, sizeof(table), 10, 24), 109);
	assert_int_equal(python_lines_find(PYTHON_LINES_LOCATIONS, table, sizeof(table), 10, 26), 0);
}

static void a_table_that_ends_early_tells_nothing(void **state)
{
	static const uint8_t table[] = { 0x80 | 14 << 3 | 7, 0x7f, 0x7f, 0x7f };
	(void)state;
	for (size_t bytes = 0; bytes <= sizeof(table); bytes++)
		assert_int_equal(python_lines_find(PYTHON_LINES_LOCATIONS, table, bytes, 10, 2), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_add_up),
		cmocka_unit_test(ranges_may_have_no_line),
		cmocka_unit_test(locations_are_packed),
		cmocka_unit_test(a_table_that_ends_early_tells_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
