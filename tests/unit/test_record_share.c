/* src/record/share.c: what several threads hand over at once is all in the trace, each
 * processor's in order; who does not begin has its part taken away; one's failure is all's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/share.h"
#include "ring_files.h"
#include "trace/trace.h"

#define BYTES (1u << 20)
#define CPUS 5u
#define ROUNDS 24u
#define THREADS 1000u

struct fixture {
	struct ring_files files;
	struct share share;
	uint64_t time;
	uint32_t codes[CPUS];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct writer_options options = { .cpus = CPUS, .packers = 3 };

	ring_files_make(&f->files, BYTES, &options);
	f->time = 1000;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	ring_files_remove(&f->files);
	free(f);
	return 0;
}

/* As a program does; the thread's number follows from the code. */
static void put(struct fixture *f, uint32_t cpu)
{
	struct ring *ring = rings_of(&f->files.rings, cpu);
	struct record *record = (void *)((char *)ring + RING_DATA + (ring->head & (BYTES - 1)));
	struct event_exit exit = { .code = f->codes[cpu]++ };

	*record = (struct record){ f->time++, 1 + cpu * THREADS + exit.code % THREADS, EVENT_exit, sizeof(*record) + sizeof(exit) };
	memcpy(record + 1, &exit, sizeof(exit));
	ring->head += record->size;
	ring->done = ring->head;
}

static int hand_over(struct fixture *f, bool parallel, struct err *err)
{
	uint64_t bytes = 0, fill = 0;

	rings_look(&f->files.rings, false, &bytes, &fill);
	return share_hand_over(&f->share, f->files.writer, parallel, err);
}

static void check_all(struct fixture *f)
{
	uint32_t seen[CPUS] = { 0 };
	struct trace_cursor *cursor;
	struct trace *trace;

	assert_int_equal(writer_close(f->files.writer, NULL), 0);
	assert_int_equal(trace_open_checked(f->files.path, &trace, NULL), 0);
	assert_int_equal(trace_summary(trace)->gap_count, 0);
	assert_int_equal(trace_summary(trace)->damaged_chunks, 0);
	cursor = trace_cursor_new(trace, NULL);
	for (const struct event *e; (e = trace_cursor_next(cursor));) {
		assert_int_equal(event_as(e, exit)->code, seen[e->cpu]);
		assert_int_equal(e->tid, 1 + e->cpu * THREADS + seen[e->cpu] % THREADS);
		seen[e->cpu]++;
	}
	assert_memory_equal(seen, f->codes, sizeof(seen));
	trace_cursor_free(cursor);
	trace_close(trace);
}

static void several_hand_over_all(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(share_start(&f->share, &f->files.rings, 3, NULL), 0);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t cpu = 0; cpu < CPUS; cpu++)
			for (uint32_t i = 0; i < 1000 * (1 + (round + cpu) % 7); i++)
				put(f, cpu);
		assert_int_equal(hand_over(f, round % 5 != 4, NULL), 0);
		for (uint32_t cpu = 0; cpu < CPUS; cpu++)
			assert_int_equal(rings_of(&f->files.rings, cpu)->tail, rings_of(&f->files.rings, cpu)->head);
	}
	share_stop(&f->share);
	check_all(f);
}

static void takes_over_from_who_does_not_begin(void **state)
{
	struct fixture *f = *state;

	f->share.rings = &f->files.rings;
	f->share.threads = 3;
	f->share.started = 2;
	for (uint32_t i = 1; i < 3; i++)
		sem_init(&f->share.sharers[i].offered, 0, 0); /* and nobody there who would take it */
	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		put(f, cpu);
	assert_int_equal(hand_over(f, true, NULL), 0);
	check_all(f);
}

static void a_failure_is_told(void **state)
{
	struct fixture *f = *state;
	struct ring *ring = rings_of(&f->files.rings, 4);
	struct err err = { 0 };

	assert_int_equal(share_start(&f->share, &f->files.rings, 3, NULL), 0);
	ring->head = ring->done = BYTES + 64;
	ring->tail = BYTES - 64;
	memset((char *)ring + RING_DATA + BYTES - 64, 0xff, 64);
	assert_int_equal(hand_over(f, true, &err), -EPROTO);
	assert_non_null(strstr(err.text, "processor 4"));
	share_stop(&f->share);
	writer_close(f->files.writer, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(several_hand_over_all, setup, teardown),
		cmocka_unit_test_setup_teardown(takes_over_from_who_does_not_begin, setup, teardown),
		cmocka_unit_test_setup_teardown(a_failure_is_told, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
