/* See hot.h. */
#include "infer/hot.h"

#include "infer/profile.h"
#include "infer/rank.h"

/* So long before the window the thread's stacks are looked at already, so that
 * its state at the begin is known. */
#define LOOK_BACK_NS 2000000000u

static struct hot_context describe(struct arena *arena, struct profile *profile, const struct rank_path *ranked)
{
	struct hot_context context = { .cost_ns = (uint64_t)ranked->new_ns };
	struct hot_frame *frames;
	uint32_t *path = profile_path(arena, profile, ranked->node, &context.frame_count);
	uint32_t look_at = profile_look_at(profile, ranked->hot);

	frames = arena_array(arena, struct hot_frame, context.frame_count);
	for (uint32_t i = 0; i < context.frame_count; i++) {
		const struct tree_cost *cost = &profile->tree.costs.items[path[i]];
		const struct function *f = profile_function(profile, path[i]);

		frames[i].function = arena_strdup(arena, f->name);
		frames[i].module = arena_strdup(arena, f->module);
		frames[i].place = place_name(profile_place(profile, path[i]));
		frames[i].total_ns = cost->total_ns;
		frames[i].own_ns = cost->own_ns;
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
	struct profile *profile;
	int64_t *weights;
	int result = profile_build(trace, tables, names, &options, NULL, &profile, err);

	if (result)
		return result;
	weights = rank_own(&profile->arena, &profile->tree, cpu_only ? RANK_cpu : RANK_all);
	paths = rank_paths(&profile->arena, &profile->tree, weights, max, &hot.count);
	contexts = arena_array(arena, struct hot_context, hot.count ? hot.count : 1);
	for (size_t i = 0; i < profile->contexts.programs.length; i++)
		hot.accounted_ns += profile->tree.costs.items[profile->contexts.programs.items[i].node].total_ns;
	for (size_t i = 0; i < hot.count; i++) {
		contexts[i] = describe(arena, profile, &paths[i]);
		contexts[i].share = hot.accounted_ns ? (double)contexts[i].cost_ns / (double)hot.accounted_ns : 0;
	}
	hot.contexts = contexts;
	hot.stacks = profile->observer.counts.stacks;
	hot.broken = profile->observer.counts.broken + profile->observer.counts.cut;
	profile_free(profile);
	*ret_hot = hot;
	return 0;
}
