/* The rules that a trace is read with: the default ones, and those of the packs whose
 * probes it has. */
#include <string.h>

#include "graph/graph.h"
#include "trace/probe_names.h"

static bool has_probe(const struct probe_names *names, const char *wanted)
{
	for (uint32_t i = 1; i < names->count; i++)
		if (!strcmp(names->items[i].name, wanted))
			return true;
	return false;
}

static int add_if_probed(struct rules *rules, const char *pack, const struct probe_names *names, struct err *err)
{
	struct rules *alone = rules_new();
	int r = rules_add_pack(alone, pack, mechanism_find, err);
	bool probed = false;

	for (size_t i = 0; !r && i < rules_count(alone); i++)
		probed = probed || (rules_at(alone, i)->kind == RULE_probe && has_probe(names, rules_at(alone, i)->name));
	rules_free(alone);
	return r || !probed ? r : rules_add_pack(rules, pack, mechanism_find, err);
}

int graph_add_rules(struct rules *rules, const struct trace *trace, struct err *err)
{
	struct probe_names names;
	struct arena arena;
	int r = rules_add_default(rules, mechanism_find, err);

	arena_init(&arena);
	if (!r && trace_summary(trace)->counts[EVENT_probe_point]) {
		probe_names_read(&arena, trace, &names);
		for (size_t i = 0; !r && i < rules_pack_count; i++)
			r = add_if_probed(rules, rules_packs[i].name, &names, err);
	}
	arena_done(&arena);
	return r;
}
