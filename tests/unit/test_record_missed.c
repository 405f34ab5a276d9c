/* src/record/missed.c: a loss of which only a count is kept lies between two looks at that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "record/missed.h"

/* A loss lies between the look that found it and the one before, however long nothing was lost. */
static void a_loss_lies_between_two_looks(void **state)
{
	struct missed missed = { .from_ns = 100 };
	struct missed_stretch s = { 0 };

	(void)state;
	for (uint64_t t = 1000; t < 900000; t += 1000)
		assert_false(missed_look(&missed, 0, t, &s));
	assert_true(missed_look(&missed, 2, 900000, &s));
	assert_int_equal(s.from_ns, 899000);
	assert_int_equal(s.to_ns, 900000);
	assert_int_equal(s.lost, 2);
	assert_false(missed_look(&missed, 2, 901000, &s));
	assert_true(missed_look(&missed, 3, 902000, &s));
	assert_int_equal(s.from_ns, 901000);
	assert_int_equal(s.lost, 1);
}

/* Two look at once, and who read the count first comes second. */
static void an_older_count_tells_nothing(void **state)
{
	struct missed missed = { .from_ns = 100 };
	struct missed_stretch s = { 0 };

	(void)state;
	assert_true(missed_look(&missed, 5, 2000, &s));
	assert_false(missed_look(&missed, 4, 2001, &s));
	assert_true(missed_look(&missed, 6, 3000, &s));
	assert_int_equal(s.from_ns, 2000);
	assert_int_equal(s.lost, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loss_lies_between_two_looks),
		cmocka_unit_test(an_older_count_tells_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
