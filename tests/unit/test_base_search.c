/* src/base/search.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/search.h"

#define MOST 40u

/* Wherever one begins to look, the place is the same. */
static void finds_the_same_from_anywhere(void **state)
{
	uint32_t times[MOST];

	(void)state;
	for (uint32_t i = 0; i < MOST; i++)
		times[i] = i / 3 * 2;
	for (uint32_t first = 0; first < 3; first++)
		for (uint32_t count = first; count <= MOST; count++)
			for (uint32_t time = 0; time < MOST; time++) {
				uint32_t low = first, high = count;

				SEARCH(low, high, middle, times[middle] < time);
				for (uint32_t near = 0; near < MOST + 2; near++) {
					uint32_t its_low = first, its_high = count;

					SEARCH_NEAR(its_low, its_high, near, middle, times[middle] < time);
					assert_int_equal(its_low, low);
					assert_int_equal(its_high, low);
				}
			}
}

/* Just behind the last place two are looked at, however many there are. */
static void looks_at_few(void **state)
{
	uint32_t low = 0, high = 1u << 30, looked = 0;

	(void)state;
	SEARCH_NEAR(low, high, 1000u, middle, (looked++, middle < 1001));
	assert_int_equal(low, 1001);
	assert_in_range(looked, 2, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_same_from_anywhere),
		cmocka_unit_test(looks_at_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
