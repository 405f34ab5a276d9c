/* argus rules: by what the diagnosis judges. */
#include "base/json.h"
#include "diagnose/judgement.h"
#include "session/command.h"
#include "session/rule_text.h"

static const struct option_spec rules_options[] = {
	OPTION_JSON,
	{ 0 }
};

static void put_text(struct buf *buf)
{
	for (unsigned rule = 1; rule < RULE_COUNT; rule++) {
		const struct rule_info *info = &rule_infos[rule];

		if (rule == 1 || info->stage != rule_infos[rule - 1].stage)
			buf_printf(buf, "%s%s:\n", rule == 1 ? "" : "\n", rule_stage_name(info->stage));
		rule_text(buf, (enum rule_id)rule);
	}
}

static void put_json(struct buf *buf)
{
	static const char *const units[] = { [UNIT_ns] = "ns", [UNIT_count] = "count", [UNIT_percent] = "percent" };
	struct json json;

	json_init(&json, buf);
	json.pretty = true;
	json_array(&json, NULL);
	for (unsigned rule = 1; rule < RULE_COUNT; rule++) {
		json_object(&json, NULL);
		json_text(&json, "rule", rule_infos[rule].name);
		json_text(&json, "stage", rule_stage_name(rule_infos[rule].stage));
		json_u64(&json, "weight", rule_infos[rule].weight);
		json_text(&json, "says", rule_infos[rule].says);
		json_text(&json, "why", rule_infos[rule].why);
		json_array(&json, "limits");
		for (unsigned i = 0; i < LIMIT_COUNT; i++)
			if (limit_infos[i].rule == rule) {
				json_object(&json, NULL);
				json_text(&json, "limit", limit_infos[i].name);
				json_u64(&json, "value", limit_infos[i].value);
				json_text(&json, "unit", units[limit_infos[i].unit]);
				json_text(&json, "why", limit_infos[i].why);
				json_end(&json);
			}
		json_end(&json);
		json_end(&json);
	}
	json_end(&json);
	buf_char(buf, '\n');
}

static int run_rules(struct command_context *context, struct err *err)
{
	struct buf buf;
	int r;

	(void)err;
	buf_init(&buf);
	if (options_has(context->options, "json"))
		put_json(&buf);
	else
		put_text(&buf);
	r = sink_buf(context->out, &buf);
	buf_done(&buf);
	return r;
}

const struct command command_rules = {
	.name = "rules",
	.arguments = "",
	.summary = "list the rules and limits by which hangs and culprits are judged",
	.help = "`argus why --without RULE` asks without one of them, `--set LIMIT=VALUE` with another\n"
		"limit: --set wait_ns=300ms. A rule's weight is how sure it is.\n",
	.options = rules_options,
	.pages = true,
	.run = run_rules,
};
