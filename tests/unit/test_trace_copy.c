/* src/trace/copy.c: what a copy has is what the original has from that moment on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "random_events.h"
#include "trace/copy.h"
#include "trace/format.h"

#define CPUS 3
#define EACH 3000u

static char folder[64];

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/argus-test-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

/* A ring of three files with a chunk each hundred events. */
static void write_ring(struct arena *arena, const char *ring)
{
	uint64_t time = 1000;

	assert_int_equal(mkdir(ring, 0700), 0);
	for (unsigned i = 0; i < 3; i++) {
		struct writer_options options = { .cpus = CPUS, .recording = 5, .sequence = i, .floor_ns = i ? time : 0 };
		struct writer *writer;
		char path[128];

		snprintf(path, sizeof(path), "%s/%u.trace", ring, i);
		assert_int_equal(writer_create(path, false, &options, &writer, NULL), 0);
		for (unsigned k = 0; k < EACH; k++) {
			unsigned type;
			struct event e;

			do
				type = random_type();
			while (event_infos[type].categories & META);
			e = random_event(arena, type, time += 1 + random_u64() % 50, CPUS);
			assert_int_equal(writer_add_event(writer, &e, NULL), 0);
			if (k % 100 == 99)
				assert_int_equal(writer_flush(writer, UINT64_MAX, NULL), 0);
		}
		assert_int_equal(writer_close(writer, NULL), 0);
	}
}

static struct trace *copy_from(const struct trace *trace, uint64_t from_ns)
{
	struct writer_options options = { .cpus = CPUS };
	struct writer *writer;
	struct trace *copy;
	char path[128];

	snprintf(path, sizeof(path), "%s/copy.trace", folder);
	unlink(path);
	assert_int_equal(writer_create(path, false, &options, &writer, NULL), 0);
	assert_int_equal(trace_copy(trace, from_ns, writer, NULL), 0);
	assert_int_equal(writer_close(writer, NULL), 0);
	assert_int_equal(trace_open_checked(path, &copy, NULL), 0);
	return copy;
}

static void check_same(const struct trace *trace, const struct trace *copy, uint64_t from_ns)
{
	struct trace_filter filter = { .from_ns = from_ns };
	struct trace_cursor *a = trace_cursor_new(trace, &filter), *b = trace_cursor_new(copy, NULL);
	const struct event *e;
	uint64_t events = 0;

	while ((e = trace_cursor_next(a))) {
		const struct event *same = trace_cursor_next(b);

		assert_non_null(same);
		assert_true(same_event(e, same));
		events++;
	}
	assert_null(trace_cursor_next(b));
	trace_cursor_free(a);
	trace_cursor_free(b);
	assert_int_equal(trace_summary(copy)->events + trace_summary(copy)->state_events, events);
	assert_true(trace_summary(copy)->complete);
}

static void a_copy_has_all_from_a_moment_on(void **state)
{
	struct arena arena = { 0 };
	struct trace *trace, *copy;
	char ring[128];

	(void)state;
	snprintf(ring, sizeof(ring), "%s/ring", folder);
	write_ring(&arena, ring);
	assert_int_equal(trace_open(ring, &trace, NULL), 0);
	for (unsigned round = 0; round < 30; round++) {
		uint64_t length = trace_summary(trace)->end_ns - trace_summary(trace)->start_ns;
		uint64_t from_ns = round ? trace_summary(trace)->start_ns + random_u64() % (length + length / 50) : 0;

		copy = copy_from(trace, from_ns);
		check_same(trace, copy, from_ns);
		assert_int_equal(trace_summary(copy)->gap_count, 0);
		trace_close(copy);
	}
	trace_close(trace);
	arena_done(&arena);
}

/* Flips a bit behind each so many bytes of the ring's middle file. */
static void what_is_damaged_is_a_gap_in_the_copy(void **state)
{
	char ring[128], path[160];
	struct arena arena = { 0 };
	struct trace *trace, *copy;
	struct stat st;
	uint64_t lost;
	int fd;

	(void)state;
	snprintf(ring, sizeof(ring), "%s/damaged", folder);
	write_ring(&arena, ring);
	snprintf(path, sizeof(path), "%s/1.trace", ring);
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	for (off_t at = 20000; at < st.st_size; at += 50001) {
		unsigned char byte;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 1;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	close(fd);
	assert_int_equal(trace_open_checked(ring, &trace, NULL), 0);
	lost = trace_summary(trace)->lost;
	assert_true(lost > 0);
	copy = copy_from(trace, 0);
	assert_int_equal(trace_summary(copy)->lost, lost);
	assert_int_equal(trace_summary(copy)->gap_count, trace_summary(trace)->gap_count);
	assert_int_equal(trace_summary(copy)->events, trace_summary(trace)->events);
	assert_int_equal(trace_summary(copy)->damaged_chunks, 0);
	trace_close(copy);
	trace_close(trace);
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_has_all_from_a_moment_on),
		cmocka_unit_test(what_is_damaged_is_a_gap_in_the_copy),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
