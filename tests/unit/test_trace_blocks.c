/* Blocks and their index: what stands is the same from the index as from the events; an
 * index that is cut, changed, of another trace or not the user's to believe costs nothing
 * but the time to find it out again. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/blocks.h"
#include "trace/tables.h"
#include "trace/writer.h"

#define EVENTS 3000u

static char folder[] = "/tmp/argus-test-XXXXXX";
static char path[64], index_path[80];

/* A stack that is told as the trace ends. */
static void put_frame(struct writer *writer, uint64_t time)
{
	struct event_frame frame = { .node = 1, .address = 0x1000 };
	struct event e = { .time = time, .type = EVENT_frame, .data = &frame, .tail = "" };
	struct err err = { 0 };

	if (writer_add_event(writer, &e, &err))
		fail_msg("%s", err.text);
}

/* A file with code, told as the trace begins: three texts. */
static void put_module(struct writer *writer, uint64_t time)
{
	struct event_module module = { .module = 1 };
	struct event e = { .time = time, .type = EVENT_module, .data = &module, .tail = "/bin/x\0abcdef\0" "0 1 2", .tail_length = 19 };
	struct err err = { 0 };

	if (writer_add_event(writer, &e, &err))
		fail_msg("%s", err.text);
}

/* Switches up to a number, between one and the next so many system calls. */
static void write_file(const char *name, struct writer_options options, unsigned first, unsigned events, unsigned calls)
{
	struct writer *writer;
	struct err err = { 0 };

	options.cpus = options.processors + 1;
	if (writer_create(name, false, &options, &writer, &err))
		fail_msg("%s", err.text);
	put_module(writer, 999 + first * 100ull);
	for (unsigned i = first; i < events; i++) {
		struct event_switch s = { .next = 10 + (i + 1) % 7, .state = i % 3 ? TASK_STATE_sleeping : TASK_STATE_running, .object = i };
		struct event e = { .time = 1000 + i * 100ull, .tid = 10 + i % 7, .type = EVENT_switch, .data = &s, .tail = "" };

		if (writer_add_event(writer, &e, &err))
			fail_msg("%s", err.text);
		for (unsigned k = 0; k < calls; k++) {
			struct event_syscall call = { .number = 24, .duration_ns = 1 };
			struct event c = { .time = e.time + k + 1, .tid = s.next, .type = EVENT_syscall, .data = &call, .tail = "" };

			if (writer_add_event(writer, &c, &err))
				fail_msg("%s", err.text);
		}
	}
	put_frame(writer, 1000 + events * 100ull);
	/* of the stream behind the processors': what was lost since the recording's beginning */
	if (options.processors && writer_add_gap(writer, options.processors, 1000, 1000 + events * 100ull, 9, GAP_REASON_nested, &err))
		fail_msg("%s", err.text);
	if (writer_close(writer, &err))
		fail_msg("%s", err.text);
}

static void write_calls(unsigned events, unsigned calls)
{
	write_file(path, (struct writer_options){ 0 }, 0, events, calls);
}

static void write_trace(unsigned events)
{
	write_calls(events, 0);
}

static struct blocks *open_blocks_of(const char *name, struct trace **ret_trace)
{
	const struct blocks_options options = { .weight = 500 };
	struct blocks *blocks = NULL;
	struct err err = { 0 };

	if (trace_open(name, ret_trace, &err) || blocks_open(*ret_trace, &options, &blocks, &err))
		fail_msg("%s", err.text);
	return blocks;
}

static struct blocks *open_blocks(struct trace **ret_trace)
{
	return open_blocks_of(path, ret_trace);
}

static unsigned known(const struct blocks *blocks)
{
	unsigned count = 0;

	for (size_t i = 1; i < blocks_count(blocks); i++)
		count += blocks_at(blocks, i)->known;
	return count;
}

/* A number that differs when anything of what stands does. */
static uint64_t stands(struct blocks *blocks)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < blocks_count(blocks); i++) {
		struct standing_events events;
		struct arena arena;
		struct err err = { 0 };

		arena_init(&arena);
		if (blocks_standing(blocks, i, &arena, &events, &err))
			fail_msg("%s", err.text);
		for (uint32_t k = 0; k < events.count; k++)
			sum = sum * 31 + events.events[k].number + events.events[k].time * 7 + event_as(&events.events[k], switch)->object;
		sum = sum * 17 + events.count;
		arena_done(&arena);
	}
	return sum;
}

