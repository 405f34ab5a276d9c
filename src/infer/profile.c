/* See profile.h. */
#include "infer/profile.h"

#include <stdlib.h>
#include <string.h>

#include "infer/source.h"
#include "infer/tally.h"
#include "symbols/demangle.h"

/* By its whole name, or as reports show it. */
static bool is_named(const char *name, const char *wanted)
{
	struct arena arena;
	bool same = !strcmp(name, wanted);

	if (same || !strchr(name, '(') || !strstr(name, wanted))
		return same;
	arena_init(&arena);
	same = !strcmp(demangle_brief(&arena, name), wanted);
	arena_done(&arena);
	return same;
}

static bool is_kept(const struct profile *profile, const struct latency_instance *i)
{
	const struct profile_instances *instances = &profile->instances;

	return instances->all ||
	       (instances->function && is_named(profile_function(profile, i->node)->name, instances->function));
}

static void on_instance(void *data, const struct latency_instance *i)
{
	struct profile *profile = data;

	tally_instance(profile->tally, i);
	if (i->off_ns && profile_function(profile, i->node)->place == PLACE_system_call)
		rest_add_wait(&profile->rest, i);
	if (!is_kept(profile, i))
		return;
	if (profile->instances.max && profile->instances.list.length >= profile->instances.max)
		profile->instances.passed_over++;
	else
		vec_push(&profile->instances.list, *i);
}

static void on_stretch(void *data, uint32_t sure, uint64_t from_ns, uint64_t to_ns, bool idle)
{
	struct profile *profile = data;

	tally_stretch(profile->tally, sure, to_ns - from_ns, idle);
}

static void on_life(void *data, uint32_t thread, uint64_t ns, uint64_t end_ns)
{
	struct profile *profile = data;

	rest_add_life(&profile->rest, thread, ns, end_ns);
}

static void on_gone(void *data, uint32_t thread)
{
	struct profile *profile = data;

	rest_judge(&profile->rest, thread, &profile->observer.threads.items[thread]);
}

static void on_sample(void *data, uint32_t node)
{
	struct profile *profile = data;

	tally_sample(profile->tally, node);
}

static int by_begin(const void *a, const void *b)
{
	const struct latency_instance *x = a, *y = b;

	return x->first != y->first ? (x->first < y->first ? -1 : 1) :
	       x->thread != y->thread ? (x->thread < y->thread ? -1 : 1) : x->node < y->node ? -1 : x->node > y->node;
}

int profile_build(const struct trace *trace, const struct tables *tables, struct names *names,
		  const struct profile_options *options, struct functions *functions, struct profile **ret_profile,
		  struct err *err)
{
	struct profile *profile = mem_zalloc(sizeof(*profile));
	int result;

	arena_init(&profile->arena);
	if (!functions) {
		functions_init(&profile->own_functions, &profile->arena);
		functions = &profile->own_functions;
	}
	profile->functions = functions;
	profile->source = source_new(tables, names, functions);
	contexts_init(&profile->contexts, functions, source_contexts(profile->source));
	tree_init(&profile->tree, &profile->contexts);
	profile->tally = tally_new(&profile->tree);
	profile->modules = modules_new(&profile->arena, tables);
	profile->instances.all = options->all_instances;
	profile->instances.function = options->instances_of;
	profile->instances.max = options->max_instances;
	profile->observer.scope = options->scope;
	profile->observer.rules = (struct latency_rules){
		.contexts = &profile->contexts,
		.hooks = { .data = profile, .instance = on_instance, .stretch = on_stretch, .sample = on_sample,
			   .life = on_life, .gone = on_gone },
		.pace = &profile->pace,
		.by_function = options->by_function,
	};
	result = observe_run(&profile->observer, trace, tables, err);
	tally_finish(profile->tally);
	if (result) {
		profile_free(profile);
		return result;
	}
	tree_finish(&profile->tree);
	rest_finish(&profile->rest, &profile->tree, profile->observer.threads.items);
	if (profile->instances.list.length)
		qsort(profile->instances.list.items, profile->instances.list.length,
		      sizeof(*profile->instances.list.items), by_begin);
	*ret_profile = profile;
	return 0;
}

void profile_free(struct profile *profile)
{
	if (!profile)
		return;
	vec_done(&profile->instances.list);
	observe_done(&profile->observer);
	tree_done(&profile->tree);
	vec_done(&profile->pace.functions);
	rest_done(&profile->rest);
	contexts_done(&profile->contexts);
	source_free(profile->source);
	modules_free(profile->modules);
	if (profile->functions == &profile->own_functions)
		functions_done(&profile->own_functions);
	arena_done(&profile->arena);
	free(profile);
}

const struct function *profile_function(const struct profile *profile, uint32_t node)
{
	return functions_get(profile->functions, profile->contexts.nodes.items[node].function);
}

enum place profile_place(struct profile *profile, uint32_t node)
{
	const struct node *n = &profile->contexts.nodes.items[node];

	return modules_place(profile->modules, profile->contexts.programs.items[n->program].path,
			     functions_get(profile->functions, n->function));
}

uint32_t profile_look_at(struct profile *profile, uint32_t node)
{
	for (uint32_t at = node; at && profile->contexts.nodes.items[at].function;
	     at = profile->contexts.nodes.items[at].parent)
		if (!place_is_floor(profile_place(profile, at)))
			return at;
	return node;
}

uint32_t *profile_path(struct arena *arena, const struct profile *profile, uint32_t node, uint32_t *ret_count)
{
	const struct node *nodes = profile->contexts.nodes.items;
	uint32_t count = nodes[node].depth;
	uint32_t *path = arena_array(arena, uint32_t, count ? count : 1);

	for (uint32_t at = node, i = count; i; at = nodes[at].parent)
		path[--i] = at;
	*ret_count = count;
	return path;
}
