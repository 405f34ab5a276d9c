/* See tree.h. */
#include "infer/tree.h"

#include <string.h>

void tree_init(struct tree *tree, struct contexts *contexts)
{
	*tree = (struct tree){ .contexts = contexts };
}

void tree_done(struct tree *tree)
{
	vec_done(&tree->costs);
	vec_done(&tree->stretches);
}

void tree_grow(struct tree *tree, uint32_t nodes)
{
	size_t want = nodes, have = tree->costs.length;

	if (have >= want)
		return;
	vec_reserve(&tree->costs, want);
	memset(tree->costs.items + have, 0, (want - have) * sizeof(*tree->costs.items));
	tree->costs.length = want;
	vec_reserve(&tree->stretches, want);
	memset(tree->stretches.items + have, 0, (want - have) * sizeof(*tree->stretches.items));
	tree->stretches.length = want;
}

void tree_add(struct tree *tree, const struct tree_entry *e)
{
	struct tree_cost *cost = &tree->costs.items[e->node];

	if (!cost->count || e->estimate_ns < cost->min_ns)
		cost->min_ns = e->estimate_ns;
	if (e->estimate_ns > cost->max_ns)
		cost->max_ns = e->estimate_ns;
	cost->count++;
	cost->calls += e->calls;
	cost->conservative_ns += e->conservative_ns;
	cost->aggressive_ns += e->aggressive_ns;
	cost->total_ns += e->estimate_ns;
	if (e->off_ns | e->queued_ns) {
		cost->off_ns += e->off_ns;
		cost->queued_ns += e->queued_ns;
	}
	if (e->flags & (LATENCY_open_begin | LATENCY_open_end)) {
		cost->open++;
		cost->open_ns += e->estimate_ns;
	}
	tree->instances++;
	if (e->flags & LATENCY_merged) {
		cost->merged++;
		tree->merged++;
	}
}

void tree_add_stretch(struct tree *tree, uint32_t sure, uint64_t ns, bool idle)
{
	tree->stretches.items[sure].sure_ns += ns;
	if (!idle)
		tree->stretches.items[sure].open_ns += ns;
}

void tree_add_sample(struct tree *tree, uint32_t node)
{
	tree->costs.items[node].samples++;
}

/* a - b, 0 at the least: estimates of children may add up to a few ns more. */
static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Time on the processor by node: the whole is known by program, its parts by samples. */
static void share_processor(struct tree *tree)
{
	const struct node *nodes = tree->contexts->nodes.items;
	struct tree_cost *costs = tree->costs.items;

	for (uint32_t i = 1; i < tree->costs.length; i++) {
		struct tree_cost *cost = &costs[i];
		const struct tree_cost *whole = &costs[tree->contexts->programs.items[nodes[i].program].node];
		uint64_t all = less(whole->total_ns, whole->off_ns + whole->queued_ns);

		if (whole->samples >= TREE_SAMPLES) {
			double each = (double)all / (double)whole->samples;

			cost->cpu_ns = (uint64_t)((double)cost->samples * each);
			cost->own_cpu_ns = (uint64_t)((double)cost->own_samples * each);
		} else {
			cost->cpu_ns = less(cost->total_ns, cost->off_ns + cost->queued_ns);
			cost->own_cpu_ns = less(cost->own_ns, cost->own_off_ns + cost->own_queued_ns);
		}
	}
}

void tree_finish(struct tree *tree)
{
	const struct node *nodes = tree->contexts->nodes.items;
	const struct tree_stretch *stretches;
	struct tree_cost *costs;
	uint32_t count;

	tree_grow(tree, (uint32_t)tree->contexts->nodes.length);
	costs = tree->costs.items;
	stretches = tree->stretches.items;
	count = tree->costs.length;
	for (uint32_t i = 1; i < count; i++) {
		costs[i].own_ns = costs[i].total_ns;
		costs[i].own_off_ns = costs[i].off_ns;
		costs[i].own_samples = costs[i].samples;
		costs[i].own_queued_ns = costs[i].queued_ns;
		costs[i].lower_ns = stretches[i].sure_ns;
		/* What a node leaves open may have gone to any context below it. */
		costs[i].upper_ns = nodes[i].parent ? costs[nodes[i].parent].upper_ns + stretches[nodes[i].parent].open_ns :
						      stretches[0].open_ns;
	}
	/* Children have greater numbers than their parents. */
	for (uint32_t i = count - 1; i > 0; i--) {
		struct tree_cost *parent = &costs[nodes[i].parent];

		costs[i].upper_ns += costs[i].lower_ns;
		if (!nodes[i].parent)
			continue;
		if (nodes[nodes[i].parent].parent || nodes[nodes[i].parent].function) {
			parent->own_ns = less(parent->own_ns, costs[i].total_ns);
			parent->own_off_ns = less(parent->own_off_ns, costs[i].off_ns);
			parent->own_queued_ns = less(parent->own_queued_ns, costs[i].queued_ns);
		} else {
			/* A program's total is that of its threads' outermost calls. */
			parent->total_ns += costs[i].total_ns;
			parent->conservative_ns += costs[i].conservative_ns;
			parent->aggressive_ns += costs[i].aggressive_ns;
			parent->off_ns += costs[i].off_ns;
			parent->queued_ns += costs[i].queued_ns;
			parent->count += costs[i].count;
			parent->calls += costs[i].calls;
			parent->own_ns = parent->own_off_ns = parent->own_queued_ns = 0;
		}
		parent->lower_ns += costs[i].lower_ns;
		parent->samples += costs[i].samples;
		costs[i].next_sibling = parent->first_child;
		parent->first_child = i;
	}
	share_processor(tree);
}
