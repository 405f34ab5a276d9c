/* When a process or thread was there, by births and ends of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "session/life.h"
#include "trace/trace.h"
#include "trace/writer.h"

#define MS 1000000ull

static char path[] = "/tmp/argus-test-XXXXXX";

static void put(struct writer *writer, uint64_t ms, uint32_t tid, uint16_t type, const void *data)
{
	struct event e = { .time = ms * MS, .tid = tid, .type = type, .data = data, .tail = "" };
	struct err err = { 0 };

	if (writer_add_event(writer, &e, &err))
		fail_msg("%s", err.text);
}

static void born(struct writer *writer, uint64_t ms, uint32_t tid, uint32_t pid)
{
	put(writer, ms, 1, EVENT_fork, &(struct event_fork){ .child = tid, .child_pid = pid });
}

static void there(struct writer *writer, uint64_t ms, uint32_t tid, uint32_t pid)
{
	put(writer, ms, tid, EVENT_task, &(struct event_task){ .pid = pid });
}

static void over(struct writer *writer, uint64_t ms, uint32_t tid)
{
	put(writer, ms, tid, EVENT_exit, &(struct event_exit){ 0 });
}

static void write_trace(void)
{
	struct writer_options options = { .cpus = 1, .recording = 77, .floor_ns = 1000 * MS };
	struct writer *writer;
	struct err err = { 0 };

	if (writer_create(path, true, &options, &writer, &err))
		fail_msg("%s", err.text);
	there(writer, 1000, 1, 1);
	there(writer, 1000, 50, 50);
	over(writer, 1100, 50); /* and never again */
	born(writer, 1200, 60, 60);
	born(writer, 1300, 61, 60);
	over(writer, 1400, 60); /* its other thread goes on */
	over(writer, 1500, 61);
	born(writer, 1800, 60, 60); /* another one of that number */
	over(writer, 1900, 60);
	there(writer, 2000, 60, 60); /* a third one, whose birth was lost */
	born(writer, 2100, 70, 70);
	born(writer, 2110, 71, 70);
	over(writer, 2120, 70);
	put(writer, 2121, 70, EVENT_exec, &(struct event_exec){ .old_tid = 71 });
	over(writer, 2200, 70);
	over(writer, 2900, 1);
	if (writer_close(writer, &err))
		fail_msg("%s", err.text);
}

static bool is_there(const struct life *life, uint64_t from_ms, uint64_t to_ms)
{
	return life_is_there(life, from_ms * MS, to_ms * MS);
}

static struct life *find(uint32_t number, bool of_thread)
{
	struct trace *trace;
	struct err err = { 0 };
	struct life *life;

	if (trace_open(path, &trace, &err))
		fail_msg("%s", err.text);
	life = of_thread ? life_of_thread(trace, number) : life_of_process(trace, number);
	trace_close(trace);
	return life;
}

static void test_processes(void **state)
{
	struct life *life = find(50, false);
	(void)state;

	assert_true(is_there(life, 0, 900)); /* since when is not known */
	assert_true(is_there(life, 1050, 1060));
	assert_true(is_there(life, 1100, 1200));
	assert_false(is_there(life, 1101, 5000));
	life_free(life);
	life = find(60, false);
	assert_false(is_there(life, 0, 1199));
	assert_true(is_there(life, 1000, 1200));
	assert_true(is_there(life, 1450, 1460));
	assert_false(is_there(life, 1501, 1799));
	assert_true(is_there(life, 1501, 1800));
	assert_true(is_there(life, 1950, 1960)); /* the third may be so old */
	assert_true(is_there(life, 4000, 5000));
	life_free(life);
	life = find(1, false);
	assert_true(is_there(life, 0, 1));
	assert_false(is_there(life, 2901, 5000));
	life_free(life);
}

static void test_threads(void **state)
{
	struct life *life = find(61, true);
	(void)state;

	assert_false(is_there(life, 0, 1299));
	assert_true(is_there(life, 1300, 1300));
	assert_false(is_there(life, 1501, 5000));
	life_free(life);
	life = find(60, true);
	assert_false(is_there(life, 1401, 1799));
	life_free(life);
}

/* A thread that executes a program takes its process's first place: the process is there until that one ends. */
static void test_exec(void **state)
{
	struct life *life = find(70, false);
	(void)state;

	assert_false(is_there(life, 0, 2099));
	assert_true(is_there(life, 2150, 2150));
	assert_false(is_there(life, 2201, 5000));
	life_free(life);
	life = find(70, true);
	assert_true(is_there(life, 2150, 2150));
	assert_false(is_there(life, 2201, 5000));
	life_free(life);
	life = find(71, true);
	assert_true(is_there(life, 2115, 2115));
	assert_false(is_there(life, 2122, 5000));
	life_free(life);
}

/* Of one that nothing tells of there is nothing to look for. */
static void test_unknown(void **state)
{
	struct life *life = find(12345, false);
	(void)state;

	assert_false(is_there(life, 0, UINT64_MAX / MS));
	life_free(life);
	life_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_exec),
		cmocka_unit_test(test_unknown),
	};
	int fd = mkstemp(path), failed;

	if (fd < 0)
		return 1;
	close(fd);
	write_trace();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return failed;
}
