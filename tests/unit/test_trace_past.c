/* What threads did before a part of a trace begins, handed out with what stands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/blocks.h"
#include "trace/writer.h"

#define EVENTS 60000u
#define BLOCK 20000u
#define EVENT_NS 100000ull
#define LOOP_EVERY 100u        /* switches: thread 30 comes and goes; the others take turns all the time */

static char folder[] = "/tmp/argus-test-XXXXXX";
static char path[64];

static bool loops_at(unsigned i)
{
	return i % LOOP_EVERY == 0;
}

/* Thread 30 loops: sleeps, runs for one event, sleeps. It wakes 20 each time. */
static void write_trace(void)
{
	struct writer_options options = { .cpus = 1 };
	struct writer *writer;
	struct err err = { 0 };
	uint32_t now = 10;

	if (writer_create(path, false, &options, &writer, &err))
		fail_msg("%s", err.text);
	for (unsigned i = 0; i < EVENTS; i++) {
		uint32_t next = loops_at(i) ? 30 : now == 10 ? 20 : 10;
		struct event_switch s = { .next = next, .state = TASK_STATE_sleeping, .wait = now == 30 ? WAIT_KIND_sleep : WAIT_KIND_read };
		struct event_wake w = { .target = 20, .context = CONTEXT_thread };
		struct event e = { .time = 1000 + i * EVENT_NS, .tid = now, .type = EVENT_switch, .data = &s, .tail = "" };
		struct event wake = { .time = e.time + 10, .tid = 30, .type = EVENT_wake, .data = &w, .tail = "" };

		if (writer_add_event(writer, &e, &err) || (next == 30 && writer_add_event(writer, &wake, &err)))
			fail_msg("%s", err.text);
		now = next;
	}
	if (writer_close(writer, &err))
		fail_msg("%s", err.text);
}

struct told {
	struct trace *trace;
	struct blocks *blocks;
	struct trace *part;
	struct arena arena;
	uint64_t floor_ns;
};

/* Somebody walks over all of it. */
static void walk(const struct told *told)
{
	struct blocks_watch *watch = blocks_watch(told->blocks, 0, blocks_count(told->blocks) - 1);
	const struct trace_filter all = { 0 };
	struct trace_cursor *cursor = trace_cursor_new(told->trace, &all);

	for (const struct event *e; (e = trace_cursor_next(cursor)); )
		blocks_watch_see(watch, e);
	trace_cursor_free(cursor);
	blocks_watch_end(watch);
}

/* The last block, and what the thread did since the first. */
static void tell_walked(struct told *told, uint32_t tid, bool walked)
{
	const struct blocks_options options = { .weight = BLOCK, .no_index = true };
	struct err err = { 0 };
	struct map threads, programs;
	size_t last;

	arena_init(&told->arena);
	if (trace_open(path, &told->trace, &err) || blocks_open(told->trace, &options, &told->blocks, &err))
		fail_msg("%s", err.text);
	if (walked)
		walk(told);
	last = blocks_count(told->blocks) - 1;
	assert_true(last >= 2);
	told->floor_ns = blocks_at(told->blocks, last)->from_ns;
	map_init(&threads);
	map_init(&programs);
	map_put(&threads, tid, 1);
	if (blocks_part_since(told->blocks, 1, &threads, &programs, last, last, UINT64_MAX, &told->arena, &told->part, &err))
		fail_msg("%s", err.text);
	map_done(&threads);
	map_done(&programs);
}

static void tell(struct told *told, uint32_t tid)
{
	tell_walked(told, tid, false);
}

static void forget(struct told *told)
{
	trace_close(told->part);
	blocks_close(told->blocks);
	trace_close(told->trace);
	arena_done(&told->arena);
}

/* Events of before the part, by which the thread leaves, or by which it goes on. */
static void count_switches(const struct told *told, uint32_t tid, unsigned *ret_out, unsigned *ret_in)
{
	const struct trace_filter filter = { .to_ns = told->floor_ns - 1 };
	struct trace_cursor *cursor = trace_cursor_new(told->part, &filter);
	uint64_t time_ns = 0, number = 0;

	*ret_out = *ret_in = 0;
	for (const struct event *e; (e = trace_cursor_next(cursor)); ) {
		assert_true(e->time >= time_ns && e->number >= number);
		time_ns = e->time;
		number = e->number;
		*ret_out += e->type == EVENT_switch && e->tid == tid;
		*ret_in += e->type == EVENT_switch && event_as(e, switch)->next == tid;
	}
	trace_cursor_free(cursor);
}

static void test_who_does_little_is_told_since_then(void **state)
{
	struct told told;
	unsigned out, in;

	(void)state;
	tell(&told, 30);
	assert_int_equal(trace_told_since(told.part, 30), blocks_at(told.blocks, 1)->from_ns);
	assert_int_equal(trace_told_since(told.part, 10), told.floor_ns);
	count_switches(&told, 30, &out, &in);
	assert_in_range(out, BLOCK / LOOP_EVERY * 3 / 4, BLOCK / LOOP_EVERY * 2);
	assert_in_range(in, out - 1, out + 1);
	forget(&told);
}

/* It is told what it was that it woke: that waited, and went on. */
static void test_whom_it_woke_is_told_with_it(void **state)
{
	struct told told;
	unsigned out, in;

	(void)state;
	tell(&told, 30);
	count_switches(&told, 20, &out, &in);
	assert_in_range(in, BLOCK / LOOP_EVERY / 2, BLOCK / LOOP_EVERY * 2);
	count_switches(&told, 10, &out, &in);
	assert_in_range(out + in, 0, 2);
	forget(&told);
}

static void test_who_does_much_is_told_from_the_part_on(void **state)
{
	struct told told;
	unsigned out, in;

	(void)state;
	tell(&told, 10);
	assert_int_equal(trace_told_since(told.part, 10), told.floor_ns);
	count_switches(&told, 10, &out, &in);
	assert_in_range(out + in, 0, 2);
	forget(&told);
}

/* Who walks over the blocks leaves what is read otherwise. */
static void test_a_walk_leaves_the_same(void **state)
{
	const uint32_t tids[] = { 30, 20, 10 };

	(void)state;
	for (size_t i = 0; i < sizeof(tids) / sizeof(*tids); i++) {
		struct trace_filter filter = { 0 };
		struct trace_cursor *cursor, *other;
		struct told read, walked;
		const struct event *a, *b;
		unsigned before = 0;

		tell_walked(&read, tids[i], false);
		tell_walked(&walked, tids[i], true);
		cursor = trace_cursor_new(read.part, &filter);
		other = trace_cursor_new(walked.part, &filter);
		while ((a = trace_cursor_next(cursor))) {
			b = trace_cursor_next(other);
			assert_non_null(b);
			assert_true(a->time == b->time && a->number == b->number && a->tid == b->tid && a->type == b->type);
			assert_memory_equal(a->data, b->data, event_infos[a->type].bytes);
			before += a->time < read.floor_ns;
		}
		assert_null(trace_cursor_next(other));
		assert_true(tids[i] != 30 || before > BLOCK / LOOP_EVERY / 2);
		trace_cursor_free(cursor);
		trace_cursor_free(other);
		forget(&read);
		forget(&walked);
	}
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
		cmocka_unit_test(test_who_does_little_is_told_since_then), cmocka_unit_test(test_whom_it_woke_is_told_with_it),
		cmocka_unit_test(test_who_does_much_is_told_from_the_part_on), cmocka_unit_test(test_a_walk_leaves_the_same),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
