/* src/trace/file.c, decode.c: what another version wrote is read as far as it is
 * known; the rest is refused or passed over, and counted. */
#include <errno.h>
#include <zstd.h>

#include "trace/crc32c.h"
#include "trace_files.h"

/* Gives the file's event table another name for one event, or one field. */
static void rename_in_head(const char *path, const char *from, const char *to)
{
	size_t size;
	unsigned char *bytes = read_file(path, &size), *at;
	struct file_head head;

	memcpy(&head, bytes, sizeof(head));
	at = memmem(bytes + sizeof(head), head.head_bytes - sizeof(head), from, strlen(from));
	assert_non_null(at);
	memcpy(at, to, strlen(to));
	memset(bytes + offsetof(struct file_head, crc), 0, 4);
	head.crc = crc32c(0, bytes, head.head_bytes);
	memcpy(bytes, &head, sizeof(head));
	write_file(path, bytes, size);
	free(bytes);
}

static void unknown_events_and_fields_are_passed_over(void **state)
{
	const char *path = path_of("unknown");
	struct arena arena = { 0 };
	struct events events = small_events(&arena);
	struct trace_cursor *cursor;
	struct trace *trace;
	const struct event *e;

	(void)state;
	write_events(&events, path, 0);
	rename_in_head(path, "fork", "krof");
	rename_in_head(path, "timeout_ns", "timeout_xy");
	trace = open_good(path);
	assert_int_equal(trace_summary(trace)->unknown_events, 20);
	assert_int_equal(trace_summary(trace)->events, 40);
	cursor = trace_cursor_new(trace, NULL);
	for (size_t i = 0; i < events.length; i++) {
		struct event_switch want;

		if (events.items[i].type == EVENT_fork)
			continue;
		e = trace_cursor_next(cursor);
		assert_int_equal(e->number, i + 1);
		want = *event_as(&events.items[i], switch);
		want.timeout_ns = 0;
		assert_memory_equal(&want, e->data, sizeof(want));
		assert_int_equal(e->tid, events.items[i].tid);
	}
	assert_null(trace_cursor_next(cursor));
	trace_cursor_free(cursor);
	trace_close(trace);
	vec_done(&events);
	arena_done(&arena);
}

/* The first chunk of a file, its payload unpacked and changed at one byte, with
 * good sums; the other chunks follow without an index. */
static void change_first_chunk(const char *path, size_t at, unsigned char value, unsigned flags)
{
	size_t size, to_size;
	unsigned char *bytes = read_file(path, &size), *to, *end;
	struct file_head file;
	struct chunk_head head;

	memcpy(&file, bytes, sizeof(file));
	memcpy(&head, bytes + file.head_bytes, sizeof(head));
	end = bytes + file.head_bytes + head.head_bytes + head.payload_bytes;
	to_size = file.head_bytes + head.head_bytes + head.raw_bytes;
	to = calloc(1, to_size + size);
	assert_non_null(to);
	memcpy(to, bytes, file.head_bytes + head.head_bytes);
	if (head.flags & CHUNK_STORED)
		memcpy(to + to_size - head.raw_bytes, end - head.payload_bytes, head.raw_bytes);
	else
		assert_int_equal(ZSTD_decompress(to + to_size - head.raw_bytes, head.raw_bytes, end - head.payload_bytes, head.payload_bytes),
				 head.raw_bytes);
	assert_true(at < head.raw_bytes);
	to[to_size - head.raw_bytes + at] = value;
	head.payload_bytes = head.raw_bytes;
	head.flags = (uint16_t)(head.flags | CHUNK_STORED | flags);
	head.payload_crc = crc32c(0, to + to_size - head.raw_bytes, head.raw_bytes);
	memcpy(to + file.head_bytes, &head, sizeof(head));
	head.head_crc = crc32c(0, to + file.head_bytes + 12, head.head_bytes - 12);
	memcpy(to + file.head_bytes, &head, sizeof(head));
	memcpy(to + to_size, end, size - (size_t)(end - bytes));
	write_file(path, to, to_size + size - (size_t)(end - bytes) - sizeof(struct file_trailer));
	free(to);
	free(bytes);
}

