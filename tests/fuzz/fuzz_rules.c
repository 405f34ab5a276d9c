/* The rule language: any text is taken or refused with a place, never worse; what is
 * taken can be asked. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "graph/graph.h"
#include "rules/rules.h"
#include "trace/event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct rule_facts facts = { .comm = "name" };
	static const uint64_t payload[8];
	struct rules *rules = rules_new();
	struct err err = { 0 };

	if (rules_add_text(rules, "input", (const char *)data, size, mechanism_find, &err)) {
		if (!err.text[0] || rules_count(rules))
			__builtin_trap();
	} else {
		struct rule_scene scene = { .data = payload, .thread = &facts, .tail = "" };

		for (size_t i = 0; i < rules_count(rules); i++)
			(void)condition_holds(&rules_at(rules, i)->where, &scene);
	}
	rules_free(rules);
	return 0;
}
