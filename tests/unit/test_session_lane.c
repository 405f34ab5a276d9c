/* A thread's time cut to what a picture has room for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "session/lane.h"

#define SPANS 1000u

/* Thread 1 runs for 1 and waits for 3 in turn, from 100 on; once it waits for 5000. */
static struct span spans[SPANS + 1];
static struct scene_thread threads[2] = { { 0 }, { .spans = spans, .span_count = SPANS } };
static struct scene scene = { .threads = threads, .thread_count = 2, .start_ns = 0 };

static int set_up(void **state)
{
	uint64_t at = 100;

	(void)state;
	for (uint32_t i = 0; i < SPANS; i++) {
		spans[i] = (struct span){ .start_ns = at, .state = i % 2 ? SPAN_WAITING : SPAN_RUNNING, .place = i % 2 ? i : 0 };
		at += i == 501 ? 5000 : i % 2 ? 3 : 1;
	}
	spans[SPANS].start_ns = scene.end_ns = at;
	return 0;
}

static uint64_t cell_end(const struct lane_cells *cells, size_t i, uint64_t to)
{
	return i + 1 < cells->length ? cells->items[i + 1].start_ns : to;
}

static void check_gapless(const struct lane_cells *cells, uint64_t from, uint64_t to)
{
	assert_true(cells->length > 0);
	assert_int_equal(cells->items[0].start_ns, from);
	for (size_t i = 0; i < cells->length; i++)
		assert_true(cells->items[i].start_ns < cell_end(cells, i, to));
}

static void test_few_spans_stay_as_they_are(void **state)
{
	struct lane_cells cells = { 0 };

	(void)state;
	lane_add(&scene, 1, 101, 109, 100, &cells);
	assert_int_equal(cells.length, 4);
	check_gapless(&cells, 101, 109);
	assert_int_equal(cells.items[0].state, LANE_WAITING);
	assert_int_equal(cells.items[0].wait, 1);
	assert_int_equal(cells.items[1].state, LANE_RUNNING);
	assert_int_equal(cells.items[1].start_ns, 104);
	vec_done(&cells);
}

static void test_many_are_mixed_and_long_ones_stay(void **state)
{
	struct lane_cells cells = { 0 };
	double running = 0;
	unsigned whole = 0;

	(void)state;
	lane_add(&scene, 1, 0, scene.end_ns, 50, &cells);
	assert_true(cells.length <= 55);
	check_gapless(&cells, 100, scene.end_ns);
	for (size_t i = 0; i < cells.length; i++) {
		const struct lane_cell *cell = &cells.items[i];
		uint64_t ns = cell_end(&cells, i, scene.end_ns) - cell->start_ns;

		whole += ns == 5000 && cell->state == LANE_WAITING;
		if (cell->state == LANE_MIXED)
			running += (double)ns * cell->running / 100;
	}
	assert_int_equal(whole, 1);
	assert_true(running > 475 && running < 525); /* 500 in truth */
	vec_done(&cells);
}

static void test_outside_there_is_nothing(void **state)
{
	struct lane_cells cells = { 0 };

	(void)state;
	lane_add(&scene, 1, 0, 50, 50, &cells);
	lane_add(&scene, 1, scene.end_ns, scene.end_ns + 10, 50, &cells);
	lane_add(&scene, 1, 200, 200, 50, &cells);
	lane_add(&scene, 0, 0, scene.end_ns, 50, &cells);
	assert_int_equal(cells.length, 0);
	vec_done(&cells);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few_spans_stay_as_they_are),
		cmocka_unit_test(test_many_are_mixed_and_long_ones_stay),
		cmocka_unit_test(test_outside_there_is_nothing),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
