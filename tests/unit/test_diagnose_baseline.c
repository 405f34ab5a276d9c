/* src/diagnose/similar.c and baseline.c: the same wait when all went well, and who did
 * not do its part this time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "diagnose/baseline.h"
#include "scene_of_text.h"

/* The main thread asks, the source has the worker set to work, which answers. Good: 30 ms. */
static const char good_text[] =
	"1 [0] 30 task pid=30 flags=leader \"app\"\n"
	"1 [0] 31 task pid=30 \"worker\"\n"
	"1 [0] 40 task pid=40 flags=leader \"source\"\n"
	"1.0 [0] 0 switch next=30\n"
	"1.001 [0] 31 waiting state=sleeping wait=futex object=futex:7 syscall=futex\n"
	"1.002 [0] 40 waiting state=sleeping wait=sleep syscall=clock_nanosleep\n"
	"1.1 [0] 30 switch next=0 state=sleeping wait=futex object=futex:8 syscall=futex\n"
	"1.11 [0] 0 wake target=40 context=hardirq cause=timeout\n"
	"1.111 [0] 0 switch next=40\n"
	"1.12 [0] 40 wake target=31 syscall=futex cause=thread object=futex:7\n"
	"1.121 [0] 40 switch next=31 state=sleeping wait=sleep syscall=clock_nanosleep\n"
	"1.13 [0] 31 wake target=30 syscall=futex cause=thread object=futex:8\n"
	"1.131 [0] 31 switch next=30 state=sleeping wait=futex object=futex:7 syscall=futex\n"
	"1.2 [0] 30 switch next=0 state=dead wait=exit\n";

/* The worker is set to work too, and says nothing. */
static const char bad_text[] =
	"1 [0] 10 task pid=10 flags=leader \"app\"\n"
	"1 [0] 11 task pid=10 \"worker\"\n"
	"1 [0] 12 task pid=10 \"logger\"\n"
	"1 [0] 20 task pid=20 flags=leader \"source\"\n"
	"1.0 [0] 0 switch next=10\n"
	"1.001 [0] 11 waiting state=sleeping wait=futex object=futex:2 syscall=futex\n"
	"1.001 [0] 12 waiting state=sleeping wait=futex object=futex:3 syscall=futex\n"
	"1.002 [0] 20 waiting state=sleeping wait=sleep syscall=clock_nanosleep\n"
	"1.1 [0] 10 switch next=0 state=sleeping wait=futex object=futex:1 syscall=futex\n"
	"1.11 [0] 0 wake target=20 context=hardirq cause=timeout\n"
	"1.111 [0] 0 switch next=20\n"
	"1.12 [0] 20 wake target=11 syscall=futex cause=thread object=futex:2\n"
	"1.121 [0] 20 switch next=11 state=sleeping wait=sleep syscall=clock_nanosleep\n"
	"1.131 [0] 11 switch next=0 state=sleeping wait=futex object=futex:2 syscall=futex\n"
	"5 [0] 0 mark \"end\"\n";

static int open_both(void **state)
{
	*state = scenes_of_text_open(bad_text, good_text);
	return 0;
}

static int close_both(void **state)
{
	scenes_of_text_close(*state);
	return 0;
}

static void the_same_wait_is_found(void **state)
{
	struct scenes_of_text *b = *state;
	struct similars similars = { 0 };

	similar_find(&b->now.side, scene_of_text_wait(&b->now, 10), &b->base.side, NULL, &similars);
	assert_true(similars.length >= 1);
	assert_int_equal(scene_tid(b->base.scene, similars.items[0].thread), 30);
	assert_ptr_equal(&b->base.scene->episodes[similars.items[0].episode], scene_of_text_wait(&b->base, 30));
	/* A wait that ended well has nothing to be compared with where all hung. */
	similar_find(&b->now.side, scene_of_text_wait(&b->now, 10), &b->now.side, NULL, &similars);
	assert_int_equal(similars.length, 0);
	vec_done(&similars);
}

static void metrics_narrow_the_search(void **state)
{
	struct scenes_of_text *b = *state;
	struct similar_metrics metrics = { .threshold_ns = 60000000000ull };
	struct similars similars = { 0 };
	const struct episode *good = scene_of_text_wait(&b->base, 30);

	/* From the good one's side: the bad one is not sooner, and did not end otherwise. */
	similar_find(&b->base.side, good, &b->now.side, NULL, &similars);
	assert_int_equal(similars.length, 0);
	metrics = (struct similar_metrics){ .preceding = 3 };
	similar_find(&b->now.side, scene_of_text_wait(&b->now, 10), &b->base.side, &metrics, &similars);
	assert_int_equal(similars.length, 0);
	vec_done(&similars);
}

static void the_silent_one_is_named(void **state)
{
	struct scenes_of_text *b = *state;
	const struct episode *e = scene_of_text_wait(&b->now, 10);
	struct baseline found;
	const struct baseline_step *step;

	assert_true(baseline_diff(&b->now.side, e, e->start_ns, e->end_ns, &b->base.side, &found));
	assert_true(found.other_trace);
	assert_int_equal(found.step_count, 2);
	assert_int_equal(scene_tid(b->base.scene, found.steps[0].then_thread), 31);
	assert_int_equal(scene_tid(b->base.scene, found.steps[1].then_thread), 40);
	assert_int_equal(found.culprit, 0);
	step = &found.steps[0];
	assert_int_equal(scene_tid(b->now.scene, step->now_thread), 11);
	assert_true(step->set_to_work && step->work_event && !step->did);
	assert_int_equal(step->doing, DOING_RESTED);
	assert_true(found.steps[1].did);
	assert_true(found.confidence > 50 && found.confidence < 100);
	/* Nobody of this trace is compared with itself. */
	assert_false(baseline_diff(&b->now.side, e, e->start_ns, e->end_ns, &b->now.side, &found));
	/* An empty window tells nothing. */
	assert_false(baseline_diff(&b->now.side, e, e->end_ns, e->end_ns, &b->base.side, &found));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_wait_is_found),
		cmocka_unit_test(metrics_narrow_the_search),
		cmocka_unit_test(the_silent_one_is_named),
	};
	return cmocka_run_group_tests(tests, open_both, close_both);
}
