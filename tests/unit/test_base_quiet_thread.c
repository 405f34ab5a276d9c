/* Threads that take no signals. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <signal.h>

#include "base/quiet_thread.h"

static void *mask_of(void *data)
{
	pthread_sigmask(SIG_SETMASK, NULL, data);
	return NULL;
}

static void test_only_the_new_thread_is_quiet(void **state)
{
	sigset_t its, before, after;
	pthread_t thread;

	(void)state;
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	assert_int_equal(quiet_thread(&thread, mask_of, &its), 0);
	pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	assert_int_equal(sigismember(&its, SIGINT), 1);
	assert_int_equal(sigismember(&its, SIGTERM), 1);
	assert_int_equal(sigismember(&after, SIGINT), sigismember(&before, SIGINT));
	assert_int_equal(sigismember(&after, SIGINT), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_only_the_new_thread_is_quiet) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