static uint64_t ask(unsigned *ret_known)
{
	struct trace *trace;
	struct blocks *blocks = open_blocks(&trace);
	uint64_t sum;

	*ret_known = known(blocks);
	sum = stands(blocks);
	blocks_close(blocks);
	trace_close(trace);
	return sum;
}

static long index_bytes(void)
{
	struct stat st;

	return stat(index_path, &st) ? -1 : (long)st.st_size;
}

static void test_the_index_tells_the_same(void **state)
{
	unsigned before, after;
	uint64_t first;

	(void)state;
	unlink(index_path);
	first = ask(&before);
	assert_int_equal(before, 0);
	assert_int_equal(ask(&after), first);
	assert_int_equal(after, 5);
}

/* What the trace told before a part is told in it, whole. */
static void test_a_part_knows_modules(void **state)
{
	struct trace *trace, *part;
	struct blocks *blocks = open_blocks(&trace);
	struct tables *tables = NULL;
	struct arena arena;
	struct err err = { 0 };
	size_t last = blocks_count(blocks) - 1;

	(void)state;
	assert_true(last > 1);
	arena_init(&arena);
	if (blocks_part(blocks, last, last, blocks_end_ns(blocks, last), &arena, &part, &err) || tables_build(part, &tables, &err))
		fail_msg("%s", err.text);
	assert_int_equal(tables->module_count, 2);
	assert_string_equal(tables->modules[1].path, "/bin/x");
	assert_string_equal(tables->modules[1].build_id, "abcdef");
	assert_string_equal(tables->modules[1].code, "0 1 2");
	tables_free(tables);
	trace_close(part);
	arena_done(&arena);
	blocks_close(blocks);
	trace_close(trace);
}

/* A block is what takes so much to lay out: of system calls, which are no rows, a sixteenth counts. */
static void test_calls_weigh_little(void **state)
{
	struct blocks *blocks;
	struct trace *trace;
	size_t plain, dense;

	(void)state;
	unlink(index_path);
	blocks = open_blocks(&trace);
	plain = blocks_count(blocks);
	blocks_close(blocks);
	trace_close(trace);
	write_calls(EVENTS, 16);
	unlink(index_path);
	blocks = open_blocks(&trace);
	dense = blocks_count(blocks);
	assert_int_equal(trace_summary(trace)->counts[EVENT_syscall], EVENTS * 16);
	assert_in_range(trace_summary(trace)->weight, EVENTS * 2 - 50, EVENTS * 2 + 10);
	blocks_close(blocks);
	trace_close(trace);
	write_trace(EVENTS);
	unlink(index_path);
	assert_in_range(dense, plain, plain * 3);
}

/* Stacks are told a little behind the events that have them: the parts before know them, too,
 * behind all their own events. */
static void test_stacks_that_are_told_later(void **state)
{
	struct trace_filter filter = { 0 };
	struct trace_cursor *cursor;
	struct trace *trace, *part;
	struct blocks *blocks = open_blocks(&trace);
	const struct event *e;
	struct err err = { 0 };
	struct arena arena;
	unsigned switches = 0, frames = 0;

	(void)state;
	arena_init(&arena);
	if (blocks_part(blocks, 0, 1, blocks_end_ns(blocks, 1), &arena, &part, &err))
		fail_msg("%s", err.text);
	trace_filter_add(&filter, EVENT_switch);
	trace_filter_add(&filter, EVENT_frame);
	cursor = trace_cursor_new(part, &filter);
	while ((e = trace_cursor_next(cursor))) {
		assert_int_equal(frames, 0);
		switches += e->type == EVENT_switch;
		frames += e->type == EVENT_frame;
		assert_true(e->time <= blocks_end_ns(blocks, 1));
	}
	assert_int_equal(frames, 1);
	assert_in_range(switches, 500, EVENTS - 500);
	trace_cursor_free(cursor);
	trace_close(part);
	blocks_close(blocks);
	trace_close(trace);
	arena_done(&arena);
}

