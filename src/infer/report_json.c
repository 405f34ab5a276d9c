/* See report.h: the JSON forms. */
#include "infer/report.h"

static void frame_json(struct json *json, const struct report *report, uint32_t node)
{
	struct profile *profile = report->profile;
	const struct tree_cost *cost = &profile->tree.costs.items[node];
	const struct function *f = profile_function(profile, node);

	json_object(json, NULL);
	json_text(json, "function", f->name);
	json_text(json, "module", report_module(f));
	json_text(json, "place", place_name(profile_place(profile, node)));
	json_u64(json, "count", cost->count);
	json_u64(json, "total_ns", rank_total(cost, report->time));
	json_u64(json, "conservative_ns", cost->conservative_ns);
	json_u64(json, "aggressive_ns", cost->aggressive_ns);
	json_u64(json, "min_ns", cost->min_ns);
	json_u64(json, "max_ns", cost->max_ns);
	json_u64(json, "lower_ns", cost->lower_ns);
	json_u64(json, "upper_ns", cost->upper_ns);
	if (report->comparison) {
		const struct comparison *c = report->comparison;

		json_i64(json, "own_ns", c->excess_ns[node] + c->expected_ns[node]);
		json_i64(json, "expected_ns", c->expected_ns[node]);
		json_i64(json, "excess_ns", c->excess_ns[node]);
		json_u64(json, "base_count", c->base->tree.costs.items[c->base_node[node]].count);
		json_bool(json, "only_here", !c->base_node[node]);
	} else {
		json_i64(json, "own_ns", report->weights[node]);
	}
	json_end(json);
}

/* What made the runs comparable at this frame; null where only this run has it. */
static void scale_json(struct json *json, const struct comparison *c, uint32_t node)
{
	uint32_t unit = c->unit[node];

	if (!c->base_node[node]) {
		json_null(json, "compared_by");
		return;
	}
	json_object(json, "compared_by");
	json_text(json, "unit", unit ? profile_function(c->buggy, unit)->name : NULL);
	json_u64(json, "count", unit ? c->buggy->tree.costs.items[unit].count : 0);
	json_u64(json, "base_count", unit ? c->base->tree.costs.items[c->base_node[unit]].count : 0);
	json_double(json, "factor", c->factor[node]);
	json_end(json);
}

void report_paths_json(struct json *json, const char *key, const struct report *report)
{
	struct profile *profile = report->profile;
	struct arena arena;

	arena_init(&arena);
	json_array(json, key);
	for (size_t i = 0; i < report->path_count; i++) {
		const struct rank_path *path = &report->paths[i];
		const struct tree_cost *hot = &profile->tree.costs.items[path->hot];
		uint32_t look_at, count, *nodes = profile_path(&arena, profile, path->node, &count);
		bool internal = report_path_internal(report, path, &look_at);
		const struct function *f = profile_function(profile, look_at);
		uint32_t program = profile->contexts.nodes.items[path->node].program;

		json_object(json, NULL);
		json_u64(json, "rank", i + 1);
		json_i64(json, "cost_ns", path->cost_ns);
		json_i64(json, "new_ns", path->new_ns);
		json_u64(json, "count", hot->count);
		json_u64(json, "calls", hot->calls);
		json_u64(json, "merged", hot->merged);
		json_u64(json, "min_ns", hot->min_ns);
		json_u64(json, "max_ns", hot->max_ns);
		json_text(json, "program", profile->contexts.programs.items[program].path);
		json_text(json, "function", f->name);
		json_text(json, "module", report_module(f));
		json_text(json, "module_path", f->path);
		json_text(json, "place", place_name(profile_place(profile, look_at)));
		json_bool(json, "internal", internal);
		json_u64(json, "hot", profile->contexts.nodes.items[path->hot].depth - 1);
		json_u64(json, "look_at", profile->contexts.nodes.items[look_at].depth - 1);
		if (report->comparison)
			scale_json(json, report->comparison, path->hot);
		json_array(json, "frames");
		for (uint32_t n = 0; n < count; n++)
			frame_json(json, report, nodes[n]);
		json_end(json);
		json_end(json);
	}
	json_end(json);
	arena_done(&arena);
}

void report_functions_json(struct json *json, const char *key, const struct report *report)
{
	json_array(json, key);
	for (size_t i = 0; i < report->function_count; i++) {
		const struct rank_function *ranked = &report->functions[i];
		const struct function *f = functions_get(report->profile->functions, ranked->function);

		json_object(json, NULL);
		json_u64(json, "rank", i + 1);
		json_text(json, "function", f->name);
		json_text(json, "module", report_module(f));
		json_text(json, "place", place_name(profile_place(report->profile, ranked->node)));
		json_u64(json, "count", ranked->count);
		json_i64(json, "own_ns", ranked->own_ns);
		json_u64(json, "total_ns", ranked->total_ns);
		json_end(json);
	}
	json_end(json);
}

void report_instances_json(struct json *json, const char *key, const struct profile *profile)
{
	json_array(json, key);
	for (size_t i = 0; i < profile->instances.list.length; i++) {
		const struct latency_instance *one = &profile->instances.list.items[i];
		const struct observe_thread *thread = &profile->observer.threads.items[one->thread];

		json_object(json, NULL);
		json_text(json, "function", profile_function(profile, one->node)->name);
		json_u64(json, "context", one->node);
		json_u64(json, "tid", thread->tid);
		json_u64(json, "first_ns", one->first);
		json_u64(json, "last_ns", one->last);
		json_u64(json, "earliest_ns", one->before);
		json_u64(json, "latest_ns", one->after);
		json_u64(json, "begin_ns", one->begin);
		json_u64(json, "end_ns", one->end);
		json_u64(json, "waiting_ns", one->off_ns);
		json_u64(json, "queued_ns", one->queued_ns);
		json_u64(json, "calls", one->calls);
		json_bool(json, "may_be_merged", one->flags & LATENCY_merged);
		json_bool(json, "begin_seen", !(one->flags & LATENCY_open_begin));
		json_bool(json, "end_seen", !(one->flags & LATENCY_open_end));
		json_end(json);
	}
	json_end(json);
}

void report_counts_json(struct json *json, const char *key, const struct profile *profile)
{
	const struct observe_counts *counts = &profile->observer.counts;

	json_object(json, key);
	json_u64(json, "from_ns", counts->from_ns);
	json_u64(json, "to_ns", counts->to_ns);
	json_u64(json, "stacks", counts->stacks);
	json_u64(json, "cut_stacks", counts->cut);
	json_u64(json, "passed_over", counts->broken);
	json_u64(json, "without_stack", counts->missing);
	json_u64(json, "gaps", counts->gaps);
	json_u64(json, "threads", counts->threads);
	json_u64(json, "instances", profile->tree.instances);
	json_u64(json, "merged", profile->tree.merged);
	json_u64(json, "contexts", profile->contexts.nodes.length - 1 - profile->contexts.programs.length);
	json_u64(json, "functions", profile->functions->list.length - 1);
	json_array(json, "programs");
	for (size_t i = 0; i < profile->contexts.programs.length; i++)
		json_text(json, NULL, profile->contexts.programs.items[i].path);
	json_end(json);
	json_end(json);
}
