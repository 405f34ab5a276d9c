/* Replay: what happens to a run of a few threads under other conditions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "path/replay.h"

static void begin(struct script *script)
{
	*script = (struct script){ .root = 1, .from_ns = 1000, .to_ns = 101000 };
	vec_push(&script->threads, ((struct op_thread){ 0 }));
}

static void thread(struct script *script, uint64_t start_ns)
{
	vec_push(&script->threads, ((struct op_thread){ .first = (uint32_t)script->ops.length, .start_ns = start_ns }));
}

static void op(struct script *script, enum op_kind kind, uint64_t value, uint32_t place)
{
	vec_push(&script->ops, ((struct op){ .value = value, .kind = kind, .place = place }));
	script->threads.items[script->threads.length - 1].count++;
}

static void end(struct script *script)
{
	vec_done(&script->ops);
	vec_done(&script->threads);
	vec_done(&script->places);
	vec_done(&script->locks);
}

/* The first begins the second and waits for it; that one has work of two kinds. */
static void test_awaits(void **state)
{
	struct script script;
	struct replay_conditions c = { .processors = 1 };
	uint64_t ns;

	(void)state;
	begin(&script);
	script.wakes = 1;
	thread(&script, 1000);
	op(&script, OP_COMPUTE, 100, 0);
	op(&script, OP_BEGIN, 2, 0);
	op(&script, OP_AWAIT, 0, 0);
	op(&script, OP_COMPUTE, 100, 0);
	thread(&script, UINT64_MAX);
	op(&script, OP_COMPUTE, 1000, 1);
	op(&script, OP_DELAY, 500, 0);
	op(&script, OP_WAKE, 0, 0);
	assert_true(replay(&script, &c, &ns));
	assert_int_equal(ns, 1700);
	c.factors = (double[]){ 1, 0.5 };
	assert_true(replay(&script, &c, &ns));
	assert_int_equal(ns, 1200);
	c.factors = (double[]){ 1, 0 };
	assert_true(replay(&script, &c, &ns));
	assert_int_equal(ns, 700);
	end(&script);
}

/* Three threads, two of which have a lock for 1000 ns; on two processors they take turns. */
static void test_locks(void **state)
{
	struct script script;
	struct replay_conditions c = { .processors = 2 };
	uint64_t ns;

	(void)state;
	begin(&script);
	script.wakes = 2;
	vec_push(&script.locks, 7);
	thread(&script, 1000);
	op(&script, OP_BEGIN, 2, 0);
	op(&script, OP_BEGIN, 3, 0);
	op(&script, OP_AWAIT, 0, 0);
	op(&script, OP_AWAIT, 1, 0);
	for (unsigned i = 0; i < 2; i++) {
		thread(&script, UINT64_MAX);
		op(&script, OP_LOCK, 0, 0);
		op(&script, OP_COMPUTE, 1000, 0);
		op(&script, OP_UNLOCK, 0, 0);
		op(&script, OP_WAKE, i, 0);
	}
	assert_true(replay(&script, &c, &ns));
	assert_int_equal(ns, 2000);
	c.shared_lock = 7;
	assert_true(replay(&script, &c, &ns));
	assert_int_equal(ns, 1000);
	c.processors = 1;
	assert_true(replay(&script, &c, &ns));
	assert_int_equal(ns, 2000);
	end(&script);
}

/* Who waits for what never comes: the replay says that it does not end. */
static void test_does_not_end(void **state)
{
	struct script script;
	struct replay_conditions c = { .processors = 1 };
	uint64_t ns = 0;

	(void)state;
	begin(&script);
	script.wakes = 1;
	thread(&script, 1000);
	op(&script, OP_COMPUTE, 100, 0);
	op(&script, OP_AWAIT, 0, 0);
	assert_false(replay(&script, &c, &ns));
	end(&script);
}

