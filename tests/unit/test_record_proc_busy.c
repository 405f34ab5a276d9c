/* Threads that took processors, laid out by their sums. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "record/proc_busy.h"

#define THREADS 8u

struct seen {
	struct proc_busy_sink sink;
	uint64_t ran[THREADS], since[2];
	uint32_t on[2];
	uint64_t last_ns;
};

static int leaves(struct proc_busy_sink *sink, uint64_t time, uint32_t processor, uint32_t tid, const struct event_switch *to, struct err *err)
{
	struct seen *seen = (struct seen *)sink;

	(void)err;
	assert_int_equal(seen->on[processor], tid);
	assert_true(time >= seen->since[processor]);
	assert_true(tid == 0 || to->flags == SWITCH_FLAGS_preempted);
	seen->ran[tid] += time - seen->since[processor];
	seen->since[processor] = time;
	seen->on[processor] = to->next;
	seen->last_ns = time;
	return 0;
}

static struct seen laid_out(struct proc_busy *list, size_t count, uint64_t to_ns)
{
	struct seen seen = { .sink = { leaves }, .since = { 1000, 1000 } };

	assert_int_equal(proc_busy_lay_out(list, count, 1000, to_ns, &seen.sink, NULL), 0);
	for (unsigned i = 0; i < 2; i++)
		seen.ran[seen.on[i]] += to_ns - seen.since[i];
	return seen;
}

static void each_has_its_sum(void **unused)
{
	struct proc_busy list[] = { { 1, 0, 8000 }, { 2, 0, 0 }, { 3, 1, 4000 }, { 4, 1, 2000 } };
	struct seen seen = laid_out(list, 4, 9000);

	(void)unused;
	assert_int_equal(seen.ran[1], 8000);
	assert_int_equal(seen.ran[2], 0);
	assert_int_equal(seen.ran[3], 4000);
	assert_int_equal(seen.ran[4], 2000);
	assert_int_equal(seen.on[0], 1);
}

static void sums_beyond_the_look_are_shares(void **unused)
{
	struct proc_busy list[] = { { 1, 0, 8000 }, { 2, 0, 8000 } };
	struct seen seen = laid_out(list, 2, 9000);

	(void)unused;
	assert_int_equal(seen.ran[1], 4000);
	assert_int_equal(seen.ran[2], 4000);
	assert_true(seen.last_ns < 9000);
}

static void nothing_is_nothing(void **unused)
{
	struct proc_busy one = { 1, 0, UINT64_MAX / 2 };

	(void)unused;
	assert_int_equal(laid_out(NULL, 0, 9000).last_ns, 0);
	assert_int_equal(laid_out(&one, 1, 1000).last_ns, 0);
	assert_int_equal(laid_out(&one, 1, 9000).ran[1], 8000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_has_its_sum), cmocka_unit_test(sums_beyond_the_look_are_shares), cmocka_unit_test(nothing_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
