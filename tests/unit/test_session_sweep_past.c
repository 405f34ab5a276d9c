/* Of whom it must be known what they did before a part of a trace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "session/sweep_past.h"
#include "trace/blocks.h"
#include "trace/writer.h"

#define EVENTS 3000u
#define BLOCK 100u
#define EVENT_NS 1000000ull
#define LOOK_NS 50000000ull
#define LOOP_FROM 1000u        /* event with which the loop begins; block 10 */
#define FULL_FROM 2000u        /* with which a third thread begins to wait until somebody takes what it writes; block 20 */

static char folder[] = "/tmp/argus-test-XXXXXX";
static char path[64];

/* Two threads take turns; the one listens, and from some time on sleeps. In the end a third one cannot write. */
static void write_trace(void)
{
	struct writer_options options = { .cpus = 1 };
	struct writer *writer;
	struct err err = { 0 };

	if (writer_create(path, false, &options, &writer, &err))
		fail_msg("%s", err.text);
	for (unsigned i = 0; i < EVENTS; i++) {
		bool first = i % 2;
		struct event_switch s = { .next = first ? 20 : 10, .state = TASK_STATE_sleeping,
					  .wait = first && i >= LOOP_FROM ? WAIT_KIND_sleep : WAIT_KIND_read };
		struct event e = { .time = 1000 + i * EVENT_NS, .tid = first ? 10 : 20, .type = EVENT_switch, .data = &s, .tail = "" };

		if (i == FULL_FROM) {
			e.tid = 30;
			s.wait = WAIT_KIND_write;
		}
		if (writer_add_event(writer, &e, &err))
			fail_msg("%s", err.text);
	}
	if (writer_close(writer, &err))
		fail_msg("%s", err.text);
}

/* Of how many threads the past is asked there. */
static size_t asked(size_t block, uint64_t look_ns)
{
	const struct blocks_options options = { .weight = BLOCK, .no_index = true };
	struct blocks *blocks = NULL;
	struct trace *trace;
	struct err err = { 0 };
	struct map threads, programs;
	size_t count;

	if (trace_open(path, &trace, &err) || blocks_open(trace, &options, &blocks, &err))
		fail_msg("%s", err.text);
	assert_int_equal(blocks_count(blocks), EVENTS / BLOCK);
	map_init(&threads);
	map_init(&programs);
	sweep_past(blocks, block, look_ns, &threads, &programs);
	count = threads.length;
	map_done(&threads);
	map_done(&programs);
	blocks_close(blocks);
	trace_close(trace);
	return count;
}

static void test_who_sleeps_may_loop(void **state)
{
	(void)state;
	assert_int_equal(asked(20, LOOK_NS), 1);
}

static void test_who_listens_does_not_loop(void **state)
{
	(void)state;
	assert_int_equal(asked(9, LOOK_NS), 0);
}

static void test_who_looks_seldom_does_not_loop(void **state)
{
	(void)state;
	assert_int_equal(asked(20, 100000), 0);
}

static void test_who_cannot_write_has_written(void **state)
{
	(void)state;
	assert_int_equal(asked(22, LOOK_NS), 1); /* it has not waited for long */
	assert_int_equal(asked(28, LOOK_NS), 2);
}

static void test_nobody_stands_at_the_beginning(void **state)
{
	(void)state;
	assert_int_equal(asked(0, LOOK_NS), 0);
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/trace", folder);
	write_trace();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	rmdir(folder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_sleeps_may_loop), cmocka_unit_test(test_who_listens_does_not_loop),
		cmocka_unit_test(test_who_looks_seldom_does_not_loop), cmocka_unit_test(test_who_cannot_write_has_written),
		cmocka_unit_test(test_nobody_stands_at_the_beginning),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
