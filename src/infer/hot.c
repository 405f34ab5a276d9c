/* See hot.h. */
#include "infer/hot.h"

#include "infer/profile.h"
#include "infer/rank.h"

/* So long before the window the thread's stacks are looked at already, so that
 * its state at the begin is known. */
#define LOOK_BACK_NS 2000000000u

struct asking {
	struct arena *arena;
	struct profile *profile;
	const uint64_t *function_ns; /* by function's number */
	enum rank_time time;
};

static struct hot_context describe(const struct asking *asking, const struct rank_path *ranked)
{
	struct arena *arena = asking->arena;
	struct profile *profile = asking->profile;
	struct hot_context context = { .cost_ns = (uint64_t)ranked->new_ns };
	struct hot_frame *frames;
	uint32_t *path = profile_path(arena, profile, ranked->node, &context.frame_count);
	uint32_t look_at = profile_look_at(profile, ranked->hot);

	frames = arena_array(arena, struct hot_frame, context.frame_count);
	for (uint32_t i = 0; i < context.frame_count; i++) {
		const struct tree_cost *cost = &profile->tree.costs.items[path[i]];
		const struct function *f = profile_function(profile, path[i]);
		uint32_t number = profile->contexts.nodes.items[path[i]].function;

		frames[i].function = arena_strdup(arena, f->name);
		frames[i].module = arena_strdup(arena, f->module);
		frames[i].place = place_name(profile_place(profile, path[i]));
		frames[i].total_ns = cost->total_ns;
		frames[i].own_ns = cost->own_ns;
		frames[i].function_ns = asking->function_ns[number];
		frames[i].number = number;
		frames[i].guessed = f->guessed;
		frames[i].missing = number == profile->contexts.cut_function;
		if (path[i] == ranked->hot)
			context.hot = i;
		if (path[i] == look_at)
			context.look_at = i;
	}
	/* The part of the path that is its own. */
	for (uint32_t at = ranked->node;; at = profile->contexts.nodes.items[at].parent) {
		const struct tree_cost *cost = &profile->tree.costs.items[at];

		context.cpu_ns += cost->own_cpu_ns;
		if (at == ranked->head || !at)
			break;
	}
	context.frames = frames;
	context.count = profile->tree.costs.items[ranked->hot].count;
	context.internal = profile_place(profile, look_at) == PLACE_program;
	return context;
}

static uint64_t *function_times(const struct asking *asking, const int64_t *weights)
{
	struct profile *profile = asking->profile;
	uint64_t *times = arena_array(&profile->arena, uint64_t, profile->functions->list.length);
	size_t count;
	const struct rank_function *functions =
		rank_functions(&profile->arena, &profile->tree, weights, asking->time, true, &count);

	for (size_t i = 0; i < count; i++)
		times[functions[i].function] = functions[i].total_ns;
	return times;
}

/* Down the heaviest calls of the heaviest program. The contexts' own shares say
 * little where recursion or missing frames scatter a function over many: what counts
 * as holding half of the time is the function. */
static struct hot_context describe_heaviest(const struct asking *asking, uint64_t whole_ns)
{
	const struct profile *profile = asking->profile;
	const struct tree_cost *costs = profile->tree.costs.items;
	const struct node *nodes = profile->contexts.nodes.items;
	struct rank_path path = { 0 };
	struct hot_context context;
	uint32_t at = 0;

	for (size_t i = 0; i < profile->contexts.programs.length; i++) {
		uint32_t node = profile->contexts.programs.items[i].node;

		if (!at || rank_total(&costs[node], asking->time) > rank_total(&costs[at], asking->time))
			at = node;
	}
	while (at) {
		uint32_t best = 0;

		for (uint32_t child = costs[at].first_child; child; child = costs[child].next_sibling)
			if (rank_total(&costs[child], asking->time) &&
			    (!best || rank_total(&costs[child], asking->time) > rank_total(&costs[best], asking->time)))
				best = child;
		if (!best)
			break;
		at = best;
		if (nodes[at].function != profile->contexts.cut_function &&
		    (!path.hot || asking->function_ns[nodes[at].function] * 2 >= whole_ns))
			path.hot = at;
		path.node = path.head = at;
	}
	if (!path.hot)
		return (struct hot_context){ 0 };
	path.new_ns = (int64_t)asking->function_ns[nodes[path.hot].function];
	context = describe(asking, &path);
	context.cpu_ns = costs[path.hot].cpu_ns;
	context.share = whole_ns ? (double)context.cost_ns / (double)whole_ns : 0;
	return context;
}

int hot_contexts(struct arena *arena, const struct trace *trace, const struct tables *tables, struct names *names,
		 uint32_t tid, uint64_t from_ns, uint64_t to_ns, bool cpu_only, size_t max, struct hot *ret_hot,
		 struct err *err)
{
	const struct profile_options options = {
		.scope = { .tids = &tid, .tid_count = 1, .from_ns = from_ns, .to_ns = to_ns,
			   .before_ns = LOOK_BACK_NS, .kernel_threads = true },
	};
	struct hot hot = { 0 };
	struct hot_context *contexts;
	struct rank_path *paths;
	struct asking asking = { .arena = arena, .time = cpu_only ? RANK_cpu : RANK_all };
	struct profile *profile;
	uint64_t whole_ns = 0;
	int64_t *weights;
	int result = profile_build(trace, tables, names, &options, NULL, &profile, err);

	if (result)
		return result;
	asking.profile = profile;
	weights = rank_own(&profile->arena, &profile->tree, asking.time);
	asking.function_ns = function_times(&asking, weights);
	paths = rank_paths(&profile->arena, &profile->tree, weights, max, &hot.count);
	contexts = arena_array(arena, struct hot_context, hot.count ? hot.count : 1);
	for (size_t i = 0; i < profile->contexts.programs.length; i++) {
		const struct tree_cost *cost = &profile->tree.costs.items[profile->contexts.programs.items[i].node];

		hot.accounted_ns += cost->total_ns;
		whole_ns += rank_total(cost, asking.time);
	}
	hot.heaviest = describe_heaviest(&asking, whole_ns);
	for (size_t i = 0; i < hot.count; i++) {
		contexts[i] = describe(&asking, &paths[i]);
		contexts[i].share = hot.accounted_ns ? (double)contexts[i].cost_ns / (double)hot.accounted_ns : 0;
	}
	hot.contexts = contexts;
	hot.stacks = profile->observer.counts.stacks;
	hot.broken = profile->observer.counts.broken + profile->observer.counts.cut;
	profile_free(profile);
	*ret_hot = hot;
	return 0;
}
