/* Hangs noted in pieces: of a trace that grows, what is judged best with what follows waits for that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "session/sweep.h"
#include "trace/blocks.h"
#include "trace/writer.h"

#define SECOND 1000000000ull
#define BLOCK 100u             /* events; */
#define GROUP (4 * BLOCK)
#define GROUP_NS (10 * SECOND)
#define TOGETHER 4u            /* groups that are judged at once */

static char folder[] = "/tmp/argus-test-XXXXXX";
static char path[64];
static struct writer *writer;
static unsigned written;       /* groups */

/* One thread that runs and rests, in chunks of a block. */
static void grow(unsigned groups)
{
	struct err err;

	for (unsigned i = 0; i < groups * GROUP; i++) {
		uint64_t time = SECOND + (written * (uint64_t)GROUP + i) * (GROUP_NS / GROUP);
		struct event_switch s = { .next = i % 2 ? 2 : 0, .state = TASK_STATE_sleeping, .wait = WAIT_KIND_sleep };
		struct event e = { .time = time, .tid = i % 2 ? 0 : 2, .type = EVENT_switch, .data = &s, .tail = "" };

		assert_int_equal(writer_add_event(writer, &e, &err), 0);
		if (i % BLOCK == BLOCK - 1)
			assert_int_equal(writer_flush(writer, UINT64_MAX, &err), 0);
	}
	written += groups;
}

struct seen {
	size_t left[8], count;     /* before each stretch, and at the end */
	uint64_t until_ns;
};

static int see(void *data, const struct sweep_progress *progress)
{
	struct seen *seen = data;

	assert_true(seen->count < 8);
	seen->left[seen->count++] = progress->groups_left;
	seen->until_ns = progress->until_ns;
	return 0;
}

static struct seen judge(bool grows)
{
	struct seen seen = { 0 };
	const struct sweep_pace pace = { .grows = grows, .before = see, .data = &seen };
	struct session session;
	struct err err;
	size_t hangs;

	assert_int_equal(session_open(path, &session, &err), 0);
	assert_int_equal(session_index(&session, &pace, &hangs, &err), 0);
	session_close(&session);
	return seen;
}

static uint64_t end_ns(unsigned group)
{
	return SECOND + (group + 1) * GROUP_NS - 1;
}

static void test_what_follows_is_awaited(void **state)
{
	struct seen seen;

	(void)state;
	grow(10);
	seen = judge(true); /* the last one may still change, and the one before it is the first of the next four */
	assert_int_equal(seen.count, 3);
	assert_int_equal(seen.left[0], 9);
	assert_int_equal(seen.left[1], 5);
	assert_int_equal(seen.until_ns, end_ns(7));
	seen = judge(true);
	assert_int_equal(seen.count, 1);
	grow(3);
	seen = judge(true);
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.left[0], TOGETHER);
	assert_int_equal(seen.until_ns, end_ns(11));
}

/* Who asks does not wait; what was judged with less holds for that end alone. */
static void test_a_question_in_between(void **state)
{
	struct seen seen;

	(void)state;
	grow(2);
	seen = judge(false);
	assert_int_equal(seen.left[0], 3);
	assert_int_equal(judge(false).count, 1);
	assert_int_equal(judge(true).count, 1);
	grow(2);
	seen = judge(true);
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.left[0], TOGETHER);
	assert_int_equal(seen.until_ns, end_ns(15));
}

static int setup(void **state)
{
	const struct writer_options options = { .cpus = 1 };
	struct err err;

	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/trace", folder);
	setenv("ARGUS_BLOCK_EVENTS", "100", 1);
	return writer_create(path, false, &options, &writer, &err);
}

static int teardown(void **state)
{
	char command[96];
	struct err err;

	(void)state;
	writer_close(writer, &err);
	snprintf(command, sizeof(command), "rm -r '%s'", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_what_follows_is_awaited), cmocka_unit_test(test_a_question_in_between) };

	return cmocka_run_group_tests(tests, setup, teardown);
}