/* Two threads that compute share one processor, or have one each. */
static void test_processors(void **state)
{
	struct script script;
	struct replay_conditions c = { .processors = 1 };
	uint64_t ns;

	(void)state;
	begin(&script);
	script.to_ns += 100000000;
	script.wakes = 1;
	thread(&script, 1000);
	op(&script, OP_BEGIN, 2, 0);
	op(&script, OP_COMPUTE, 50000000, 0);
	op(&script, OP_AWAIT, 0, 0);
	thread(&script, UINT64_MAX);
	op(&script, OP_COMPUTE, 50000000, 0);
	op(&script, OP_WAKE, 0, 0);
	assert_true(replay(&script, &c, &ns));
	assert_int_equal(ns, 100000000);
	c.processors = 2;
	assert_true(replay(&script, &c, &ns));
	assert_int_equal(ns, 50000000);
	end(&script);
}

/* Who does not have to wait pays neither for that nor for coming back. */
static void test_passed_waits(void **state)
{
	struct script script;
	struct replay_conditions c = { .processors = 2 };
	uint64_t ns;

	(void)state;
	begin(&script);
	script.wakes = 1;
	thread(&script, 1000);
	op(&script, OP_BEGIN, 2, 0);
	op(&script, OP_COMPUTE, 500, 0);
	op(&script, OP_AWAIT, 0, 0);
	op(&script, OP_LATENCY, 30, 0);
	op(&script, OP_COST, 7, 0);
	op(&script, OP_COMPUTE, 100, 0);
	thread(&script, UINT64_MAX);
	op(&script, OP_COMPUTE, 1000, 1);
	op(&script, OP_WAKE, 0, 0);
	assert_true(replay(&script, &c, &ns));
	assert_int_equal(ns, 1137);
	c.factors = (double[]){ 1, 0.25 };
	assert_true(replay(&script, &c, &ns));
	assert_int_equal(ns, 600);
	end(&script);
}

/* Of two that want one processor the real-time thread has it first, and does not share it with the other. */
static void test_real_time(void **state)
{
	struct script script;
	struct replay_conditions c = { .processors = 1 };
	uint64_t ns;

	(void)state;
	begin(&script);
	script.to_ns += 100000000;
	thread(&script, 2000);
	op(&script, OP_COMPUTE, 20000000, 0);
	script.threads.items[1].prio = 98;
	thread(&script, 1000);
	op(&script, OP_COMPUTE, 50000000, 0);
	script.threads.items[2].prio = 120;
	assert_true(replay(&script, &c, &ns));
	assert_int_equal(ns, 20001000);
	script.root = 2;
	assert_true(replay(&script, &c, &ns));
	assert_int_equal(ns, 70000000);
	end(&script);
}

/* Two ask for a lock, and with it each wakes one who does first what the second asks for. Who asked first is not who had
 * it first: in the order of asking they wait for each other for ever. */
static void test_locks_in_turn(void **state)
{
	struct script script;
	struct replay_conditions c = { .processors = 3 };
	uint64_t ns;

	(void)state;
	begin(&script);
	script.wakes = 5;
	vec_push(&script.locks, 7);
	thread(&script, 1000);
	op(&script, OP_BEGIN, 2, 0);
	op(&script, OP_BEGIN, 3, 0);
	op(&script, OP_BEGIN, 4, 0);
	op(&script, OP_AWAIT, 4, 0);
	for (unsigned i = 0; i < 2; i++) {
		thread(&script, UINT64_MAX);
		op(&script, OP_COMPUTE, 10 + 10 * i, 0);
		op(&script, OP_LOCK, 0, !i);
		op(&script, OP_WAKE, i, 0);
		op(&script, OP_AWAIT, 2 + i, 0);
		op(&script, OP_UNLOCK, 0, 0);
	}
	thread(&script, UINT64_MAX);
	for (unsigned i = 2; i-- > 0; ) {
		op(&script, OP_AWAIT, i, 0);
		op(&script, OP_COMPUTE, 1000, 0);
		op(&script, OP_WAKE, 2 + i, 0);
	}
	op(&script, OP_WAKE, 4, 0);
	assert_false(replay(&script, &c, &ns));
	c.locks_in_turn = true;
	assert_true(replay(&script, &c, &ns));
	assert_int_equal(ns, 2020);
	end(&script);
}

