/* src/base/map.c against a plain array. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/map.h"

static void keeps_what_is_put(void **state)
{
	struct map map;

	(void)state;
	map_init(&map);
	assert_null(map_find(&map, 0));
	for (uint64_t i = 0; i < 1000; i++)
		map_put(&map, i * i, i);
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(*map_find(&map, i * i), i);
	assert_int_equal(map.length, 1000);
	for (uint64_t i = 0; i < 1000; i += 2)
		assert_true(map_remove(&map, i * i));
	for (uint64_t i = 0; i < 1000; i++)
		assert_true((map_find(&map, i * i) != NULL) == (i % 2 == 1));
	for (uint64_t round = 0; round < 10000; round++) {
		map_put(&map, 1u << 20 | round, round);
		assert_true(map_remove(&map, 1u << 20 | round));
	}
	assert_int_equal(map.length, 500);
	assert_true(map.capacity <= 4096);
	map_done(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_what_is_put),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
