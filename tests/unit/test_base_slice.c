/* A longer slice changes neither policy nor priority, and what is started inherits it. */
#include "base/slice.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t slice_ns, deadline_ns, period_ns;
};

static void *read_attributes(void *to)
{
	assert_int_equal(syscall(SYS_sched_getattr, 0, to, sizeof(struct attributes), 0), 0);
	return NULL;
}

static void slice_alone_changes(void **state)
{
	struct attributes before = { 0 }, after = { 0 }, inherited = { 0 };
	pthread_t thread;

	(void)state;
	read_attributes(&before);
	slice_lengthen();
	read_attributes(&after);
	assert_int_equal(after.policy, before.policy);
	assert_int_equal(after.nice, before.nice);
	assert_int_equal(after.priority, before.priority);
	/* a kernel that knows no slices tells none */
	assert_true(after.slice_ns >= before.slice_ns);
	assert_int_equal(pthread_create(&thread, NULL, read_attributes, &inherited), 0);
	pthread_join(thread, NULL);
	assert_int_equal(inherited.slice_ns, after.slice_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(slice_alone_changes) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