/* Two that took two locks in opposite order, as is told, get on all the same: in truth they did. */
static void test_circle_of_locks(void **state)
{
	struct script script;
	struct replay_conditions c = { .processors = 2 };
	uint64_t ns;

	(void)state;
	begin(&script);
	vec_push(&script.locks, 7);
	vec_push(&script.locks, 8);
	for (unsigned i = 0; i < 2; i++) {
		thread(&script, 1000);
		op(&script, OP_LOCK, i, 0);
		op(&script, OP_COMPUTE, 1000, 0);
		op(&script, OP_LOCK, !i, 0);
		op(&script, OP_COMPUTE, 1000, 0);
		op(&script, OP_UNLOCK, !i, 0);
		op(&script, OP_UNLOCK, i, 0);
	}
	assert_true(replay(&script, &c, &ns));
	assert_in_range(ns, 2000, 4000);
	end(&script);
}

/* Who waits for one child waits for the one that ended before it, too, when that works longer. */
static void test_joins(void **state)
{
	struct script script;
	struct replay_conditions c = { .processors = 2, .thread_factors = (double[]){ 1, 1, 10, 1 } };
	uint64_t ns;

	(void)state;
	begin(&script);
	script.wakes = 1;
	thread(&script, 1000);
	op(&script, OP_BEGIN, 2, 0);
	op(&script, OP_BEGIN, 3, 0);
	op(&script, OP_AWAIT, 0, 0);
	op(&script, OP_JOIN, 2, 0);
	thread(&script, UINT64_MAX);
	op(&script, OP_COMPUTE, 500, 0);
	thread(&script, UINT64_MAX);
	op(&script, OP_COMPUTE, 1000, 0);
	op(&script, OP_WAKE, 0, 0);
	assert_true(replay(&script, &c, &ns));
	assert_int_equal(ns, 5000);
	end(&script);
}

/* Who waits no longer than 600 ns waits less if what he waits for then comes sooner, even before he looks. */
static void test_time_limit(void **state)
{
	struct script script;
	struct replay_conditions c = { .processors = 2, .thread_factors = (double[]){ 1, 1, 1 } };
	uint64_t ns;

	(void)state;
	begin(&script);
	script.wakes = 1;
	thread(&script, 1000);
	op(&script, OP_BEGIN, 2, 0);
	op(&script, OP_COMPUTE, 100, 0);
	op(&script, OP_LIMIT, 0, 0);
	op(&script, OP_DELAY, 600, 0);
	op(&script, OP_COMPUTE, 100, 0);
	op(&script, OP_AWAIT, 0, 0);
	op(&script, OP_COMPUTE, 100, 0);
	thread(&script, UINT64_MAX);
	op(&script, OP_COMPUTE, 1000, 0);
	op(&script, OP_WAKE, 0, 0);
	assert_true(replay(&script, &c, &ns));
	assert_int_equal(ns, 1100);
	c.thread_factors = (double[]){ 1, 1, 0.3 };
	assert_true(replay(&script, &c, &ns));
	assert_int_equal(ns, 500);
	c.thread_factors = (double[]){ 1, 1, 0 };
	assert_true(replay(&script, &c, &ns));
	assert_int_equal(ns, 300);
	c.thread_factors = (double[]){ 1, 1, 0.75 };
	assert_true(replay(&script, &c, &ns));
	assert_int_equal(ns, 900);
	end(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_awaits),
		cmocka_unit_test(test_locks),
		cmocka_unit_test(test_does_not_end),
		cmocka_unit_test(test_processors),
		cmocka_unit_test(test_passed_waits),
		cmocka_unit_test(test_real_time),
		cmocka_unit_test(test_locks_in_turn),
		cmocka_unit_test(test_circle_of_locks),
		cmocka_unit_test(test_joins),
		cmocka_unit_test(test_time_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
