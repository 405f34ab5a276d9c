/* See judgement.h. */
#include "diagnose/judgement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"

#define SPOKEN_MOST 4096u /* of one question */

const struct rule_info rule_infos[RULE_COUNT] = {
	[RULE_NONE] = { "none", "", "", STAGE_COUNT, 0 },
#define RULE(stage, name, weight, says, function, why) [RULE_##name] = { #name, why, says, STAGE_##stage, weight },
#include "diagnose/rules.def"
};

const struct limit_info limit_infos[LIMIT_COUNT] = {
#define RULE(stage, name, weight, says, function, why)
#define LIMIT(name, rule, value, unit, why) [LIMIT_##name] = { #name, why, RULE_##rule, UNIT_##unit, value },
#include "diagnose/rules.def"
};

const char *rule_stage_name(enum rule_stage stage)
{
	switch (stage) {
	case STAGE_EVERYWHERE: return "everywhere";
	case STAGE_NOW: return "now";
	case STAGE_REST: return "rest";
	case STAGE_AWAKE: return "no rest";
	case STAGE_HANG: return "hang";
	case STAGE_STRETCH: return "stretch";
	case STAGE_MEANT: return "meant";
	case STAGE_ORDER: return "order";
	case STAGE_CHARGE: return "charge";
	case STAGE_SUSPECT: return "suspect";
	case STAGE_WEIGHING: return "weighing";
	case STAGE_CERTAINTY: return "certainty";
	case STAGE_COUNT: break;
	}
	return "";
}

void judgement_init(struct judgement *j)
{
	memset(j, 0, sizeof(*j));
	judgement_reset(j);
}

void judgement_reset(struct judgement *j)
{
	memset(j->off, 0, sizeof(j->off));
	for (unsigned i = 0; i < LIMIT_COUNT; i++)
		j->limits[i] = limit_infos[i].value;
}

void judgement_done(struct judgement *j)
{
	vec_done(&j->spoken);
}

/* Names in the table have underscores; a person may write either. */
static bool same_name(const char *name, const char *text, size_t length)
{
	size_t i;

	for (i = 0; i < length && name[i]; i++)
		if (name[i] != (text[i] == '-' ? '_' : text[i]))
			return false;
	return i == length && !name[i];
}

int judgement_without(struct judgement *j, const char *rule, struct err *err)
{
	for (unsigned i = 1; i < RULE_COUNT; i++)
		if (same_name(rule_infos[i].name, rule, strlen(rule))) {
			if (rule_infos[i].stage == STAGE_EVERYWHERE)
				return err_set(err, -EINVAL, "'%s' cannot be left out: it says what words mean; --set changes its limits", rule);
			j->off[i] = true;
			return 0;
		}
	return err_set(err, -ENOENT, "there is no rule '%s'; `argus rules` lists them", rule);
}

static int read_value(enum limit_unit unit, const char *text, uint64_t *ret_value)
{
	size_t length = strlen(text);
	char *end;

	if (unit == UNIT_ns)
		return parse_duration(text, ret_value);
	if (!length || *text == '-' || length > 18)
		return -EINVAL;
	*ret_value = strtoull(text, &end, 10);
	return end == text || (*end && (unit != UNIT_percent || strcmp(end, "%"))) ? -EINVAL : 0;
}

int judgement_adjust(struct judgement *j, const char *text, struct err *err)
{
	const char *equals = strchr(text, '=');

	if (!equals)
		return err_set(err, -EINVAL, "'%s': write LIMIT=VALUE", text);
	for (unsigned i = 0; i < LIMIT_COUNT; i++)
		if (same_name(limit_infos[i].name, text, (size_t)(equals - text)))
			return read_value(limit_infos[i].unit, equals + 1, &j->limits[i])
				? err_set(err, -EINVAL, "'%s' is no value for the limit %.*s", equals + 1, (int)(equals - text), text) : 0;
	return err_set(err, -ENOENT, "there is no limit '%.*s'; `argus rules` lists them", (int)(equals - text), text);
}

void rule_spoke(const struct scene *scene, const struct spoken *spoken)
{
	judgement_add_spoken(scene->judgement, spoken);
}

void judgement_add_spoken(struct judgement *j, const struct spoken *spoken)
{
	if (j && j->spoken.length < SPOKEN_MOST)
		vec_push(&j->spoken, *spoken);
}
