/* src/diagnose/starved.c: who had the processor, or which quota kept a thread off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "diagnose/starved.h"
#include "scene_of_text.h"

#define SECOND 1000000000ull

static struct starved find(const char *text, uint64_t from, uint64_t to, bool *ret_is)
{
	struct scene_of_text s;
	struct starved starved;
	uint32_t thread;

	scene_of_text_open(&s, text);
	thread = scene_of_text_thread(&s, 10);
	*ret_is = starved_judge(s.scene, thread, from, to, &starved);
	if (starved.hog)
		starved.hog = scene_tid(s.scene, starved.hog);
	if (starved.group_hog)
		starved.group_hog = scene_tid(s.scene, starved.group_hog);
	starved.quota = NULL;      /* goes with the scene */
	scene_of_text_close(&s);
	return starved;
}

/* It is woken at 1.1 and gets in at 3.1; meanwhile one had the processor for most of the time. */
static void names_who_had_the_processor(void **state)
{
	bool is;
	struct starved starved = find("1 [0] 10 task pid=10 prio=120 flags=leader \"app\"\n"
				      "1 [0] 20 task pid=20 prio=120 flags=leader \"hog\"\n"
				      "1 [0] 30 task pid=30 prio=120 flags=leader \"other\"\n"
				      "1 [0] 40 task pid=40 prio=120 flags=leader \"elsewhere\"\n"
				      "1.0 [0] 0 switch next=10\n"
				      "1.0 [1] 0 switch next=40\n"
				      "1.1 [0] 10 switch next=20 flags=preempted\n"
				      "2.8 [0] 20 switch next=30 flags=preempted\n"
				      "3.1 [0] 30 switch next=10 flags=preempted\n"
				      "3.2 [0] 10 switch next=0 state=dead wait=exit\n", SECOND + SECOND / 20, 3 * SECOND + SECOND / 10, &is);

	(void)state;
	assert_int_equal(starved.hog, 20);
	assert_int_equal(starved.hog_ns, 1700000000);
	assert_int_equal(starved.runnable_ns, 2000000000);
	assert_int_equal(starved.before_ns, 0);
	assert_true(is);
}

/* Many had a turn each: slow, but nobody's doing. */
static void sharing_is_no_starving(void **state)
{
	bool is;
	struct starved starved = find("1 [0] 10 task pid=10 prio=120 flags=leader \"app\"\n"
				      "1 [0] 20 task pid=20 prio=120 flags=leader \"a\"\n"
				      "1 [0] 30 task pid=30 prio=120 flags=leader \"b\"\n"
				      "1 [0] 40 task pid=40 prio=120 flags=leader \"c\"\n"
				      "1.0 [0] 0 switch next=10\n"
				      "1.5 [0] 10 switch next=20 flags=preempted\n"
				      "2.0 [0] 20 switch next=30 flags=preempted\n"
				      "2.5 [0] 30 switch next=40 flags=preempted\n"
				      "3.0 [0] 40 switch next=10 flags=preempted\n"
				      "3.5 [0] 10 switch next=0 state=dead wait=exit\n", SECOND, 3 * SECOND, &is);

	(void)state;
	assert_int_equal(starved.runnable_ns, 1500000000);
	assert_int_equal(starved.hog_ns, 500000000);
	assert_false(is);
}

/* Those that come first by their priorities starve it together. */
static void better_priorities_count_together(void **state)
{
	bool is;
	struct starved starved = find("1 [0] 10 task pid=10 prio=139 flags=leader \"app\"\n"
				      "1 [0] 20 task pid=20 prio=120 flags=leader \"a\"\n"
				      "1 [0] 30 task pid=30 prio=120 flags=leader \"b\"\n"
				      "1 [0] 40 task pid=40 prio=120 flags=leader \"c\"\n"
				      "1.0 [0] 0 switch next=10\n"
				      "1.1 [0] 10 switch next=20 flags=preempted\n"
				      "2.0 [0] 20 switch next=30 flags=preempted\n"
				      "3.0 [0] 30 switch next=40 flags=preempted\n"
				      "4.0 [0] 40 switch next=10 flags=preempted\n"
				      "4.1 [0] 10 switch next=0 state=dead wait=exit\n", SECOND, 4 * SECOND, &is);

	(void)state;
	assert_int_equal(starved.before_ns, 2900000000);
	assert_true(is);
}

/* A quota that the kernel says is used up; most of it went to another of the group. */
static void a_quota_is_told(void **state)
{
	bool is;
	struct starved starved = find("1 [0] 0 cgroup cgroup=7 quota_ns=20ms period_ns=100ms \"/box\"\n"
				      "1 [0] 10 task pid=10 prio=120 cgroup=7 flags=leader \"app\"\n"
				      "1 [0] 20 task pid=20 prio=120 cgroup=7 flags=leader \"hog\"\n"
				      "1 [0] 30 task pid=30 prio=120 flags=leader \"outside\"\n"
				      "1.0 [0] 0 switch next=10\n"
				      "1.0 [1] 0 switch next=20\n"
				      "1.005 [0] 0 throttle target=10 cgroup=7 throttled=1 quota_ns=20ms period_ns=100ms\n"
				      "1.005 [0] 10 switch next=30 flags=preempted\n"
				      "1.2 [1] 20 switch next=0 flags=preempted\n"
				      "2.0 [0] 30 switch next=10 flags=preempted\n"
				      "2.1 [0] 10 switch next=0 state=dead wait=exit\n", SECOND, 2 * SECOND, &is);

	(void)state;
	assert_true(starved.throttled_ns * 2 > starved.runnable_ns);
	assert_int_equal(starved.group_hog, 20);
	assert_true(is);
}

/* It used the quota up itself; another of the group had next to nothing of it. */
static void a_quota_used_by_itself(void **state)
{
	bool is;
	struct starved starved = find("1 [0] 0 cgroup cgroup=7 quota_ns=20ms period_ns=100ms \"/box\"\n"
				      "1 [0] 10 task pid=10 prio=120 cgroup=7 flags=leader \"app\"\n"
				      "1 [0] 20 task pid=20 prio=120 cgroup=7 flags=leader \"idler\"\n"
				      "1.0 [0] 0 switch next=10\n"
				      "1.0 [1] 0 switch next=20\n"
				      "1.001 [1] 20 switch next=0 state=sleeping wait=sleep timeout_ns=9s\n"
				      "1.1 [0] 0 throttle target=10 cgroup=7 throttled=1 quota_ns=20ms period_ns=100ms\n"
				      "1.1 [0] 10 switch next=0 flags=preempted\n"
				      "2.0 [0] 0 switch next=10\n"
				      "2.1 [0] 10 switch next=0 state=dead wait=exit\n", SECOND, 2 * SECOND, &is);

	(void)state;
	assert_true(is);
	assert_int_equal(starved.group_hog, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_who_had_the_processor),
		cmocka_unit_test(sharing_is_no_starving),
		cmocka_unit_test(better_priorities_count_together),
		cmocka_unit_test(a_quota_is_told),
		cmocka_unit_test(a_quota_used_by_itself),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
