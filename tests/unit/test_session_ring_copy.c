/* src/session/ring_copy.c: a copy from the middle of a file says what stood at that moment, and nothing of what had ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "session/ring_copy.h"
#include "trace/blocks_own.h"
#include "trace/trace.h"
#include "trace/writer.h"

#define UID 1000u
#define GONE 10u    /* waits as the file begins, and ends before the copy begins */
#define RESTS 20u   /* begins to wait before the copy begins, and goes on in it */
#define BUSY 30u
#define CHILD 40u   /* of the one that is gone: whose it is only that one told */
#define SECOND 1000000000ull
#define FROM_NS (100 * SECOND)

static char folder[64], ring[96], path[96];

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/argus-test-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(ring, sizeof(ring), "%s/ring", folder);
	snprintf(path, sizeof(path), "%s/copy", folder);
	return mkdir(ring, 0700);
}

static int remove_folder(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r '%s'", folder);
	return system(command);
}

static void add(struct writer *writer, uint64_t time, unsigned type, uint32_t tid, const void *data, const char *tail, uint32_t length)
{
	struct event e = { .time = time, .type = (uint16_t)type, .tid = tid, .data = data, .tail = tail, .tail_length = length };

	assert_int_equal(writer_add_event(writer, &e, NULL), 0);
}

#define ADD(writer, time, name, tid, ...) add(writer, time, EVENT_##name, tid, &(struct event_##name){ __VA_ARGS__ }, "", 0)

static void add_task(struct writer *writer, uint64_t time, uint32_t tid, uint32_t uid)
{
	struct event_task task = { .start_ns = SECOND, .pid = tid, .parent = 1, .uid = uid, .ns_tid = tid, .flags = TASK_FLAGS_leader, .prio = 120 };

	add(writer, time, EVENT_task, tid, &task, "name\0/bin/name\0name\0", 20);
}

/* With so many switches of a busy thread in each second before the copy begins. */
static void write_ring(unsigned switches)
{
	struct writer_options options = { .cpus = 1, .recording = 5 };
	struct writer *writer;
	char file[128];

	snprintf(file, sizeof(file), "%s/0.trace", ring);
	assert_int_equal(writer_create(file, false, &options, &writer, NULL), 0);
	add(writer, 2 * SECOND, EVENT_machine, 0, NULL, "hostname=here\0", 14);
	ADD(writer, 2 * SECOND + 1, snapshot, 0, .end = 0);
	for (uint32_t tid = GONE; tid <= BUSY; tid += 10)
		add_task(writer, 2 * SECOND + 2, tid, UID);
	ADD(writer, 2 * SECOND + 3, waiting, GONE, .since_ns = SECOND, .state = TASK_STATE_sleeping, .wait = WAIT_KIND_futex);
	ADD(writer, 2 * SECOND + 4, snapshot, 0, .end = 1);
	ADD(writer, 10 * SECOND, wake, BUSY, .target = GONE);
	ADD(writer, 10 * SECOND + 1, switch, BUSY, .next = GONE);
	ADD(writer, 10 * SECOND + 1, fork, GONE, .child = CHILD, .child_pid = CHILD);
	ADD(writer, 10 * SECOND + 2, exit, GONE, .last = 1);
	ADD(writer, 10 * SECOND + 3, switch, GONE, .next = RESTS, .state = TASK_STATE_dead, .wait = WAIT_KIND_exit);
	ADD(writer, 20 * SECOND, switch, RESTS, .next = BUSY, .state = TASK_STATE_sleeping, .wait = WAIT_KIND_poll);
	/* its number is another user's, later */
	ADD(writer, 20 * SECOND + 1, fork, BUSY, .child = GONE, .child_pid = GONE);
	add_task(writer, 20 * SECOND + 2, GONE, UID + 1);
	for (uint64_t at = 21; at < 120; at++) {
		for (unsigned i = 0; i < switches && (at + 1) * SECOND < FROM_NS; i += 2) {
			ADD(writer, at * SECOND - (switches - i) * 100ull, switch, BUSY, .next = 0, .state = TASK_STATE_sleeping, .wait = WAIT_KIND_sleep);
			ADD(writer, at * SECOND - (switches - i) * 100ull + 50, switch, 0, .next = BUSY);
		}
		ADD(writer, at * SECOND, switch, BUSY, .next = 0, .state = TASK_STATE_sleeping, .wait = WAIT_KIND_sleep);
		ADD(writer, at * SECOND + 500, switch, 0, .next = BUSY);
	}
	ADD(writer, 119 * SECOND + 600, switch, BUSY, .next = CHILD);
	ADD(writer, 119 * SECOND + 700, switch, CHILD, .next = BUSY, .state = TASK_STATE_sleeping, .wait = WAIT_KIND_sleep);
	ADD(writer, 120 * SECOND, wake, BUSY, .target = RESTS);
	ADD(writer, 120 * SECOND + 1, switch, BUSY, .next = RESTS);
	assert_int_equal(writer_close(writer, NULL), 0);
}

