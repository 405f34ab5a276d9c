/* Work aside: the one who waits for it is not idle meanwhile. */
#include "record/aside.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct counting {
	struct aside_job job;
	_Atomic int seen;
};

/* Ends only because of what the waiting thread does. */
static void count_run(struct aside_job *job)
{
	struct counting *c = (struct counting *)job;
	while (atomic_load(&c->seen) < 3)
		sched_yield();
}

static void count_one(void *data)
{
	struct counting *c = data;
	atomic_fetch_add(&c->seen, 1);
}

static void no_drop(struct aside_job *job)
{
	(void)job;
	fail();
}

static void waits_busily(void **state)
{
	(void)state;
	struct aside *aside = aside_open();
	struct counting c = { .job = { .run = count_run, .drop = no_drop } };

	aside_meanwhile(aside, count_one, &c);
	assert_true(aside_run(aside, &c.job));
	assert_true(atomic_load(&c.seen) >= 3);
	assert_int_equal(aside_left(aside), 0);
	aside_close(aside);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_busily),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
