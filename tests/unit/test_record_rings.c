/* src/record/rings.c: what programs leave in a ring comes out whole, in order,
 * over the ring's end; losses become gaps; nonsense does not spread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/rings.h"
#include "ring_files.h"
#include "trace/trace.h"

#define BYTES 4096u

struct fixture {
	struct ring_files files;
	uint64_t time;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct writer_options options = { .cpus = 2 };

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

/* As a program does: takes room, fills it, publishes. */
static void put(struct fixture *f, uint32_t cpu, uint32_t code, bool publish)
{
	struct ring *ring = rings_of(&f->files.rings, cpu);
	struct record *record = (void *)((char *)ring + RING_DATA + (ring->head & (BYTES - 1)));
	struct event_exit exit = { .code = code };

	*record = (struct record){ f->time++, 7, EVENT_exit, sizeof(*record) + sizeof(exit) };
	memcpy(record + 1, &exit, sizeof(exit));
	ring->head += record->size;
	if (publish)
		ring->done = ring->head;
}

static int drain(struct fixture *f, bool last, struct err *err)
{
	return rings_drain(&f->files.rings, f->files.writer, last, err);
}

static void keeps_order_over_the_end(void **state)
{
	struct fixture *f = *state;
	struct trace *trace;
	struct trace_cursor *cursor;
	uint32_t code = 0, seen = 0;

	/* 24 bytes do not divide the ring: records reach into the slack */
	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < 100; i++)
			put(f, 0, code++, true);
		assert_int_equal(drain(f, false, NULL), 0);
		assert_int_equal(rings_of(&f->files.rings, 0)->tail, rings_of(&f->files.rings, 0)->head);
	}
	assert_int_equal(writer_close(f->files.writer, NULL), 0);
	assert_int_equal(trace_open(f->files.path, &trace, NULL), 0);
	cursor = trace_cursor_new(trace, NULL);
	for (const struct event *e; (e = trace_cursor_next(cursor));)
		if (e->type == EVENT_exit)
			assert_int_equal(event_as(e, exit)->code, seen++);
	assert_int_equal(seen, code);
	trace_cursor_free(cursor);
	trace_close(trace);
}

static void leaves_what_is_not_published(void **state)
{
	struct fixture *f = *state;
	struct ring *ring = rings_of(&f->files.rings, 1);

	put(f, 1, 1, true);
	put(f, 1, 2, false);
	assert_int_equal(drain(f, false, NULL), 0);
	assert_int_equal(ring->tail, 24);
	/* an interrupt between reading and storing it makes `done` step back */
	ring->done = 0;
	assert_int_equal(drain(f, false, NULL), 0);
	assert_int_equal(ring->tail, 24);
	assert_int_equal(drain(f, true, NULL), 0);
	assert_int_equal(ring->tail, 48);
	assert_int_equal(writer_events(f->files.writer), 2);
	writer_close(f->files.writer, NULL);
}

static void tells_losses(void **state)
{
	struct fixture *f = *state;
	struct ring *ring = rings_of(&f->files.rings, 1);
	const struct trace_summary *summary;
	struct trace *trace;

	put(f, 1, 1, true);
	ring->lost = 5;
	ring->lost_from_ns = 2000;
	ring->lost_to_ns = 2500;
	assert_int_equal(drain(f, false, NULL), 0);
	assert_int_equal(ring->lost_seen, 5);
	assert_int_equal(drain(f, false, NULL), 0);
	assert_int_equal(writer_close(f->files.writer, NULL), 0);
	assert_int_equal(trace_open(f->files.path, &trace, NULL), 0);
	summary = trace_summary(trace);
	assert_int_equal(summary->lost, 5);
	assert_int_equal(summary->gap_count, 1);
	assert_int_equal(summary->gaps[0].cpu, 1);
	assert_int_equal(summary->gaps[0].from_ns, 2000);
	assert_int_equal(summary->gaps[0].to_ns, 2500);
	trace_close(trace);
}

static void refuses_nonsense(void **state)
{
	struct fixture *f = *state;
	struct ring *ring = rings_of(&f->files.rings, 0);
	struct err err = { 0 };

	ring->head = ring->done = BYTES + 64;
	ring->tail = BYTES - 64;
	memset((char *)ring + RING_DATA + BYTES - 64, 0xff, 64);
	assert_int_equal(drain(f, false, &err), -EPROTO);
	assert_non_null(strstr(err.text, "processor 0"));
	writer_close(f->files.writer, NULL);
}

/* A long sleep ends at a part of the ring; a short one does not; what woke the last one is forgotten. */
static void tells_programs_when_to_wake(void **state)
{
	struct fixture *f = *state;
	size_t words = (size_t)sysconf(_SC_PAGESIZE) / sizeof(uint64_t);
	uint64_t large = 64 * RING_RESERVE;

	rings_sleep(&f->files.rings, true); /* nothing that could wake it: stays as it is */
	assert_int_equal(rings_of(&f->files.rings, 0)->limit, 0);
	f->files.rings.wakes = calloc(2 * words, sizeof(uint64_t));
	f->files.rings.wakes[words] = 48;
	f->files.rings.ring_bytes = large;
	rings_sleep(&f->files.rings, true);
	assert_int_equal(f->files.rings.wakes[0], 48);
	assert_int_equal(rings_of(&f->files.rings, 0)->limit, 0); /* closed */
	rings_open(&f->files.rings, true);
	rings_sleep(&f->files.rings, true);
	assert_int_equal(rings_of(&f->files.rings, 0)->limit, large / 8);
	assert_int_equal(rings_of(&f->files.rings, 1)->limit, large / 8);
	rings_sleep(&f->files.rings, false);
	assert_int_equal(rings_of(&f->files.rings, 1)->limit, large - RING_RESERVE);
	rings_open(&f->files.rings, false);
	assert_int_equal(rings_of(&f->files.rings, 1)->limit, 0);
	assert_int_equal(rings_of(&f->files.rings, 1)->open, 0);
	free(f->files.rings.wakes);
	f->files.rings.wakes = NULL;
	f->files.rings.ring_bytes = BYTES;
	writer_close(f->files.writer, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(keeps_order_over_the_end, setup, teardown),
		cmocka_unit_test_setup_teardown(leaves_what_is_not_published, setup, teardown),
		cmocka_unit_test_setup_teardown(tells_losses, setup, teardown),
		cmocka_unit_test_setup_teardown(refuses_nonsense, setup, teardown),
		cmocka_unit_test_setup_teardown(tells_programs_when_to_wake, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
