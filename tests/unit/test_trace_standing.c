/* What stands at a moment, of what came before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/vec.h"
#include "random_events.h"
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

/* Of what was read anew some events have later numbers: time decides. */
static void test_numbers_of_two_countings(void **state)
{
	struct event_switch in = { .next = 20 }, out = { .state = TASK_STATE_sleeping };
	struct event events[] = {
		{ .time = 20, .number = 7, .tid = 20, .type = EVENT_switch, .data = &out, .tail = "" },
		{ .time = 10, .number = 9, .type = EVENT_switch, .data = &in, .tail = "" },
	};

	(void)state;
	assert_int_equal(standing_sort(events, 2), 2);
	assert_int_equal(events[0].time, 10);
	assert_int_equal(events[1].time, 20);
}

/* ---- what stands is enough to go on from ---- */

#define TASKS 24u
#define FIRST_TID 100u

/* A processor on which threads begin, run, wait, wake others and end. */
struct machine {
	struct standing *whole, *pieces; /* the second is made anew from what stands of it, again and again */
	enum { TASK_none, TASK_ready, TASK_asleep } tasks[TASKS];
	unsigned runs;             /* the task of that number; TASKS: none */
	uint64_t now;
};

static void happens(struct machine *m, uint32_t tid, unsigned type, const void *data)
{
	struct event e = { .time = ++m->now, .number = m->now, .tid = tid, .type = (uint16_t)type, .data = data, .tail = "" };

	standing_see(m->whole, &e);
	standing_see(m->pieces, &e);
}

static void leave(struct machine *m, unsigned state)
{
	struct event_switch s = { .state = (u8)state, .wait = state == TASK_STATE_sleeping ? WAIT_KIND_futex : 0 };
	unsigned left = m->runs, next = (unsigned)(random_u64() % TASKS);

	m->runs = m->tasks[next] == TASK_ready && next != left ? next : TASKS;
	s.next = m->runs < TASKS ? FIRST_TID + m->runs : 0;
	if (left < TASKS)
		m->tasks[left] = state == TASK_STATE_dead ? TASK_none : state == TASK_STATE_sleeping ? TASK_asleep : TASK_ready;
	happens(m, left < TASKS ? FIRST_TID + left : 0, EVENT_switch, &s);
}

static void act(struct machine *m)
{
	unsigned other = (unsigned)(random_u64() % TASKS), which = (unsigned)(random_u64() % 16);
	uint32_t tid = m->runs < TASKS ? FIRST_TID + m->runs : 0;
	struct event_fork fork = { .child = FIRST_TID + other, .child_pid = FIRST_TID + other };
	struct event_wake wake = { .target = FIRST_TID + other };
	struct event_message message = { .object = random_u64() % 8, .kind = random_u64() % 2 ? MESSAGE_KIND_connect : MESSAGE_KIND_accept };
	struct event_file_lock lock = { .object = random_u64() % 4, .owner = tid, .type = random_u64() % 2 ? LOCK_TYPE_unlock : LOCK_TYPE_write };
	struct event_timer_arm arm = { .timer = random_u64() % 4 };
	struct event_timer_fire fire = { .timer = random_u64() % 4 };

	if (!tid || which < 6)
		leave(m, which < 3 ? TASK_STATE_sleeping : TASK_STATE_running);
	else if (which == 6)
		leave(m, TASK_STATE_dead);
	else if (which < 9 && m->tasks[other] == TASK_none) {
		happens(m, tid, EVENT_fork, &fork);
		happens(m, tid, EVENT_wake, &wake);
		m->tasks[other] = TASK_ready;
	} else if (which < 12 && m->tasks[other] == TASK_asleep) {
		happens(m, tid, EVENT_wake, &wake);
		m->tasks[other] = TASK_ready;
	} else if (which == 12)
		happens(m, tid, EVENT_message, &message);
	else if (which == 13)
		happens(m, tid, EVENT_file_lock, &lock);
	else if (which == 14)
		happens(m, tid, EVENT_exec, &(struct event_exec){ .old_tid = tid });
	else if (random_u64() % 2)
		happens(m, tid, EVENT_timer_arm, &arm);
	else
		happens(m, 0, EVENT_timer_fire, &fire);
}

static void made_anew(struct machine *m)
{
	struct standing_events events, got;
	struct arena arena;
	unsigned char *bytes;

	arena_init(&arena);
	standing_take(&arena, m->pieces, m->now, &events);
	bytes = arena_alloc(&arena, standing_bytes(&events), 1);
	assert_int_equal(standing_get(&arena, bytes, standing_put(&events, bytes), &got), 0);
	standing_free(m->pieces);
	m->pieces = standing_new(NULL, 0);
	for (uint32_t i = 0; i < got.count; i++)
		standing_see(m->pieces, &got.events[i]);
	arena_done(&arena);
}

static void assert_same(const struct machine *m)
{
	struct standing_events whole, pieces;
	struct arena arena;

	arena_init(&arena);
	standing_take(&arena, m->whole, m->now, &whole);
	standing_take(&arena, m->pieces, m->now, &pieces);
	for (uint32_t i = 0; i < whole.count && i < pieces.count; i++) {
		assert_int_equal(whole.events[i].number, pieces.events[i].number);
		assert_int_equal(whole.events[i].type, pieces.events[i].type);
		assert_int_equal(whole.events[i].tid, pieces.events[i].tid);
	}
	assert_int_equal(whole.count, pieces.count);
	arena_done(&arena);
}

static void test_in_pieces_the_same_stands(void **state)
{
	(void)state;
	for (unsigned run = 0; run < 200; run++) {
		struct machine m = { .whole = standing_new(NULL, 0), .pieces = standing_new(NULL, 0), .tasks = { TASK_ready } };

		for (unsigned i = 0; i < 400; i++) {
			act(&m);
			if (!(random_u64() % 32)) {
				made_anew(&m);
				assert_same(&m);
			}
		}
		assert_same(&m);
		standing_free(m.whole);
		standing_free(m.pieces);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_way_in_that_was_lost), cmocka_unit_test(test_a_wake_that_came_early),
		cmocka_unit_test(test_numbers_of_two_countings), cmocka_unit_test(test_in_pieces_the_same_stands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
