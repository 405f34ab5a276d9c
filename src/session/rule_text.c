/* See rule_text.h. */
#include "session/rule_text.h"

#include <inttypes.h>

static void put_value(struct buf *buf, const struct limit_info *limit)
{
	uint64_t value = limit->value;

	if (limit->unit != UNIT_ns)
		buf_printf(buf, "%" PRIu64 "%s", value, limit->unit == UNIT_percent ? " %" : "");
	else if (value % 1000000000 == 0)
		buf_printf(buf, "%" PRIu64 " s", value / 1000000000);
	else
		buf_printf(buf, "%" PRIu64 " %s", value % 1000000 ? value : value / 1000000, value % 1000000 ? "ns" : "ms");
}

void rule_text(struct buf *buf, enum rule_id rule)
{
	const struct rule_info *info = &rule_infos[rule];

	buf_printf(buf, "  %-20s %3u %%  %s\n", info->name, (unsigned)info->weight, info->why);
	for (unsigned i = 0; i < LIMIT_COUNT; i++) {
		if (limit_infos[i].rule != rule)
			continue;
		buf_printf(buf, "      %s = ", limit_infos[i].name);
		put_value(buf, &limit_infos[i]);
		buf_printf(buf, ": %s\n", limit_infos[i].why);
	}
}

/* A person may write hyphens. */
static bool same_name(const char *name, const char *text)
{
	while (*name && *name == (*text == '-' ? '_' : *text)) {
		name++;
		text++;
	}
	return *name == *text;
}

enum rule_id rule_named(const char *name)
{
	for (unsigned i = 1; i < RULE_COUNT; i++)
		if (same_name(rule_infos[i].name, name))
			return (enum rule_id)i;
	for (unsigned i = 0; i < LIMIT_COUNT; i++)
		if (same_name(limit_infos[i].name, name))
			return limit_infos[i].rule;
	return RULE_NONE;
}
