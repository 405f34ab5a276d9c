/* Intervals kept in a file, read again thread by thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "export/spool.h"

struct reading {
	uint32_t thread;
	uint64_t next;
};

static void check(void *data, const struct spooled *item)
{
	struct reading *r = data;

	assert_int_equal(item->from_ns, r->next);
	assert_int_equal(item->to_ns, r->next + 1);
	assert_int_equal(item->state, r->thread);
	r->next++;
}

static void test_many_blocks_of_many_threads(void **state)
{
	static const uint64_t counts[] = { 0, 1, 126, 127, 1000, 5000 };
	struct spool *spool;
	struct err err;

	(void)state;
	assert_int_equal(spool_new(6, &spool, &err), 0);
	for (uint64_t i = 0; i < 5000; i++)
		for (uint32_t thread = 0; thread < 6; thread++)
			if (i < counts[thread])
				spool_add(spool, thread, &(struct spooled){ .from_ns = i, .to_ns = i + 1, .state = thread });
	for (int twice = 0; twice < 2; twice++)
		for (uint32_t thread = 0; thread < 6; thread++) {
			struct reading r = { thread, 0 };

			assert_int_equal(spool_read(spool, thread, check, &r, &err), 0);
			assert_int_equal(r.next, counts[thread]);
			assert_int_equal(spool_count(spool, thread), counts[thread]);
		}
	spool_free(spool);
	spool_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_blocks_of_many_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