static void check_copy(unsigned ends_told)
{
	struct trace_filter filter = { .unnumbered = true };
	struct trace_cursor *cursor;
	struct trace *copy;
	uint64_t last = 0;
	unsigned before = 0, rests = 0, sleeps = 0, tasks = 0, switches = 0, heads = 0, ends = 0;

	assert_int_equal(trace_open(path, &copy, NULL), 0);
	cursor = trace_cursor_new(copy, &filter);
	for (const struct event *e; (e = trace_cursor_next(cursor)); last = e->time) {
		assert_true(e->time >= last);
		/* whose parent it was is told, and that it ended, and nothing of what it waited for or ran */
		assert_true(e->tid != GONE || (e->type != EVENT_waiting && e->type != EVENT_switch) ||
			    (e->type == EVENT_switch && event_as(e, switch)->state == TASK_STATE_dead && !event_as(e, switch)->next));
		ends += e->tid == GONE && e->type == EVENT_switch;
		sleeps += e->type == EVENT_switch && e->tid == CHILD && event_as(e, switch)->wait == WAIT_KIND_sleep;
		heads += e->type == EVENT_machine;
		tasks += e->type == EVENT_task;
		switches += e->type == EVENT_switch;
		before += e->time < FROM_NS && e->type == EVENT_switch;
		rests += e->time == 20 * SECOND && e->type == EVENT_switch && e->tid == RESTS;
	}
	trace_cursor_free(cursor);
	assert_int_equal(heads, 1);
	assert_in_range(tasks, 2, 4);
	assert_int_equal(rests, 1);
	assert_int_equal(sleeps, 1);
	assert_int_equal(ends, ends_told);
	/* whoever stood, and no more of what went on before */
	assert_in_range(before, 1, 3);
	assert_int_equal(switches - before, 2 * 20 + 3);
	trace_close(copy);
}

static void test_from_the_middle(void **state)
{
	struct ring_copy_want want = { .from_ns = FROM_NS };

	(void)state;
	write_ring(0);
	assert_int_equal(ring_copy(ring, path, &want, NULL), 0);
	check_copy(1);
	unlink(path);
	assert_int_equal(ring_copy_own(ring, path, UID, FROM_NS, NULL), 0);
	check_copy(0);
}

static void add_events(const char *of, struct buf *to)
{
	struct trace_filter filter = { .unnumbered = true };
	struct trace_cursor *cursor;
	struct trace *trace;

	assert_int_equal(trace_open(of, &trace, NULL), 0);
	cursor = trace_cursor_new(trace, &filter);
	for (const struct event *e; (e = trace_cursor_next(cursor)); ) {
		buf_printf(to, "%llu %u %u ", (unsigned long long)e->time, e->type, e->tid);
		buf_add(to, e->data, e->data ? event_infos[e->type].bytes : 0);
	}
	trace_cursor_free(cursor);
	trace_close(trace);
}

/* Far behind the head of a file the index says what stood: the copy is the same. */
static void test_from_the_index(void **state)
{
	struct ring_copy_want want = { .from_ns = FROM_NS };
	struct blocks *blocks;
	struct trace *trace;
	struct buf without, with;
	char index[128];

	(void)state;
	write_ring(30000);
	buf_init(&without);
	buf_init(&with);
	assert_int_equal(ring_copy(ring, path, &want, NULL), 0);
	check_copy(1);
	add_events(path, &without);
	unlink(path);
	assert_int_equal(trace_open(ring, &trace, NULL), 0);
	assert_int_equal(blocks_open(trace, &(struct blocks_options){ 0 }, &blocks, NULL), 0);
	assert_true(blocks_count(blocks) > 20);
	assert_int_equal(blocks_find_standing(blocks, blocks_find(blocks, FROM_NS - 5 * SECOND), 1, NULL), 0);
	blocks_close(blocks);
	trace_close(trace);
	snprintf(index, sizeof(index), "%s/0.trace.index", ring);
	assert_int_equal(access(index, R_OK), 0);
	assert_int_equal(ring_copy(ring, path, &want, NULL), 0);
	check_copy(1);
	add_events(path, &with);
	assert_int_equal(with.length, without.length);
	assert_memory_equal(with.data, without.data, with.length);
	buf_done(&without);
	buf_done(&with);
}

#define KNOWN 50u   /* of whom the index alone tells */

/* What an index says stood is in the copy, so it was asked. */
static void test_the_index_is_asked(void **state)
{
	struct ring_copy_want want = { .from_ns = FROM_NS };
	struct event_switch out = { .state = TASK_STATE_sleeping, .wait = WAIT_KIND_futex };
	struct event stands = { .time = 50 * SECOND, .type = EVENT_switch, .tid = KNOWN, .data = &out, .number = 1 };
	struct trace_filter filter = { .unnumbered = true };
	struct trace_cursor *cursor;
	struct blocks *blocks;
	struct trace *trace;
	unsigned told = 0;

	(void)state;
	write_ring(30000);
	assert_int_equal(trace_open(ring, &trace, NULL), 0);
	assert_int_equal(blocks_open(trace, &(struct blocks_options){ 0 }, &blocks, NULL), 0);
	blocks_keep_standing(blocks, blocks_find(blocks, FROM_NS - 5 * SECOND), &(struct standing_events){ &stands, 1 });
	blocks_close(blocks);
	trace_close(trace);
	assert_int_equal(ring_copy(ring, path, &want, NULL), 0);
	assert_int_equal(trace_open(path, &trace, NULL), 0);
	cursor = trace_cursor_new(trace, &filter);
	for (const struct event *e; (e = trace_cursor_next(cursor)); )
		told += e->tid == KNOWN;
	assert_int_equal(told, 1);
	trace_cursor_free(cursor);
	trace_close(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_from_the_middle, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_from_the_index, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_the_index_is_asked, make_folder, remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