/* What each of several threads that ask at once is told. */
struct asker {
	struct blocks *blocks;
	uint64_t sum;
};

static void *ask_all(void *data)
{
	struct asker *asker = data;

	asker->sum = stands(asker->blocks);
	return NULL;
}

/* Who goes back some blocks at a time has what stands at those found in one pass, and at no other. */
static void test_some_are_found_beforehand(void **state)
{
	struct trace *trace;
	struct blocks *blocks;
	struct err err = { 0 };
	unsigned before;
	uint64_t alone;

	(void)state;
	unlink(index_path);
	alone = ask(&before);
	unlink(index_path);
	blocks = open_blocks(&trace);
	assert_int_equal(blocks_count(blocks), 6);
	assert_int_equal(blocks_find_standing(blocks, 4, 2, &err), 0);
	for (size_t i = 1; i < 6; i++)
		assert_int_equal(blocks_at(blocks, i)->known, i == 2 || i == 4);
	assert_int_equal(blocks_find_standing(blocks, 5, 3, &err), 0);
	assert_int_equal(known(blocks), 3);
	assert_int_equal(stands(blocks), alone);
	blocks_close(blocks);
	trace_close(trace);
}

static void test_several_ask_at_once(void **state)
{
	struct asker askers[4];
	pthread_t threads[4];
	struct trace *trace;
	struct blocks *blocks;
	unsigned before;
	uint64_t alone;

	(void)state;
	unlink(index_path);
	alone = ask(&before);
	for (unsigned round = 0; round < 20; round++) {
		unlink(index_path);
		blocks = open_blocks(&trace);
		for (unsigned i = 0; i < 4; i++) {
			askers[i].blocks = blocks;
			assert_int_equal(pthread_create(&threads[i], NULL, ask_all, &askers[i]), 0);
		}
		for (unsigned i = 0; i < 4; i++) {
			pthread_join(threads[i], NULL);
			assert_int_equal(askers[i].sum, alone);
		}
		blocks_close(blocks);
		trace_close(trace);
	}
	ask(&before);
	assert_int_equal(before, 5);
}

static void test_notes_are_kept(void **state)
{
	struct trace *trace;
	struct blocks *blocks;
	size_t size = 0;

	(void)state;
	unlink(index_path);
	blocks = open_blocks(&trace);
	blocks_note(blocks, 2, 7, "old", 3);
	blocks_note(blocks, 2, 7, "newer", 5);
	blocks_close(blocks);
	trace_close(trace);
	blocks = open_blocks(&trace);
	assert_memory_equal(blocks_noted(blocks, 2, 7, &size), "newer", 5);
	assert_int_equal(size, 5);
	assert_null(blocks_noted(blocks, 2, 8, &size));
	assert_null(blocks_noted(blocks, 1, 7, &size));
	blocks_close(blocks);
	trace_close(trace);
}

/* What is large is packed, and told as it was noted, before and after it was written. */
static void test_a_large_note(void **state)
{
	unsigned char large[20000];
	struct trace *trace;
	struct blocks *blocks;
	size_t size = 0;

	(void)state;
	for (unsigned i = 0; i < sizeof(large); i++)
		large[i] = (unsigned char)(i / 100);
	unlink(index_path);
	blocks = open_blocks(&trace);
	blocks_note(blocks, 1, 9, large, sizeof(large));
	for (unsigned time = 0; time < 2; time++) {
		assert_memory_equal(blocks_noted(blocks, 1, 9, &size), large, sizeof(large));
		assert_int_equal(size, sizeof(large));
		blocks_close(blocks);
		trace_close(trace);
		assert_in_range(index_bytes(), 1, 4000);
		blocks = open_blocks(&trace);
	}
	blocks_close(blocks);
	trace_close(trace);
}

static void test_damage_costs_nothing_but_time(void **state)
{
	unsigned count;
	uint64_t first;
	long bytes;

	(void)state;
	unlink(index_path);
	first = ask(&count);
	bytes = index_bytes();
	for (long at = 0; at < bytes; at += 13) {
		FILE *file = fopen(index_path, "r+");
		int byte;

		fseek(file, at, SEEK_SET);
		byte = fgetc(file);
		fseek(file, at, SEEK_SET);
		fputc(byte ^ 0x41, file);
		fclose(file);
		assert_int_equal(ask(&count), first);
		unlink(index_path);
		ask(&count);
	}
	for (long length = 0; length < bytes; length += 37) {
		assert_int_equal(truncate(index_path, length), 0);
		assert_int_equal(ask(&count), first);
		unlink(index_path);
		ask(&count);
	}
}

