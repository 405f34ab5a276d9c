/* src/diagnose/hangs_rank.c: which of several hangs is the one to ask about. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "diagnose/hangs_rank.h"
#include "diagnose/judgement.h"

#define S 1000000000ull

/* One works in its event loop's turn; another one waits for it a little longer. */
static void two(struct hang *hangs, uint32_t slices)
{
	hangs[0] = (struct hang){ .thread = 1, .start_ns = 10 * S, .end_ns = 14 * S, .rule = RULE_turn, .weight = 100 };
	hangs[1] = (struct hang){ .thread = 2, .start_ns = 10 * S, .end_ns = 15 * S, .rule = RULE_not_answered, .weight = 110, .awaits = 1,
				  .slices = slices };
}

static void test_who_waits_comes_first(void **state)
{
	struct hang hangs[2];

	(void)state;
	two(hangs, 1);
	hangs_rank(NULL, hangs, 2);
	assert_int_equal(hangs[0].thread, 2);
	/* also where the work weighs more */
	two(hangs, 1);
	hangs[1].weight = 50;
	hangs_rank(NULL, hangs, 2);
	assert_int_equal(hangs[0].thread, 2);
}

static void test_who_keeps_looking_up_only_watches(void **state)
{
	struct hang hangs[2];

	(void)state;
	two(hangs, 300);
	hangs_rank(NULL, hangs, 2);
	assert_int_equal(hangs[0].thread, 1);
	assert_int_equal(hangs[1].thread, 2);
	/* it may be all that shows where the other one just computes, which is no hang by itself */
	two(hangs, 300);
	hangs[0].rule = RULE_computes;
	hangs_rank(NULL, hangs, 2);
	assert_int_equal(hangs[0].thread, 2);
	/* but not where it tries what a program with windows has no time for */
	two(hangs, 300);
	hangs[0].rule = RULE_computes;
	hangs[1].rule = RULE_tries_in_vain;
	hangs_rank(NULL, hangs, 2);
	assert_int_equal(hangs[0].thread, 1);
}

static void test_who_looks_up_all_the_time_watches_what_is_unread(void **state)
{
	struct hang hangs[2];

	(void)state;
	two(hangs, 300);
	hangs[0].rule = RULE_unread;
	hangs_rank(NULL, hangs, 2);
	assert_int_equal(hangs[0].thread, 1);
	/* as a window does that asks another for what was copied there */
	two(hangs, 100);
	hangs[0].rule = RULE_unread;
	hangs_rank(NULL, hangs, 2);
	assert_int_equal(hangs[0].thread, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_waits_comes_first),
		cmocka_unit_test(test_who_keeps_looking_up_only_watches),
		cmocka_unit_test(test_who_looks_up_all_the_time_watches_what_is_unread),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
