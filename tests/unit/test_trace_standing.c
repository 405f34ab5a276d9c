/* What stands at a moment, of what came before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trace/standing.h"

static void see_switch(struct standing *standing, uint64_t time, uint32_t tid, uint32_t next)
{
	struct event_switch s = { .next = next, .state = tid ? TASK_STATE_sleeping : TASK_STATE_running, .wait = tid ? WAIT_KIND_futex : 0 };

	standing_see(standing, &(struct event){ .time = time, .number = time, .tid = tid, .type = EVENT_switch, .data = &s, .tail = "" });
}

static void see_wake(struct standing *standing, uint64_t time, uint32_t tid, uint32_t target)
{
	struct event_wake w = { .target = target };

	standing_see(standing, &(struct event){ .time = time, .number = time, .tid = tid, .type = EVENT_wake, .data = &w, .tail = "" });
}

static unsigned wakes_standing(const struct standing *standing, uint64_t time)
{
	struct standing_events events;
	struct arena arena;
	unsigned n = 0;

	arena_init(&arena);
	standing_take(&arena, standing, time, &events);
	for (uint32_t i = 0; i < events.count; i++)
		n += events.events[i].type == EVENT_wake;
	arena_done(&arena);
	return n;
}

/* Woken, it ran and waits again: what ended the wait before says nothing of this one, also where its way onto the processor was lost. */
static void test_a_way_in_that_was_lost(void **state)
{
	(void)state;
	for (int lost = 0; lost < 2; lost++) {
		struct standing *standing = standing_new(NULL, 0);

		see_switch(standing, 10, 0, 20);
		see_switch(standing, 20, 20, 30);
		see_wake(standing, 30, 40, 20);
		if (!lost)
			see_switch(standing, 35, 30, 20);
		see_switch(standing, 40, 20, 0);
		assert_int_equal(wakes_standing(standing, 50), 0);
		standing_free(standing);
	}
}

/* A wake-up that came while it ran still, before it left, ends the wait that it begins then. */
static void test_a_wake_that_came_early(void **state)
{
	struct standing *standing = standing_new(NULL, 0);

	(void)state;
	see_switch(standing, 10, 0, 20);
	see_wake(standing, 15, 40, 20);
	see_switch(standing, 20, 20, 0);
	assert_int_equal(wakes_standing(standing, 50), 1);
	standing_free(standing);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_a_way_in_that_was_lost), cmocka_unit_test(test_a_wake_that_came_early) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
