/* See compare.h. */
#include "infer/compare.h"

#include <errno.h>
#include <string.h>

/* So many frames of one side alone are passed over on the way to an equal one. */
#define MAX_SKIP 2

struct scale {
	double factor;
	uint32_t unit;
};

struct match {
	const struct profile *base, *buggy;
	uint32_t *anchor;      /* by buggy node: where in the base its children are looked for */
	uint8_t *skipped;      /* frames passed over since the last equal one */
};

/* Calls whose begin and end were seen make up most of it. */
static bool was_completed(const struct tree_cost *cost)
{
	return cost->count > cost->open && cost->open_ns < cost->total_ns / 2;
}

/* A child of the base's node with this function, or a grandchild behind a frame
 * that the buggy run does not have. */
static uint32_t find_child(const struct match *match, uint32_t parent, uint32_t buggy_parent, uint32_t function)
{
	const struct tree_cost *costs = match->base->tree.costs.items;
	const struct node *nodes = match->base->contexts.nodes.items;
	uint32_t found = contexts_child(&match->base->contexts, parent, function), deeper = 0;

	if (found)
		return found;
	for (uint32_t child = costs[parent].first_child; child; child = costs[child].next_sibling) {
		if (contexts_child(&match->buggy->contexts, buggy_parent, nodes[child].function))
			continue;    /* the buggy run has that frame as well */
		found = contexts_child(&match->base->contexts, child, function);
		if (found && (!deeper || costs[found].total_ns > costs[deeper].total_ns))
			deeper = found;
	}
	return deeper;
}

static uint32_t find_program(const struct profile *base, const char *path)
{
	for (size_t i = 0; i < base->contexts.programs.length; i++)
		if (!strcmp(base->contexts.programs.items[i].path, path))
			return base->contexts.programs.items[i].node;
	for (size_t i = 0; i < base->contexts.programs.length; i++)
		if (!strcmp(path_file_name(base->contexts.programs.items[i].path), path_file_name(path)))
			return base->contexts.programs.items[i].node;
	return 0;
}

static bool is_beyond_program(const struct profile *profile, uint32_t node)
{
	enum place place = profile_function(profile, node)->place;

	return place == PLACE_kernel || place == PLACE_system_call;
}

static void match_nodes(struct arena *arena, struct match *match, struct comparison *c)
{
	const struct contexts *contexts = &match->buggy->contexts;
	size_t count = contexts->nodes.length;

	match->anchor = arena_array(arena, uint32_t, count);
	match->skipped = arena_array(arena, uint8_t, count);
	for (size_t i = 0; i < contexts->programs.length; i++) {
		uint32_t node = contexts->programs.items[i].node;

		c->base_node[node] = match->anchor[node] = find_program(match->base, contexts->programs.items[i].path);
		c->common_programs += c->base_node[node] != 0;
	}
	for (uint32_t i = 1; i < count; i++) {
		const struct node *node = &contexts->nodes.items[i];
		uint32_t above = match->anchor[node->parent];

		if (!node->function)
			continue;
		/* Functions are inlined; what a system call is made by, and does, is not. */
		if (above && (c->base_node[node->parent] || !is_beyond_program(match->buggy, i)))
			c->base_node[i] = find_child(match, above, node->parent, node->function);
		if (c->base_node[i]) {
			match->anchor[i] = c->base_node[i];
		} else if (above && match->skipped[node->parent] < MAX_SKIP) {
			match->anchor[i] = above;
			match->skipped[i] = match->skipped[node->parent] + 1;
		}
		c->new_contexts += !c->base_node[i];
	}
}

/* The system call that the node is or works for; 0 none. */
static uint32_t system_call_of(const struct profile *profile, uint32_t node)
{
	for (uint32_t at = node; profile->contexts.nodes.items[at].depth; at = profile->contexts.nodes.items[at].parent) {
		enum place place = profile_function(profile, at)->place;

		if (place == PLACE_system_call)
			return at;
		if (place != PLACE_kernel)
			return 0;
	}
	return 0;
}

/* Is what the node waits the rest of threads in the good run, or idleness in any? */
static bool rests(const struct profile *profile, uint32_t node, bool good)
{
	uint32_t call = system_call_of(profile, node);
	const struct tree_cost *cost = &profile->tree.costs.items[call];

	return call && ((good && cost->rest_ns * 2 > cost->off_ns) || cost->idle_ns * 2 > cost->off_ns);
}

/* Is it where a helper waits? */
static bool helps(const struct profile *profile, uint32_t node)
{
	uint32_t call = system_call_of(profile, node);
	const struct tree_cost *cost = &profile->tree.costs.items[call];

	return call && cost->helper_ns * 2 > cost->off_ns;
}

