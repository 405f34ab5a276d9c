/* Nodes of the calling-context tree: what is told of them, and that the parts of a file share it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/blocks.h"
#include "trace/tables.h"
#include "trace/writer.h"

#define FILES 2u
#define EVENTS 6000u           /* of a file: switches, and a node told with each */
#define EVENT_NS 1000000ull
#define WEIGHT 1000u

static char folder[] = "/tmp/argus-test-XXXXXX";

static uint64_t time_of(unsigned file, unsigned i)
{
	return 1000 + ((uint64_t)file * EVENTS + i) * EVENT_NS;
}

/* Each called by the one told before it, in chains of seven; each file gives the numbers anew. */
static uint64_t address_of(unsigned file, uint32_t node)
{
	return 0x100000ull * (file + 1) + node * 16;
}

static uint32_t parent_of(uint32_t node)
{
	return node % 7 == 1 ? 0 : node - 1;
}

static void put(struct writer *writer, const struct event *e)
{
	struct err err = { 0 };

	if (writer_add_event(writer, e, &err))
		fail_msg("%s", err.text);
}

static void write_file(unsigned file)
{
	struct writer_options options = { .cpus = 1, .recording = 77, .sequence = file, .floor_ns = time_of(file, 0) };
	struct writer *writer;
	struct err err = { 0 };
	char path[80];

	snprintf(path, sizeof(path), "%s/argus-%010u.trace", folder, file);
	if (writer_create(path, false, &options, &writer, &err))
		fail_msg("%s", err.text);
	for (unsigned i = 0; i < EVENTS; i++) {
		struct event_switch s = { .next = 10 + (i + 1) % 7, .state = TASK_STATE_sleeping, .ustack = i };
		struct event_frame frame = { .node = i + 1, .address = address_of(file, i + 1), .parent = parent_of(i + 1) };
		struct event told = { .time = time_of(file, i), .type = EVENT_frame, .data = &frame, .tail = "" };
		struct event e = { .time = time_of(file, i) + 1, .tid = 10 + i % 7, .type = EVENT_switch, .data = &s, .tail = "" };

		put(writer, &told);
		put(writer, &e);
		if (i % 500 == 499 && writer_flush(writer, UINT64_MAX, &err))
			fail_msg("%s", err.text);
	}
	if (writer_close(writer, &err))
		fail_msg("%s", err.text);
}

struct asked {
	struct trace *trace, *part;
	struct blocks *blocks;
	struct tables *tables;
	struct arena arena;
};

static void begin(struct asked *asked)
{
	const struct blocks_options options = { .weight = WEIGHT, .no_index = true };
	struct err err = { 0 };

	*asked = (struct asked){ 0 };
	arena_init(&asked->arena);
	if (trace_open(folder, &asked->trace, &err) || blocks_open(asked->trace, &options, &asked->blocks, &err))
		fail_msg("%s", err.text);
	assert_true(blocks_count(asked->blocks) >= 8);
}

static void forget_part(struct asked *asked)
{
	tables_free(asked->tables);
	trace_close(asked->part);
	asked->tables = NULL;
	asked->part = NULL;
}

static void ask(struct asked *asked, size_t block)
{
	struct err err = { 0 };

	forget_part(asked);
	if (blocks_part(asked->blocks, block, block, UINT64_MAX, &asked->arena, &asked->part, &err) ||
	    tables_build(asked->part, &asked->tables, &err))
		fail_msg("%s", err.text);
}

static void end(struct asked *asked)
{
	forget_part(asked);
	blocks_close(asked->blocks);
	trace_close(asked->trace);
	arena_done(&asked->arena);
}

static void assert_told(const struct tables *tables, unsigned file, uint32_t up_to)
{
	assert_true(tables->frame_count > up_to);
	for (uint32_t node = 1; node <= up_to; node++) {
		const struct frame *frame = &tables->frames[node];

		uint32_t before = node - 1;

		assert_true(tables_next_node(tables, &before) && before == node);
		assert_int_equal(frame->address, address_of(file, node));
		assert_int_equal(frame->parent, parent_of(node));
		assert_int_equal(frame->depth, (node - 1) % 7 + 1);
	}
}

