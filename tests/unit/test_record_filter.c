/* src/record/filter.c: lists from the command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "record/filter.h"

static void takes_lists(void **state)
{
	static const u64 expected[] = {
		FILTER_KEY(FILTER_PID, 12), FILTER_KEY(FILTER_PID, 7), FILTER_KEY(FILTER_TID, 9),
		FILTER_KEY(FILTER_CPU, 0), FILTER_KEY(FILTER_CPU, 1), FILTER_KEY(FILTER_CPU, 2), FILTER_KEY(FILTER_CPU, 8),
		FILTER_KEY(FILTER_USER, 0), FILTER_KEY(FILTER_USER, 1234),
	};
	struct filter filter = { 0 };
	struct record_config config = { 0 };

	(void)state;
	assert_int_equal(filter_add_pids(&filter, "12,7", NULL), 0);
	assert_int_equal(filter_add_tids(&filter, "9", NULL), 0);
	assert_int_equal(filter_add_cpus(&filter, "0-2,8", NULL), 0);
	assert_int_equal(filter_add_users(&filter, "root,1234", NULL), 0);
	assert_int_equal(filter.keys.length, sizeof(expected) / sizeof(expected[0]));
	assert_memory_equal(filter.keys.items, expected, sizeof(expected));
	filter_configure(&filter, &config);
	assert_true(config.filter_pids && config.filter_tids && config.filter_cpus && config.filter_users);
	assert_false(config.filter_cgroups || config.follow_forks);
	filter_done(&filter);
}

static void refuses_what_is_none(void **state)
{
	static const char *const bad[] = { "0", "x", "1,", ",1", "1,,2", "-3", "99999999999", "1-2" };
	static const char *const bad_cpus[] = { "3-1", "a-b", "1-", "-", "0-99999999" };
	struct filter filter = { 0 };
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err = (struct err){ 0 };
		assert_int_equal(filter_add_pids(&filter, bad[i], &err), -EINVAL);
		assert_true(err.text[0] != 0);
	}
	for (size_t i = 0; i < sizeof(bad_cpus) / sizeof(bad_cpus[0]); i++)
		assert_int_equal(filter_add_cpus(&filter, bad_cpus[i], &err), -EINVAL);
	assert_int_equal(filter_add_users(&filter, "no such user", &err), -EINVAL);
	assert_non_null(strstr(err.text, "no such user"));
	filter_done(&filter);
}

static void finds_what_is_not_there(void **state)
{
	struct filter filter = { 0 };
	struct err err;

	(void)state;
	filter_add(&filter, FILTER_PID, (u64)getpid());
	assert_int_equal(filter_check(&filter, NULL), 0);
	filter_add(&filter, FILTER_TID, 0x7ffffff0);
	assert_int_equal(filter_check(&filter, &err), -ESRCH);
	assert_string_equal(err.text, "there is no thread 2147483632");
	filter_done(&filter);
	filter_add(&filter, FILTER_CPU, 100000);
	assert_int_equal(filter_check(&filter, &err), -EINVAL);
	filter_done(&filter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_is_not_there),
		cmocka_unit_test(takes_lists),
		cmocka_unit_test(refuses_what_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