/* What threads of the profile rested below each context. */
static uint64_t *rest_below(struct arena *arena, const struct profile *profile)
{
	const struct contexts *contexts = &profile->contexts;
	uint64_t *below = arena_array(arena, uint64_t, contexts->nodes.length);

	for (size_t i = contexts->nodes.length; i-- > 1; ) {
		const struct tree_cost *cost = &profile->tree.costs.items[i];
		uint64_t own = cost->helper_ns > cost->idle_ns ? cost->helper_ns : cost->idle_ns;

		below[i] += own > cost->rest_ns ? own : cost->rest_ns;
		below[contexts->nodes.items[i].parent] += below[i];
	}
	return below;
}

/* The function that a wait is made for: below the kernel and the C library. */
static uint32_t asker(struct profile *profile, uint32_t node)
{
	while (profile->contexts.nodes.items[node].depth &&
	       (is_beyond_program(profile, node) || profile_place(profile, node) == PLACE_runtime))
		node = profile->contexts.nodes.items[node].parent;
	return node;
}

/* Does a helper wait here in another way than helpers did in the good run, with a
 * limit or without, for the same function? */
static bool helps_otherwise(const struct profile *base, const uint64_t *base_rest, struct profile *buggy,
			    const uint32_t *base_node, uint32_t node)
{
	uint32_t same;

	if (!helps(buggy, node))
		return false;
	same = base_node[asker(buggy, node)];
	return same && base_rest[same] * 2 > base->tree.costs.items[same].off_ns;
}

/* Is what the buggy run waits here something that tells nothing? What was matched
 * through functions that only one of the runs has is another wait. */
static bool tells_nothing(struct profile *base, const uint64_t *base_rest, struct profile *buggy, const uint32_t *base_node,
			  uint32_t node)
{
	uint32_t other = base_node[node];

	if (rests(buggy, node, false) || helps_otherwise(base, base_rest, buggy, base_node, node))
		return true;
	return other && base_node[asker(buggy, node)] == asker(base, other) &&
	       (rests(base, other, true) || (helps(base, other) && helps(buggy, node)));
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

int compare_profiles(struct arena *arena, struct profile *base, struct profile *buggy, enum rank_time time,
		     struct comparison *ret_comparison, struct err *err)
{
	const struct contexts *contexts = &buggy->contexts;
	const struct tree_cost *base_costs = base->tree.costs.items, *costs = buggy->tree.costs.items;
	size_t count = contexts->nodes.length;
	struct comparison c = {
		.base = base, .buggy = buggy,
		.base_node = arena_array(arena, uint32_t, count),
		.unit = arena_array(arena, uint32_t, count),
		.factor = arena_array(arena, double, count),
		.expected_ns = arena_array(arena, int64_t, count),
		.excess_ns = arena_array(arena, int64_t, count),
	};
	struct match match = { .base = base, .buggy = buggy };
	struct scale *scales = arena_array(arena, struct scale, count);
	const int64_t *own = rank_own(arena, &buggy->tree, time), *base_own = rank_own(arena, &base->tree, time);
	const uint64_t *base_rest = rest_below(arena, base);

	match_nodes(arena, &match, &c);
	if (!c.common_programs)
		return err_set(err, -ENODATA, "the two traces have no program in common: '%s' and '%s'",
			       base->contexts.programs.items[0].path, contexts->programs.items[0].path);
	for (uint32_t i = 1; i < count; i++) {
		const struct node *node = &contexts->nodes.items[i];
		uint32_t other = c.base_node[i];

		if (!node->function) {
			scales[i].factor = other ? ratio((double)costs[i].total_ns, (double)base_costs[other].total_ns) : 0;
			c.factor[i] = scales[i].factor;
			continue;
		}
		scales[i] = scales[node->parent];
		if (!scales[i].unit && other && was_completed(&costs[i]) && was_completed(&base_costs[other]))
			scales[i] = (struct scale){ ratio((double)costs[i].count, (double)base_costs[other].count), i };
		c.unit[i] = scales[i].unit;
		c.factor[i] = scales[i].factor;
		if (other)
			c.expected_ns[i] = (int64_t)((double)base_own[other] * scales[i].factor);
		c.excess_ns[i] = own[i] - c.expected_ns[i];
		if (time != RANK_cpu && c.excess_ns[i] > 0 && tells_nothing(base, base_rest, buggy, c.base_node, i))
			c.excess_ns[i] = 0;
	}
	*ret_comparison = c;
	return 0;
}
