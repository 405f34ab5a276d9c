/* src/trace/column_put.c and encode.c: what a column held in the chunk before
 * decides how it is coded. Columns whose values change their kind from chunk to
 * chunk come back as they were, and cost what they should soon after; so do events
 * that come late, by a little or by much. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "random_events.h"
#include "trace/encode.h"
#include "trace/trace.h"
#include "trace/writer.h"

#define CHUNKS 60u
#define EVENTS (CHUNKS * ENCODE_COUNT_LIMIT)

struct made {
	struct record head;
	struct event_syscall call;
};

static struct made *made;
static char path[] = "/tmp/argus-column-put-XXXXXX";

/* Values of one kind, of which there are eight. */
static uint64_t value_of(unsigned kind, unsigned i)
{
	switch (kind % 8) {
	case 0:
		return 77;
	case 1:
		return random_u64() % 200;
	case 2:
		return 0x7f0000000000u + (random_u64() % 100 << 20);
	case 3:
		return random_u64() % 3000 * 0x10001;
	case 4:
		return random_u64() & 0xffff;
	case 5:
		return (uint64_t)i * 1000003;
	case 6:
		return random_u64() % 100 ? random_u64() % 300 : random_u64() >> 20;
	default:
		return random_u64();
	}
}

/* `by`: events of one kind behind the other. */
static void make(unsigned by)
{
	for (unsigned i = 0; i < EVENTS; i++) {
		unsigned kind = i / by;

		made[i].head = (struct record){ 1000 + 10 * (uint64_t)i, 5, EVENT_syscall, sizeof(made[i]) };
		made[i].call = (struct event_syscall){
			.object = value_of(kind, i), .arg0 = value_of(kind + 1, i), .arg1 = value_of(kind / 8, i),
			.duration_ns = value_of(kind * 3, i), .result = (int64_t)value_of(kind * 5, i),
			.number = (uint16_t)value_of(kind / 3, i),
		};
	}
}

static uint64_t write_made(void)
{
	struct writer_options options = { .cpus = 1 };
	struct writer *writer;
	struct stat status;

	assert_int_equal(writer_create(path, false, &options, &writer, NULL), 0);
	for (unsigned at = 0; at < EVENTS;) {
		unsigned n = 1 + (unsigned)(random_u64() % 3000);

		n = n > EVENTS - at ? EVENTS - at : n;
		assert_int_equal(writer_add(writer, 0, made + at, n * sizeof(made[0]), NULL), 0);
		at += n;
	}
	assert_int_equal(writer_events(writer), EVENTS);
	assert_int_equal(writer_close(writer, NULL), 0);
	assert_int_equal(stat(path, &status), 0);
	return (uint64_t)status.st_size;
}

static int by_time(const void *a, const void *b)
{
	const struct made *x = a, *y = b;

	return (x->head.time_ns > y->head.time_ns) - (x->head.time_ns < y->head.time_ns);
}

static void check_made(void)
{
	struct trace_cursor *cursor;
	struct trace *trace;

	assert_int_equal(trace_open(path, &trace, NULL), 0);
	cursor = trace_cursor_new(trace, NULL);
	for (unsigned i = 0; i < EVENTS; i++) {
		const struct event *e = trace_cursor_next(cursor);

		assert_non_null(e);
		assert_int_equal(e->time, made[i].head.time_ns);
		assert_int_equal(e->tid, made[i].head.tid);
		assert_memory_equal(e->data, &made[i].call, sizeof(made[i].call));
	}
	assert_null(trace_cursor_next(cursor));
	assert_int_equal(trace_cursor_damaged(cursor), 0);
	trace_cursor_free(cursor);
	trace_close(trace);
}

static void columns_that_change_their_kind_come_back(void **state)
{
	(void)state;
	make(ENCODE_COUNT_LIMIT);
	write_made();
	check_made();
	make(ENCODE_COUNT_LIMIT / 3);
	write_made();
	check_made();
	make(20 * ENCODE_COUNT_LIMIT);
	write_made();
	check_made();
}

/* Noise at first, then few values: sixteen chunks later at most they cost little. */
static void a_column_that_becomes_simple_costs_little(void **state)
{
	uint64_t noisy, bytes;

	(void)state;
	make(2 * EVENTS);
	for (unsigned i = 0; i < EVENTS; i++)
		made[i].call.object = i < 2 * ENCODE_COUNT_LIMIT ? random_u64() : random_u64() % 2 * 0x123456789abcdefu;
	bytes = write_made();
	check_made();
	noisy = 8ull * 18 * ENCODE_COUNT_LIMIT; /* the column's bytes while it is not looked into */
	assert_true(bytes < noisy + (uint64_t)EVENTS * 4);
}

static void late_events_are_put_in_their_places(void **state)
{
	(void)state;
	make(ENCODE_COUNT_LIMIT);
	for (unsigned i = 1; i < EVENTS; i++)
		if (random_u64() % 500 == 0) {
			struct made swap = made[i];

			made[i] = made[i - 1];
			made[i - 1] = swap;
		}
	write_made();
	qsort(made, EVENTS, sizeof(made[0]), by_time);
	check_made();
}

static void a_disorder_is_sorted(void **state)
{
	(void)state;
	make(ENCODE_COUNT_LIMIT);
	for (unsigned i = 0; i < EVENTS; i++)
		made[i].head.time_ns = 1000 + 16 * (i / 4096 * 4096 + (i % 4096 * 2741) % 4096);
	write_made();
	qsort(made, EVENTS, sizeof(made[0]), by_time);
	check_made();
}

static int setup(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	made = calloc(EVENTS, sizeof(*made));
	return fd < 0 || close(fd) || !made;
}

static int teardown(void **state)
{
	(void)state;
	free(made);
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_that_change_their_kind_come_back),
		cmocka_unit_test(a_column_that_becomes_simple_costs_little),
		cmocka_unit_test(late_events_are_put_in_their_places),
		cmocka_unit_test(a_disorder_is_sorted),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
