/* src/infer/tally.c: the tree holds every instance, however many batches there were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "infer/tally.h"

#define NODES 97u

struct fixture {
	struct arena arena;
	struct functions functions;
	struct contexts contexts;
	struct tree tree;
};

static void begin(struct fixture *f)
{
	uint32_t program, parent;

	arena_init(&f->arena);
	functions_init(&f->functions, &f->arena);
	contexts_init(&f->contexts, &f->functions, (struct context_source){ 0 });
	program = contexts_program(&f->contexts, "/bin/p");
	parent = f->contexts.programs.items[program].node;
	for (uint32_t i = 0; i < NODES; i++) {
		const struct node node = { .parent = parent, .function = 1, .depth = 1 };

		vec_push(&f->contexts.nodes, node);
	}
	tree_init(&f->tree, &f->contexts);
}

static void end(struct fixture *f)
{
	tree_done(&f->tree);
	contexts_done(&f->contexts);
	functions_done(&f->functions);
	arena_done(&f->arena);
}

/* Instances, stretches and samples fill batches at different rates. */
static void add_up(uint64_t rounds)
{
	struct fixture f;
	struct tally *tally;
	uint64_t count = 0, sure = 0, open = 0, samples = 0, total = 0, most = 0;
	uint32_t first;

	begin(&f);
	first = (uint32_t)f.contexts.nodes.length - NODES;
	tally = tally_new(&f.tree);
	for (uint64_t i = 0; i < rounds; i++) {
		const struct latency_instance instance = {
			.node = first + (uint32_t)(i % NODES), .first = i, .last = i + 3, .after = i + 5, .begin = i, .end = i + i % 11,
			.calls = 2, .flags = i % 2 ? LATENCY_merged : 0, .off_ns = i % 3,
		};

		tally_instance(tally, &instance);
		if (i % 2)
			tally_stretch(tally, first + (uint32_t)(i % NODES), 7, i % 4 == 1);
		if (i % 5 == 0)
			tally_sample(tally, first);
	}
	tally_finish(tally);
	assert_int_equal(f.tree.instances, rounds);
	assert_int_equal(f.tree.merged, rounds / 2);
	for (uint32_t i = 0; i < f.tree.costs.length; i++) {
		const struct tree_cost *cost = &f.tree.costs.items[i];

		count += cost->count;
		total += cost->total_ns;
		samples += cost->samples;
		most = cost->max_ns > most ? cost->max_ns : most;
		assert_int_equal(cost->calls, cost->count * 2);
		assert_int_equal(cost->conservative_ns, cost->count * 3);
		assert_int_equal(cost->aggressive_ns, cost->count * 5);
		sure += f.tree.stretches.items[i].sure_ns;
		open += f.tree.stretches.items[i].open_ns;
	}
	assert_int_equal(count, rounds);
	assert_int_equal(samples, (rounds + 4) / 5);
	assert_int_equal(sure, rounds / 2 * 7);
	assert_int_equal(open, rounds / 4 * 7);
	for (uint64_t i = 0; i < rounds; i++)
		total -= i % 11;
	assert_int_equal(total, 0);
	assert_int_equal(most, rounds ? 10 : 0);
	end(&f);
}

static void test_one_batch(void **state)
{
	(void)state;
	add_up(100);
}

static void test_many_batches(void **state)
{
	(void)state;
	add_up(4096 * 37 + 12);
}

static void test_nothing(void **state)
{
	(void)state;
	add_up(0);
	tally_finish(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_batch),
		cmocka_unit_test(test_many_batches),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