/* The head's version is changed with its sum, or its table without. */
static void change_head(const char *path, uint32_t version, bool damage)
{
	size_t size;
	unsigned char *bytes = read_file(path, &size);
	struct file_head head;

	memcpy(&head, bytes, sizeof(head));
	head.version = version;
	head.crc = 0;
	memcpy(bytes, &head, sizeof(head));
	head.crc = crc32c(0, bytes, head.head_bytes) ^ damage;
	memcpy(bytes, &head, sizeof(head));
	write_file(path, bytes, size);
	free(bytes);
}

static void chunks_of_unknown_codings_are_passed_over(void **state)
{
	static const struct { unsigned char coding; unsigned flags; bool damaged_head; uint64_t unknown, damaged; } cases[] = {
		{ COLUMN_CODINGS, 0, false, 1, 0 },
		{ 0xff, 0, true, 1, 0 },
		{ COLUMN_ZERO, 4, false, 1, 0 },       /* a flag */
		{ COLUMN_KEYED, 0, false, 0, 1 },      /* not where it may stand */
	};
	struct arena arena = { 0 };
	struct events events = small_events(&arena);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *path = path_of("coding");
		struct trace *trace;
		struct trace_cursor *cursor;
		const struct event *e;
		uint64_t first;

		write_events(&events, path, 20);
		change_first_chunk(path, 0, cases[i].coding, cases[i].flags);
		if (cases[i].damaged_head)
			change_head(path, FORMAT_VERSION, true);
		assert_int_equal(trace_open_checked(path, &trace, NULL), 0);
		assert_int_equal(trace_summary(trace)->unknown_chunks, cases[i].unknown);
		assert_int_equal(trace_summary(trace)->damaged_chunks, cases[i].damaged);
		trace_close(trace);
		trace = open_good(path);
		assert_int_equal(trace_summary(trace)->unknown_chunks, cases[i].damaged_head);
		cursor = trace_cursor_new(trace, NULL);
		e = trace_cursor_next(cursor);
		assert_int_equal(e->type, EVENT_gap);
		assert_int_equal(event_as(e, gap)->reason, cases[i].unknown ? GAP_REASON_unknown : GAP_REASON_damaged);
		first = event_as(e, gap)->lost;
		assert_in_range(first, 1, events.length - 1);
		for (uint64_t number = first; number < events.length; number++) {
			e = trace_cursor_next(cursor);
			assert_int_equal(e->number, number + 1);
			assert_int_equal(e->time, events.items[number].time);
		}
		e = trace_cursor_next(cursor);
		/* without the index it looks like one that was broken off: a gap for each processor but one */
		for (; e; e = trace_cursor_next(cursor)) {
			assert_int_equal(e->type, EVENT_gap);
			assert_int_equal(event_as(e, gap)->reason, GAP_REASON_unwritten);
		}
		assert_null(e);
		assert_int_equal(trace_cursor_unknown(cursor), cases[i].unknown);
		assert_int_equal(trace_cursor_damaged(cursor), cases[i].damaged);
		trace_cursor_free(cursor);
		trace_close(trace);
	}
	vec_done(&events);
	arena_done(&arena);
}

static void newer_formats_are_refused_older_ones_read(void **state)
{
	const char *path = path_of("version");
	struct arena arena = { 0 };
	struct events events = small_events(&arena);
	struct err err = { 0 };
	struct trace *trace;

	(void)state;
	write_events(&events, path, 0);
	change_head(path, 1, false);
	trace = open_good(path);
	assert_int_equal(walk(trace), events.length);
	trace_close(trace);
	change_head(path, FORMAT_VERSION + 1, false);
	assert_int_equal(trace_open(path, &trace, &err), -EPROTONOSUPPORT);
	assert_non_null(strstr(err.text, "newer Argus"));
	vec_done(&events);
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_events_and_fields_are_passed_over),
		cmocka_unit_test(chunks_of_unknown_codings_are_passed_over),
		cmocka_unit_test(newer_formats_are_refused_older_ones_read),
	};
	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
