/* src/base/memory_watch.c: there is a bound, and the process is within it. What happens
 * at it is tests/live/memory_group.sh's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/memory_watch.h"

static void finds_a_bound(void **state)
{
	struct memory_bound bound;

	(void)state;
	memory_bound_find(&bound);
	assert_true(bound.limit_bytes > 0);
	assert_true(bound.own_bytes > 0 && bound.own_bytes < bound.limit_bytes);
	assert_true(memory_room() > 0 && memory_room() <= bound.limit_bytes - bound.own_bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(finds_a_bound) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
