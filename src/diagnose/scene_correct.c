/* A person's statements, laid over graph and scene, see scene.h. */
#include "diagnose/scene.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "diagnose/scene_build.h"
#include "graph/graph.h"

static bool needs_build(const struct rules *corrections)
{
	for (size_t i = 0; i < rules_count(corrections); i++)
		switch (rules_at(corrections, i)->kind) {
		case RULE_cut_edge: case RULE_keep_edge: case RULE_join: case RULE_idle_wait: case RULE_flag:
		case RULE_probe:
			break;
		case RULE_boundary: case RULE_boundary_at: case RULE_peers: case RULE_edge: case RULE_wake: case RULE_cut:
		case RULE_idle:
			return true;
		}
	return false;
}

/* The default rules, those of packs and, behind them, the person's. */
static int all_rules(const struct trace *trace, const struct rules *corrections, struct rules **ret_rules, struct err *err)
{
	struct rules *rules = rules_new();
	int r = graph_add_rules(rules, trace, err);
	struct arena arena;

	arena_init(&arena);
	for (size_t i = 0; !r && i < rules_count(corrections); i++) {
		const struct rule *rule = rules_at(corrections, i);
		const char *text = arena_printf(&arena, "%s;", rule->text);

		r = rules_add_text(rules, rule->file, text, strlen(text), mechanism_find, err);
	}
	arena_done(&arena);
	if (r)
		rules_free(rules);
	else
		*ret_rules = rules;
	return r;
}

static int build_anew(struct scene *scene, const struct rules *corrections, struct err *err)
{
	struct graph_options options = { 0 };
	struct rules *rules = NULL;
	struct graph *graph;
	int r = corrections ? all_rules(scene->trace, corrections, &rules, err) : 0;

	options.rules = rules;
	if (!r)
		r = graph_build(scene->trace, scene->tables, &options, &graph, err);
	rules_free(rules);
	if (r)
		return r;
	graph_free(scene->graph);
	scene->graph = graph;
	scene->built_with_corrections = corrections != NULL;
	return 0;
}

static int correct_graph(struct scene *scene, const struct rules *corrections, struct err *err)
{
	bool build = needs_build(corrections);
	int r = 0;

	if (build || scene->built_with_corrections)
		r = build_anew(scene, build ? corrections : NULL, err);
	return r || build ? r : graph_correct(scene->graph, corrections, NULL, err);
}

static int take_boundary(struct scene *scene, const struct rule *rule, struct err *err)
{
	struct arena arena;
	const struct event *e;

	arena_init(&arena);
	e = trace_event(scene->trace, &arena, rule->from_event);
	if (e) {
		scene->boundaries.items[scene->boundaries.count++] = e->time;
		scene->boundaries.items[scene->boundaries.count++] = tables_thread(scene->tables, e->tid, e->time);
	}
	arena_done(&arena);
	return e ? 0 : err_set(err, -ENOENT, "the trace has no event %" PRIu64, rule->from_event);
}

/* The waits at the same place as the one that was marked are as harmless. */
static void mark_idle(struct scene *scene, uint64_t event)
{
	for (uint32_t i = 0; i < scene->thread_count; i++)
		for (uint32_t j = scene->threads[i].wait; j < scene_waits_end(scene, i); j++)
			if (scene->waits[j].begin_event == event) {
				for (uint32_t k = scene->threads[i].wait; k < scene_waits_end(scene, i); k++)
					scene->waits[k].idle |= scene->waits[k].site == scene->waits[j].site;
				return;
			}
}

static int take(struct scene *scene, const struct rules *corrections, struct err *err)
{
	size_t count = rules_count(corrections);
	int r = correct_graph(scene, corrections, err);

	if (r)
		return r;
	scene_lay(scene, false);
	scene->boundaries = (struct numbers){ arena_array(&scene->arena, uint64_t, count * 2), 0 };
	scene->object_names = arena_array(&scene->arena, struct object_name, count);
	scene->name_count = 0;
	for (size_t i = 0; !r && i < count; i++) {
		const struct rule *rule = rules_at(corrections, i);

		if (rule->kind == RULE_idle_wait)
			mark_idle(scene, rule->from_event);
		else if (rule->kind == RULE_flag)
			scene->object_names[scene->name_count++] =
				(struct object_name){ rule->address, arena_strdup(&scene->arena, rule->name) };
		else if (rule->kind == RULE_boundary_at)
			r = take_boundary(scene, rule, err);
	}
	scene_join_waits(scene);
	scene->version++;
	return r;
}

int scene_correct(struct scene *scene, const struct rules *corrections, struct err *err)
{
	int r = take(scene, corrections, err);

	if (r) {
		struct rules *none = rules_new();
		struct err again;

		take(scene, none, &again);
		rules_free(none);
	}
	return r;
}