/* How many are told up to the block's end. */
static uint32_t told_in(const struct asked *asked, size_t block, unsigned file)
{
	return (uint32_t)((blocks_end_ns(asked->blocks, block) - time_of(file, 0)) / EVENT_NS);
}

static void test_parts_of_a_file_share_them(void **state)
{
	struct asked asked;

	(void)state;
	begin(&asked);
	ask(&asked, 1);
	assert_null(trace_shared_frames(asked.part));
	assert_told(asked.tables, 0, told_in(&asked, 1, 0));
	assert_true(asked.tables->frame_count < EVENTS);
	for (size_t block = 1; block <= 2; block++) {
		ask(&asked, block);
		assert_non_null(trace_shared_frames(asked.part));
		assert_told(asked.tables, 0, EVENTS);
	}
	end(&asked);
}

/* As the numbers are others there. */
static void test_a_part_that_reaches_into_the_next_file_does_not(void **state)
{
	struct asked asked;
	size_t last = 0;

	(void)state;
	begin(&asked);
	while (blocks_at(asked.blocks, last + 1)->file == 0)
		last++;
	for (unsigned i = 0; i < 3; i++) {
		ask(&asked, last);
		assert_null(trace_shared_frames(asked.part));
	}
	end(&asked);
}

static void test_each_file_has_its_own(void **state)
{
	struct asked asked;
	size_t last;

	(void)state;
	begin(&asked);
	last = blocks_count(asked.blocks) - 1;
	ask(&asked, 1);
	ask(&asked, 1);
	ask(&asked, last);
	ask(&asked, last);
	assert_non_null(trace_shared_frames(asked.part));
	assert_told(asked.tables, 1, EVENTS);
	ask(&asked, 1);
	assert_told(asked.tables, 0, EVENTS);
	end(&asked);
}

/* What is asked for later does not take them from who has them. */
static void test_they_stay_as_long_as_somebody_has_them(void **state)
{
	struct asked asked;
	struct trace *part;
	struct tables *tables;

	(void)state;
	begin(&asked);
	ask(&asked, 1);
	ask(&asked, 1);
	part = asked.part;
	tables = asked.tables;
	asked.part = NULL;
	asked.tables = NULL;
	end(&asked);
	assert_told(tables, 0, EVENTS);
	tables_free(tables);
	trace_close(part);
}

/* Parents that are not told, are too large or go in a circle end the path. */
static void test_what_cannot_be(void **state)
{
	const struct event_frame told[] = {
		{ .node = 1, .address = 16, .parent = 2 }, { .node = 2, .address = 32, .parent = 1 }, { .node = 3, .address = 48, .parent = 3 },
		{ .node = 4, .address = 64, .parent = 99 }, { .node = 5, .address = 80, .parent = UINT32_MAX }, { .node = 0, .address = 96 },
		{ .node = NODE_NUMBERS, .address = 112 },
	};
	struct frame_table *frames = frame_table_new();

	(void)state;
	for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++) {
		const struct event e = { .type = EVENT_frame, .data = &told[i], .tail = "" };

		frame_table_take(frames, &e);
	}
	frame_table_finish(frames);
	assert_int_equal(frames->count, 6);
	assert_int_equal(frames->items[1].depth + frames->items[2].depth, 3);
	assert_int_equal(frames->items[3].depth, 1);
	assert_int_equal(frames->items[3].parent, 0);
	assert_int_equal(frames->items[4].parent, 0);
	assert_int_equal(frames->items[5].parent, 0);
	frame_table_leave(frames);
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	for (unsigned i = 0; i < FILES; i++)
		write_file(i);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (unsigned i = 0; i < FILES; i++) {
		char path[80];

		snprintf(path, sizeof(path), "%s/argus-%010u.trace", folder, i);
		unlink(path);
	}
	rmdir(folder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts_of_a_file_share_them), cmocka_unit_test(test_a_part_that_reaches_into_the_next_file_does_not),
		cmocka_unit_test(test_each_file_has_its_own), cmocka_unit_test(test_they_stay_as_long_as_somebody_has_them),
		cmocka_unit_test(test_what_cannot_be),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
