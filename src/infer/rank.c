/* See rank.h. The paths are the tree's decomposition into heaviest paths: each
 * node goes on into its heaviest child, every other child begins a path. */
#include "infer/rank.h"

#include <stdlib.h>
#include <string.h>

struct head {
	uint32_t node;
	int64_t weight;     /* of the best path that begins here */
};

static bool before(const struct head *a, const struct head *b)
{
	return a->weight != b->weight ? a->weight > b->weight : a->node < b->node;
}

static void heap_push(struct head *heap, size_t *count, struct head head)
{
	size_t at = (*count)++;

	while (at && before(&head, &heap[(at - 1) / 2])) {
		heap[at] = heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap[at] = head;
}

static struct head heap_pop(struct head *heap, size_t *count)
{
	struct head best = heap[0], last = heap[--*count];
	size_t at = 0, child;

	while ((child = at * 2 + 1) < *count) {
		if (child + 1 < *count && before(&heap[child + 1], &heap[child]))
			child++;
		if (!before(&heap[child], &last))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = last;
	return best;
}

struct rank_path *rank_paths(struct arena *arena, const struct tree *tree, const int64_t *weights, size_t max,
			     size_t *ret_count)
{
	const struct node *nodes = tree->contexts->nodes.items;
	const struct tree_cost *costs = tree->costs.items;
	uint32_t count = tree->costs.length;
	struct rank_path *paths = arena_array(arena, struct rank_path, max ? max : 1);
	int64_t *below = mem_zalloc(count * sizeof(*below));   /* of the best path from here inwards */
	int64_t *above = mem_zalloc(count * sizeof(*above));   /* of the frames down to here */
	uint32_t *next = mem_zalloc(count * sizeof(*next));    /* best child, 0: the path ends */
	struct head *heap = mem_alloc((count + 1) * sizeof(*heap));
	size_t heads = 0, found = 0;

	for (uint32_t i = 1; i < count; i++)
		above[i] = weights[i] + above[nodes[i].parent];
	for (uint32_t i = count - 1; i > 0; i--) {
		uint32_t parent = nodes[i].parent;

		below[i] += weights[i];
		if (!parent)
			heap_push(heap, &heads, (struct head){ i, below[i] });
		else if (below[i] > below[parent] || (below[i] == below[parent] && below[i] > 0 && next[parent])) {
			below[parent] = below[i];
			next[parent] = i;
		}
	}
	while (heads && found < max) {
		struct head head = heap_pop(heap, &heads);
		struct rank_path path = { .node = head.node, .head = head.node, .hot = head.node, .new_ns = head.weight };

		if (head.weight <= 0)
			break;
		for (uint32_t at = head.node; at; at = next[at]) {
			for (uint32_t child = costs[at].first_child; child; child = costs[child].next_sibling)
				if (child != next[at] && below[child] > 0)
					heap_push(heap, &heads, (struct head){ child, below[child] });
			path.node = at;
		}
		for (uint32_t at = path.node; at; at = nodes[at].parent)
			if (weights[at] >= weights[path.hot])
				path.hot = at;
		path.cost_ns = above[path.node];
		paths[found++] = path;
	}
	free(below);
	free(above);
	free(next);
	free(heap);
	*ret_count = found;
	return paths;
}

static int by_own_first(const void *a, const void *b)
{
	const struct rank_function *x = a, *y = b;

	return x->own_ns != y->own_ns ? (x->own_ns < y->own_ns ? 1 : -1) :
	       x->total_ns != y->total_ns ? (x->total_ns < y->total_ns ? 1 : -1) : x->function < y->function ? -1 : 1;
}

static int by_total_first(const void *a, const void *b)
{
	const struct rank_function *x = a, *y = b;

	return x->total_ns != y->total_ns ? (x->total_ns < y->total_ns ? 1 : -1) : by_own_first(a, b);
}

/* Is the function further out on the node's path already? */
static bool recurses(const struct node *nodes, uint32_t node)
{
	for (uint32_t at = nodes[node].parent; at; at = nodes[at].parent)
		if (nodes[at].function == nodes[node].function)
			return true;
	return false;
}

struct rank_function *rank_functions(struct arena *arena, const struct tree *tree, const int64_t *weights,
				     enum rank_time time, bool by_total, size_t *ret_count)
{
	const struct node *nodes = tree->contexts->nodes.items;
	size_t count = tree->contexts->functions->list.length, found = 0;
	struct rank_function *list = arena_array(arena, struct rank_function, count);

	for (uint32_t i = 1; i < tree->costs.length; i++) {
		struct rank_function *f = &list[nodes[i].function];

		if (!nodes[i].function || !tree->costs.items[i].count)
			continue;
		f->count += tree->costs.items[i].count;
		f->own_ns += weights[i];
		if (!recurses(nodes, i))
			f->total_ns += rank_total(&tree->costs.items[i], time);
		if (!f->node || weights[i] > weights[f->node])
			f->node = i;
	}
	for (uint32_t i = 1; i < count; i++)
		if (list[i].count) {
			list[i].function = i;
			list[found++] = list[i];
		}
	qsort(list, found, sizeof(*list), by_total ? by_total_first : by_own_first);
	*ret_count = found;
	return list;
}

int64_t *rank_own(struct arena *arena, const struct tree *tree, enum rank_time time)
{
	int64_t *weights = arena_array(arena, int64_t, tree->costs.length);

	for (size_t i = 1; i < tree->costs.length; i++) {
		const struct tree_cost *c = &tree->costs.items[i];

		switch (time) {
		case RANK_all: weights[i] = (int64_t)(c->own_cpu_ns + c->own_off_ns); break;
		case RANK_cpu: weights[i] = (int64_t)c->own_cpu_ns; break;
		case RANK_wait: weights[i] = (int64_t)c->own_off_ns; break;
		}
	}
	return weights;
}

uint64_t rank_total(const struct tree_cost *cost, enum rank_time time)
{
	switch (time) {
	case RANK_all: return cost->total_ns;
	case RANK_cpu: return cost->cpu_ns;
	case RANK_wait: return cost->off_ns;
	}
	return 0;
}
