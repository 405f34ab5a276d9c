/* Locks as /proc/locks tells them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record/object.h"
#include "record/state.h"

struct taken {
	struct state_sink sink;
	struct event_lock_held locks[8];
	uint32_t pids[8];
	unsigned count;
};

static int take(struct state_sink *sink, uint32_t tid, enum event_type type, const void *payload, const char *tail,
		uint32_t tail_length, struct err *err)
{
	struct taken *taken = (struct taken *)sink;
	(void)tail;
	(void)tail_length;
	(void)err;
	assert_int_equal(type, EVENT_lock_held);
	assert_true(taken->count < 8);
	taken->pids[taken->count] = tid;
	taken->locks[taken->count++] = *(const struct event_lock_held *)payload;
	return 0;
}

static void test_holder_and_waiter(void **unused)
{
	(void)unused;
	struct taken taken = { .sink.event = take };
	static const char text[] = "1: POSIX  ADVISORY  WRITE 2291 fe:01:2621 0 EOF\n"
				   "1: -> POSIX  ADVISORY  READ  2305 fe:01:2621 10 19\n"
				   "2: FLOCK  ADVISORY  READ 77 00:1a:5 0 EOF\n"
				   "3: OFDLCK ADVISORY  WRITE -1 08:02:9 0 0\n"
				   "rubbish\n"
				   "4: POSIX  ADVISORY  WRITE 22";
	assert_int_equal(state_parse_locks(text, 0, &taken.sink, NULL), 0);
	assert_int_equal(taken.count, 4);
	assert_int_equal(taken.pids[0], 2291);
	assert_int_equal(taken.locks[0].type, LOCK_TYPE_write);
	assert_true(taken.locks[0].object == object_of_inode(OBJECT_KIND_file, 0xfeu << 20 | 1, 2621));
	assert_true(taken.locks[0].end == INT64_MAX);
	assert_int_equal(taken.pids[1], 2305);
	assert_int_equal(taken.locks[1].blocked, 1);
	assert_int_equal(taken.locks[1].blocker, 2291);
	assert_true(taken.locks[1].start == 10 && taken.locks[1].end == 19);
	assert_int_equal(taken.locks[2].family, LOCK_FAMILY_flock);
	assert_int_equal(taken.locks[3].family, LOCK_FAMILY_description);
	assert_int_equal(taken.pids[3], 0);
}

static void test_only_one_process_and_who_it_holds_up(void **unused)
{
	(void)unused;
	struct taken taken = { .sink.event = take };
	static const char text[] = "1: POSIX  ADVISORY  WRITE 10 fe:01:2621 0 EOF\n"
				   "1: -> POSIX  ADVISORY  WRITE 20 fe:01:2621 0 EOF\n"
				   "2: POSIX  ADVISORY  WRITE 30 fe:01:2622 0 EOF\n";
	assert_int_equal(state_parse_locks(text, 10, &taken.sink, NULL), 0);
	assert_int_equal(taken.count, 2);
	assert_int_equal(taken.pids[1], 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_holder_and_waiter),
		cmocka_unit_test(test_only_one_process_and_who_it_holds_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
