/* src/base/clock.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdint.h>

#include "base/clock.h"

static void goes_on(void **state)
{
	uint64_t before = clock_now_ns();

	(void)state;
	assert_true(before);
	assert_true(clock_now_ns() >= before);
}

/* Between what is read before and after, however long this thread is put off. */
static void knows_how_far_clocks_are_apart(void **state)
{
	(void)state;
	assert_true(clock_ahead_ns(CLOCK_MONOTONIC) > -1000000000 && clock_ahead_ns(CLOCK_MONOTONIC) < 1000000000);
	for (int i = 0; i < 100; i++) {
		uint64_t now = clock_now_ns();
		int64_t ahead = clock_ahead_ns(CLOCK_BOOTTIME), least, most;
		uint64_t boot = clock_ns(CLOCK_BOOTTIME), later = clock_now_ns();

		/* boot lies at some moment from `now` to `later` */
		least = (int64_t)(boot - later);
		most = (int64_t)(boot - now);
		assert_true(ahead >= least - (int64_t)(later - now) && ahead <= most + (int64_t)(later - now));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(goes_on),
		cmocka_unit_test(knows_how_far_clocks_are_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
