/* Prints docs/events.md from the event table: `tools/events-md > docs/events.md`. */
#include <stdio.h>
#include <string.h>

#include "trace/event.h"

static const struct { enum field_kind kind; unsigned number; const char *name, *doc; } values[] = {
#define KIND(kind)
#define VALUE(kind, number, name, doc) { FIELD_##kind, number, #name, doc },
#include "trace/kinds.def"
#undef KIND
#undef VALUE
};

static void print_categories(const struct event_info *info)
{
	static const struct { unsigned bit; const char *name; } names[] = {
		{ SEMANTICS, "semantics" }, { BOUNDARY, "boundary" }, { CONNECTION, "connection" }, { STATE, "state" }, { META, "meta" }
	};
	const char *comma = "";

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (info->categories & names[i].bit) {
			printf("%s%s", comma, names[i].name);
			comma = ", ";
		}
}

static void print_event(unsigned number, const struct event_info *info)
{
	static const char *const levels[] = { [ALWAYS] = "always", [LEAN] = "lean", [FULL] = "full", [PACK] = "packs" };

	printf("### %s (%u)\n%s. Source: %s. Category: ", info->name, number, info->doc, info->source);
	print_categories(info);
	printf(". Level: %s.\n\n", levels[info->level]);
	if (info->field_count || info->tail != FIELD_KINDS)
		printf("| field | kind | bytes | meaning |\n|---|---|---|---|\n");
	for (const struct field_info *field = info->fields; field < info->fields + info->field_count; field++)
		if (strncmp(field->name, "reserved", 8))
			printf("| %s | %s | %u | %s |\n", field->name, kind_name(field->kind), field->bytes, field->doc);
	if (info->tail != FIELD_KINDS)
		printf("| (behind the fields) | %s | | %s |\n", kind_name(info->tail), info->tail_doc);
	printf("\n");
}

static void print_values(void)
{
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		if (!i || values[i].kind != values[i - 1].kind)
			printf("%s### %s\n%s| value | name | meaning |\n|---|---|---|\n", i ? "\n" : "", kind_name(values[i].kind),
			       kind_is_flags(values[i].kind) ? "Bits, or'ed.\n\n" : "");
		printf("| %u | %s | %s |\n", values[i].number, values[i].name, values[i].doc);
	}
}

int main(void)
{
	printf("# The events\n\n"
	       "Made from `src/trace/events.def` and `src/trace/kinds.def`; `tools/events-md > docs/events.md` makes it anew.\n\n"
	       "Every record begins with its time (CLOCK_MONOTONIC, in nanoseconds), the thread in which it happened (0: an idle\n"
	       "processor) and the processor. Numbers of events and values are only ever added. `docs/format.md` tells how each\n"
	       "kind of field is shown and written.\n\n## Events\n\n");
	for (unsigned i = 0; i < EVENT_MAX; i++)
		if (event_infos[i].name)
			print_event(i, &event_infos[i]);
	printf("## Named values\n\n");
	print_values();
	return 0;
}