static void test_another_trace_of_the_name(void **state)
{
	unsigned count;

	(void)state;
	unlink(index_path);
	ask(&count);
	write_trace(EVENTS + 700);
	ask(&count);
	assert_int_equal(count, 0);
	ask(&count);
	assert_int_equal(count, 6);
	write_trace(EVENTS);
}

static void test_what_is_not_to_be_believed(void **state)
{
	char other[80];
	unsigned count;

	(void)state;
	unlink(index_path);
	ask(&count);
	chmod(index_path, 0666);
	ask(&count);
	assert_int_equal(count, 0);
	chmod(index_path, 0600);
	ask(&count);
	assert_int_equal(count, 5);
	snprintf(other, sizeof(other), "%s/other", folder);
	rename(index_path, other);
	assert_int_equal(symlink(other, index_path), 0);
	ask(&count);
	assert_int_equal(count, 0);
	unlink(index_path);
	unlink(other);
	assert_int_equal(mkfifo(index_path, 0600), 0);
	ask(&count);
	assert_int_equal(count, 0);
	unlink(index_path);
}

/* Somebody else writes it just now, or never lets go of it: nobody waits for that. */
static void test_a_lock_keeps_nobody_waiting(void **state)
{
	unsigned count;
	int fd;

	(void)state;
	unlink(index_path);
	fd = open(index_path, O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	alarm(60);
	ask(&count);
	assert_int_equal(count, 0);
	ask(&count);
	assert_int_equal(count, 0);
	alarm(0);
	close(fd);
	ask(&count);
	ask(&count);
	assert_int_equal(count, 5);
	unlink(index_path);
}

/* As the oldest file of a ring does: what is open is read to its end, nothing is left behind. */
static void test_a_file_that_goes_while_it_is_read(void **state)
{
	struct trace *trace;
	struct blocks *blocks;
	unsigned count;
	uint64_t sum;

	(void)state;
	unlink(index_path);
	sum = ask(&count);
	unlink(index_path);
	blocks = open_blocks(&trace);
	unlink(path);
	assert_int_equal(stands(blocks), sum);
	blocks_close(blocks);
	trace_close(trace);
	assert_int_equal(index_bytes(), -1);
	write_trace(EVENTS);
}

static uint32_t count_standing(struct blocks *blocks, size_t i)
{
	struct standing_events events;
	struct arena arena;
	struct err err = { 0 };

	arena_init(&arena);
	if (blocks_standing(blocks, i, &arena, &events, &err))
		fail_msg("%s", err.text);
	arena_done(&arena);
	return events.count;
}

/* One question about a moment far on in a ring reads no more than the file of that moment, and writes nothing. */
static void test_from_the_head_of_a_file(void **state)
{
	const unsigned old = 100000, all = 120000;
	char ring[80], files[2][100];
	struct trace *trace;
	struct blocks *blocks;
	size_t last, head;

	(void)state;
	snprintf(ring, sizeof(ring), "%s/ring", folder);
	assert_int_equal(mkdir(ring, 0700), 0);
	for (unsigned i = 0; i < 2; i++) {
		snprintf(files[i], sizeof(files[i]), "%s/%u.argus", ring, i + 1);
		write_file(files[i], (struct writer_options){ .recording = 5, .sequence = i + 1 }, i ? old : 0, i ? all : old, 0);
	}
	blocks = open_blocks_of(ring, &trace);
	last = blocks_count(blocks) - 1;
	for (head = last; head && blocks_at(blocks, head - 1)->file == blocks_at(blocks, last)->file; head--)
		;
	assert_in_range(head, 130, last - 2);
	assert_false(blocks_begin_at_head(blocks, 100)); /* that is near enough */
	assert_true(blocks_begin_at_head(blocks, last));
	assert_int_equal(count_standing(blocks, head), 0);
	assert_in_range(count_standing(blocks, last), 1, 20);
	for (size_t i = 1; i <= head; i++)
		assert_false(blocks_at(blocks, i)->known);
	assert_int_equal(known(blocks), last - head);
	blocks_close(blocks);
	trace_close(trace);
	blocks = open_blocks_of(ring, &trace);
	assert_int_equal(known(blocks), 0);
	assert_in_range(count_standing(blocks, head), 1, 20);
	/* it is known now: nothing is far */
	assert_false(blocks_begin_at_head(blocks, last));
	blocks_keep_to_itself(blocks);
	blocks_close(blocks);
	trace_close(trace);
	unlink(files[0]);
	unlink(files[1]);
	assert_int_equal(rmdir(ring), 0);
}

/* A loss that the last file tells of the whole recording does not begin that file: all others have their blocks. */
static void test_a_loss_of_the_whole_ring(void **state)
{
	const unsigned each = 20000, count = 3;
	char ring[80], files[3][100];
	struct trace *trace;
	struct blocks *blocks;
	unsigned of[3] = { 0 };

	(void)state;
	snprintf(ring, sizeof(ring), "%s/lost", folder);
	assert_int_equal(mkdir(ring, 0700), 0);
	for (unsigned i = 0; i < count; i++) {
		struct writer_options options = { .recording = 6, .sequence = i + 1, .floor_ns = i ? 1000 + i * each * 100ull : 0,
						  .processors = i + 1 == count };

		snprintf(files[i], sizeof(files[i]), "%s/%u.argus", ring, i + 1);
		write_file(files[i], options, i * each, (i + 1) * each, 0);
	}
	blocks = open_blocks_of(ring, &trace);
	for (size_t i = 0; i < blocks_count(blocks); i++)
		of[blocks_at(blocks, i)->file]++;
	for (unsigned i = 0; i < count; i++)
		assert_in_range(of[i], each / 500 / 2, each / 500 + 2);
	blocks_keep_to_itself(blocks);
	blocks_close(blocks);
	trace_close(trace);
	for (unsigned i = 0; i < count; i++)
		unlink(files[i]);
	assert_int_equal(rmdir(ring), 0);
}

/* What is written is not kept in memory: it tells the same from the file, and where that was damaged meanwhile, too. */
static void test_what_is_written_is_read_there(void **state)
{
	struct trace *trace;
	struct blocks *blocks;
	struct err err = { 0 };
	const char zeros[64] = { 0 };
	uint64_t first;
	int fd;

	(void)state;
	unlink(index_path);
	blocks = open_blocks(&trace);
	first = stands(blocks);
	assert_int_equal(blocks_save(blocks, &err), 0);
	assert_int_equal(stands(blocks), first);
	fd = open(index_path, O_WRONLY);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, zeros, sizeof(zeros), index_bytes() - (long)sizeof(zeros)), sizeof(zeros));
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0); /* nobody holds it */
	close(fd);
	assert_int_equal(stands(blocks), first);
	blocks_close(blocks);
	trace_close(trace);
	unlink(index_path);
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/trace", folder);
	snprintf(index_path, sizeof(index_path), "%s.index", path);
	write_trace(EVENTS);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(index_path);
	unlink(path);
	rmdir(folder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_index_tells_the_same), cmocka_unit_test(test_several_ask_at_once),
		cmocka_unit_test(test_some_are_found_beforehand),
		cmocka_unit_test(test_notes_are_kept), cmocka_unit_test(test_a_part_knows_modules),
		cmocka_unit_test(test_calls_weigh_little),
		cmocka_unit_test(test_stacks_that_are_told_later),
		cmocka_unit_test(test_a_large_note), cmocka_unit_test(test_damage_costs_nothing_but_time), cmocka_unit_test(test_another_trace_of_the_name),
		cmocka_unit_test(test_what_is_not_to_be_believed), cmocka_unit_test(test_a_lock_keeps_nobody_waiting),
		cmocka_unit_test(test_a_file_that_goes_while_it_is_read), cmocka_unit_test(test_from_the_head_of_a_file),
		cmocka_unit_test(test_a_loss_of_the_whole_ring), cmocka_unit_test(test_what_is_written_is_read_there),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
