/* src/diagnose/side.c: threads and places of one trace found again in another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "scene_of_text.h"

static const char now_text[] =
	"1 [0] 10 task pid=10 flags=leader \"app\" \"/opt/app\" \"app --fast /tmp/a\"\n"
	"1 [0] 11 task pid=10 \"worker-1\" \"/opt/app\"\n"
	"1 [0] 12 task pid=10 \"worker-2\" \"/opt/app\"\n"
	"1 [0] 13 task pid=10 \"logger\" \"/opt/app\"\n"
	"1 [0] 20 task pid=20 flags=leader \"other\" \"/opt/other\" \"other\"\n"
	"1 0 module module=1 \"/opt/app\" \"\"\n"
	"1 0 frame node=1 parent=0 module=1 address=0x1010\n"
	"1 0 frame node=2 parent=1 module=1 address=0x2010\n"
	"1 0 frame node=3 parent=0 module=1 address=0x2010\n"
	"1.0 [0] 0 switch next=10\n"
	"1.5 [0] 10 switch next=0 state=dead wait=exit\n";

/* Another run, in which the numbers are others and the threads came in another order. */
static const char base_text[] =
	"1 [0] 50 task pid=50 flags=leader \"other\" \"/opt/other\" \"other\"\n"
	"1 [0] 60 task pid=60 flags=leader \"app\" \"/opt/app\" \"app --fast /tmp/b\"\n"
	"1 [0] 61 task pid=60 \"logger\" \"/opt/app\"\n"
	"1 [0] 62 task pid=60 \"worker-7\" \"/opt/app\"\n"
	"1 [0] 63 task pid=60 \"worker-8\" \"/opt/app\"\n"
	"1 0 module module=3 \"/usr/bin/app\" \"\"\n"
	"1 0 frame node=7 parent=0 module=3 address=0x1010\n"
	"1 0 frame node=8 parent=7 module=3 address=0x2010\n"
	"1.0 [0] 0 switch next=60\n"
	"1.5 [0] 60 switch next=0 state=dead wait=exit\n";

static int open_both(void **state)
{
	*state = scenes_of_text_open(now_text, base_text);
	return 0;
}

static int close_both(void **state)
{
	scenes_of_text_close(*state);
	return 0;
}

static uint32_t counterpart(struct scenes_of_text *b, uint32_t tid)
{
	uint32_t found = side_counterpart(&b->now.side, scene_of_text_thread(&b->now, tid), &b->base.side, 0, 0);

	return found ? scene_tid(b->base.scene, found) : 0;
}

static void finds_the_counterparts(void **state)
{
	struct scenes_of_text *b = *state;

	assert_int_equal(counterpart(b, 10), 60);
	assert_int_equal(counterpart(b, 20), 50);
	assert_int_equal(counterpart(b, 13), 61);
	/* Numbers in names do not count, the place among its like does. */
	assert_int_equal(counterpart(b, 11), 62);
	assert_int_equal(counterpart(b, 12), 63);
}

static void another_program_is_none(void **state)
{
	struct scenes_of_text *b = *state;
	uint32_t app = scene_of_text_thread(&b->now, 10), other = scene_of_text_thread(&b->base, 50);

	assert_int_equal(side_match(&b->now.side, app, &b->base.side, other), 0);
	/* A process's first thread is nobody else's counterpart. */
	assert_int_equal(side_match(&b->now.side, app, &b->base.side, scene_of_text_thread(&b->base, 62)), 0);
	assert_int_equal(side_match(&b->now.side, app, &b->now.side, app), SIDE_MATCH_SELF);
}

static void the_best_come_first(void **state)
{
	struct scenes_of_text *b = *state;
	struct counterpart found[8];
	unsigned count = side_counterparts(&b->now.side, scene_of_text_thread(&b->now, 12), &b->now.side, found, 8);

	assert_int_equal(count, 2);
	assert_int_equal(scene_tid(b->now.scene, found[0].thread), 12);
	assert_int_equal(found[0].match, SIDE_MATCH_SELF);
	assert_int_equal(scene_tid(b->now.scene, found[1].thread), 11);
	assert_int_equal(side_counterparts(&b->now.side, scene_of_text_thread(&b->now, 12), &b->now.side, found, 1), 1);
}

/* The same addresses in a file of the same name are the same place, whatever the
 * numbers of modules and nodes; who called it counts. */
static void places_hold_in_the_other_trace(void **state)
{
	struct scenes_of_text *b = *state;

	assert_true(side_stack_place(&b->now.side, 2) == side_stack_place(&b->base.side, 8));
	assert_true(side_stack_place(&b->now.side, 2) != side_stack_place(&b->now.side, 3));
	assert_true(side_stack_place(&b->now.side, 1) != side_stack_place(&b->now.side, 2));
	assert_int_equal(side_stack_place(&b->now.side, 0), 0);
	assert_int_equal(side_stack_place(&b->now.side, 4000000), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_counterparts),
		cmocka_unit_test(another_program_is_none),
		cmocka_unit_test(the_best_come_first),
		cmocka_unit_test(places_hold_in_the_other_trace),
	};
	return cmocka_run_group_tests(tests, open_both, close_both);
}
