/* src/infer/latency.c and observe_thread.c: by hand, and against simulated
 * threads of which everything is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "infer_simulator.h"

struct score {
	uint64_t single, held, flagged_single, merged, flagged_merged;
	uint64_t contexts, totals_held, contexts_seen, low, high;
	double truth_ns, conservative_error, aggressive_error, better_error;
};

static int by_node(const void *a, const void *b)
{
	const struct truth *x = a, *y = b;

	return x->context != y->context ? (x->context < y->context ? -1 : 1) : x->begin < y->begin ? -1 : 1;
}

static double distance(uint64_t a, uint64_t b)
{
	return a > b ? (double)(a - b) : (double)(b - a);
}

static void judge_instance(struct score *score, const struct truth *truth, size_t count,
			   const struct latency_instance *i)
{
	const struct truth *one = NULL;
	uint64_t length;

	for (size_t t = 0; t < count && truth[t].begin <= i->last; t++)
		if (truth[t].end >= i->first && truth[t].begin <= i->first && truth[t].end >= i->last)
			one = &truth[t];
	if (!one) {
		score->merged++;
		score->flagged_merged += (i->flags & LATENCY_merged) != 0;
		return;
	}
	length = one->end - one->begin;
	score->single++;
	score->flagged_single += (i->flags & LATENCY_merged) != 0;
	score->held += one->begin >= i->before && one->end <= i->after;
	score->truth_ns += length;
	score->conservative_error += distance(length, latency_conservative(i));
	score->aggressive_error += distance(length, latency_aggressive(i));
	score->better_error += distance(length, i->end - i->begin);
}

static void judge(struct score *score, struct simulator *s)
{
	/* Truth by node: all contexts of one node are one context, functions being the key of both. */
	uint32_t *node_of = malloc(s->truth_contexts.length * sizeof(*node_of));
	uint32_t *context_of = calloc(s->contexts.nodes.length + 1, sizeof(*context_of));
	size_t *first = calloc(s->truth_contexts.length + 1, sizeof(*first));

	for (uint32_t c = 0; c < s->truth_contexts.length; c++) {
		node_of[c] = sim_node(s, c);
		context_of[node_of[c]] = c;
	}
	qsort(s->truth.items, s->truth.length, sizeof(*s->truth.items), by_node);
	for (size_t i = s->truth.length; i-- > 0;)
		first[s->truth.items[i].context] = i;
	for (size_t i = 0; i < s->found.length; i++) {
		uint32_t context = context_of[s->found.items[i].node];
		size_t from = first[context], to = from;

		if (!context)
			continue;    /* a system call's frame */
		while (to < s->truth.length && s->truth.items[to].context == context)
			to++;
		judge_instance(score, &s->truth.items[from], to - from, &s->found.items[i]);
	}
	for (uint32_t c = 1; c < s->truth_contexts.length; c++) {
		const struct tree_cost *cost = &s->tree.costs.items[node_of[c]];
		uint64_t total = 0;

		for (size_t i = first[c]; i < s->truth.length && s->truth.items[i].context == c; i++)
			total += s->truth.items[i].end - s->truth.items[i].begin;
		score->contexts++;
		if (!node_of[c])
			continue;
		score->contexts_seen++;
		if (getenv("VERBOSE"))
			score->low += total < cost->lower_ns, score->high += total > cost->upper_ns;
		score->totals_held += cost->lower_ns <= total && total <= cost->upper_ns;
	}
	free(node_of);
	free(context_of);
	free(first);
}

static struct score simulate(bool calls, bool switches, uint64_t sample_ns, bool by_function)
{
	struct score score = { 0 };

	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct simulator s;

		sim_init(&s, seed);
		s.record_calls = calls;
		s.record_switches = switches;
		s.sample_ns = sample_ns;
		s.rules.by_function = by_function;
		sim_run(&s, 20000000);
		judge(&score, &s);
		sim_done(&s);
	}
	if (getenv("VERBOSE"))
		printf("calls %d switches %d samples %u paper %d: single %u held %.4f (flagged %.3f), merged %.3f of all "
		       "(flagged %.3f), totals held %.4f of %u (%u), errors %.3f %.3f %.3f low %u high %u\n",
		       calls, switches, (unsigned)sample_ns, by_function, (unsigned)score.single,
		       (double)score.held / score.single, (double)score.flagged_single / score.single,
		       (double)score.merged / (score.merged + score.single),
		       (double)score.flagged_merged / (score.merged ? score.merged : 1),
		       (double)score.totals_held / score.contexts_seen, (unsigned)score.contexts_seen, (unsigned)score.contexts,
		       score.conservative_error / score.truth_ns, score.aggressive_error / score.truth_ns,
		       score.better_error / score.truth_ns, (unsigned)score.low, (unsigned)score.high);
	return score;
}

static void bounds_hold(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 16; i++) {
		struct score score;

		if (!(i & 7))
			continue;
		score = simulate(i & 1, i & 2, i & 4 ? 50000 : 0, i & 8);
		if (i & 8)
			continue;   /* the paper's continuity merges freely: for comparison only */
		assert_true(score.single > 1000);
		assert_true(score.held * 1000 >= score.single * 995);
		assert_true(score.totals_held * 1000 >= score.contexts_seen * 995);
		if (i & 1)
			assert_true(score.merged * 20 <= score.single);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounds_hold),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
