/* Which processor the agent moves to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "record/place.h"

#define MS 1000000u

static cpu_set_t allowed;

static uint32_t choose(uint64_t a, uint64_t b, uint64_t c, uint32_t current)
{
	const uint64_t rested[3] = { a, b, c };

	return place_choose(rested, 3, &allowed, current, 100 * MS);
}

static int setup(void **state)
{
	(void)state;
	CPU_ZERO(&allowed);
	for (int cpu = 0; cpu < 3; cpu++)
		CPU_SET(cpu, &allowed);
	return 0;
}

static void goes_where_it_is_idle(void **state)
{
	(void)state;
	assert_int_equal(choose(0, 40 * MS, 10 * MS, 0), 1);
	assert_int_equal(choose(0, 40 * MS, 60 * MS, 0), 2);
}

static void stays_where_it_is_as_idle(void **state)
{
	(void)state;
	assert_int_equal(choose(0, 0, 0, 2), 2);
	assert_int_equal(choose(40 * MS, 50 * MS, 0, 0), 0);
	assert_int_equal(choose(40 * MS, 60 * MS, 0, 0), 1);
}

static void goes_only_where_it_may(void **state)
{
	(void)state;
	CPU_CLR(1, &allowed);
	assert_int_equal(choose(0, 90 * MS, 20 * MS, 0), 2);
	CPU_CLR(2, &allowed);
	assert_int_equal(choose(0, 90 * MS, 90 * MS, 0), 0);
}

static void a_time_that_goes_back_is_no_rest(void **state)
{
	(void)state;
	assert_int_equal(place_rested(50 * MS, 49 * MS), 0);
	assert_int_equal(place_rested(49 * MS, 50 * MS), MS);
}

static void unknown_places_stay(void **state)
{
	(void)state;
	assert_int_equal(choose(0, 90 * MS, 0, 7), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(goes_where_it_is_idle, setup),
		cmocka_unit_test_setup(stays_where_it_is_as_idle, setup),
		cmocka_unit_test_setup(goes_only_where_it_may, setup),
		cmocka_unit_test_setup(a_time_that_goes_back_is_no_rest, setup),
		cmocka_unit_test_setup(unknown_places_stay, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
