/* Hangs noted in an index are read as they were written, by the same question alone; what
 * is no such note is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "diagnose/judgement.h"
#include "session/hang_notes.h"
#include "trace/blocks.h"
#include "trace/writer.h"

static char folder[] = "/tmp/argus-test-XXXXXX";
static char path[64];
static struct trace *trace;
static struct blocks *blocks;
static struct arena arena;

static const struct hang_notes_key key = { .block = 0, .to_ns = 5000, .pid = 7 };

static void test_as_written(void **state)
{
	const struct hang hangs[] = {
		{ .start_ns = 1000, .end_ns = 4000, .tid = 8, .pid = 7, .weight = 90, .awaits = 9, .slices = 3, .rule = RULE_lock_kept,
		  .comm = "a name of sixteen", .program = "another name of so" },
		{ .start_ns = 2000, .end_ns = 3000, .tid = 9, .pid = 7, .weight = 1, .rule = RULE_turn, .comm = "" },
	};
	struct hang_notes_key other = key;
	struct hang_note found;

	(void)state;
	assert_false(hang_notes_read(&arena, blocks, &key, &found));
	hang_notes_write(blocks, &key, &(struct hang_note){ .hangs = hangs, .count = 2 });
	assert_true(hang_notes_read(&arena, blocks, &key, &found));
	assert_int_equal(found.count, 2);
	assert_int_equal(found.hangs[0].thread, 8);
	assert_int_equal(found.hangs[0].end_ns, 4000);
	assert_int_equal(found.hangs[0].awaits, 9);
	assert_string_equal(found.hangs[0].comm, "a name of sixte");
	assert_string_equal(found.hangs[0].program, "another name of");
	assert_null(found.hangs[1].program);
	assert_string_equal(hang_reason(&found.hangs[0]), "it waited for a lock");
	other.to_ns++;
	assert_false(hang_notes_read(&arena, blocks, &other, &found));
	other = key;
	other.root_pid = 1;
	assert_false(hang_notes_read(&arena, blocks, &other, &found));
	hang_notes_write(blocks, &key, &(struct hang_note){ .hangs = NULL, .count = 0 });
	assert_true(hang_notes_read(&arena, blocks, &key, &found));
	assert_int_equal(found.count, 0);
}

/* One question follows the other in each command: neither takes the other's note away. */
static void test_of_the_command_and_elsewhere(void **state)
{
	const struct hang hang = { .start_ns = 1000, .end_ns = 4000, .tid = 8, .pid = 7, .rule = RULE_turn, .comm = "c" };
	const struct hang_notes_key command = { .to_ns = 5000, .root_pid = 7 }, elsewhere = { .to_ns = 5000, .root_pid = HANGS_ELSEWHERE };
	struct hang_note found;

	(void)state;
	hang_notes_write(blocks, &command, &(struct hang_note){ .count = 0 });
	hang_notes_write(blocks, &elsewhere, &(struct hang_note){ .hangs = &hang, .count = 1 });
	assert_true(hang_notes_read(&arena, blocks, &command, &found));
	assert_int_equal(found.count, 0);
	assert_true(hang_notes_read(&arena, blocks, &elsewhere, &found));
	assert_int_equal(found.count, 1);
}

/* Each byte wrong in turn, and each length. */
static void test_hostile(void **state)
{
	const struct hang hang = { .start_ns = 1000, .end_ns = 4000, .tid = 8, .pid = 7, .rule = RULE_turn, .comm = "c" };
	const struct hangs_cut cut = { 1, 5, 7, 70, 99, 0 };
	unsigned char good[512], bad[512];
	struct hang_note found;
	size_t size;
	const void *bytes;

	(void)state;
	hang_notes_write(blocks, &key, &(struct hang_note){ .hangs = &hang, .count = 1, .cuts = &cut, .cut_count = 1 });
	bytes = blocks_noted(blocks, 0, 1 + key.pid, &size);
	assert_non_null(bytes);
	assert_true(size <= sizeof(good));
	memcpy(good, bytes, size);
	for (size_t length = 0; length < size; length++) {
		blocks_note(blocks, 0, 1 + key.pid, good, length);
		assert_false(hang_notes_read(&arena, blocks, &key, &found));
	}
	for (size_t i = 0; i < size; i++) {
		memcpy(bad, good, size);
		bad[i] ^= 0xff;
		blocks_note(blocks, 0, 1 + key.pid, bad, size);
		if (!hang_notes_read(&arena, blocks, &key, &found))
			continue;
		assert_true(found.count <= 1 && found.cut_count <= 1);
		if (found.count)
			assert_true(found.hangs->start_ns < found.hangs->end_ns && strlen(found.hangs->comm) <= 16);
	}
}

static void test_cut_waits(void **state)
{
	const struct hangs_cut cuts[] = { { 10, 2000, 7, 70, 99, 0 }, { 20, 3000, 8, 8, 98, 1 } };
	struct hang_note found;

	(void)state;
	hang_notes_write(blocks, &key, &(struct hang_note){ .cuts = cuts, .cut_count = 2 });
	assert_true(hang_notes_read(&arena, blocks, &key, &found));
	assert_int_equal(found.count, 0);
	assert_int_equal(found.cut_count, 2);
	assert_memory_equal(found.cuts, cuts, sizeof(cuts));
}

static int setup(void **state)
{
	const struct writer_options options = { .cpus = 1 };
	const struct blocks_options nowhere = { .no_index = true };
	const struct event_switch out = { .next = 3, .state = TASK_STATE_sleeping };
	const struct event e = { .time = 1000, .tid = 2, .type = EVENT_switch, .data = &out, .tail = "" };
	struct writer *writer;
	struct err err;

	(void)state;
	arena_init(&arena);
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/trace", folder);
	return writer_create(path, false, &options, &writer, &err) || writer_add_event(writer, &e, &err) || writer_close(writer, &err) ||
	       trace_open(path, &trace, &err) || blocks_open(trace, &nowhere, &blocks, &err);
}

static int teardown(void **state)
{
	(void)state;
	blocks_close(blocks);
	trace_close(trace);
	arena_done(&arena);
	unlink(path);
	rmdir(folder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_as_written),
		cmocka_unit_test(test_of_the_command_and_elsewhere), cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_cut_waits) };

	return cmocka_run_group_tests(tests, setup, teardown);
}
