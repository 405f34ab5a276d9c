/* Judgement as a list: the rules and limits of rules.def, which of them are in force, and
 * which of them have spoken. Nothing in the diagnosis decides by a number that is not a
 * limit there. */
#ifndef DIAGNOSE_JUDGEMENT_H
#define DIAGNOSE_JUDGEMENT_H

#include "base/vec.h"
#include "diagnose/scene.h"

enum rule_stage { STAGE_EVERYWHERE, STAGE_NOW, STAGE_REST, STAGE_AWAKE, STAGE_HANG, STAGE_STRETCH, STAGE_MEANT, STAGE_ORDER, STAGE_CHARGE, STAGE_SUSPECT,
		  STAGE_WEIGHING, STAGE_CERTAINTY, STAGE_COUNT };

enum rule_id {
	RULE_NONE,
#define RULE(stage, name, weight, says, function, why) RULE_##name,
#include "diagnose/rules.def"
	RULE_COUNT
};

enum limit_id {
#define RULE(stage, name, weight, says, function, why)
#define LIMIT(name, rule, value, unit, why) LIMIT_##name,
#include "diagnose/rules.def"
	LIMIT_COUNT
};

enum limit_unit { UNIT_ns, UNIT_count, UNIT_percent };

struct rule_info {
	const char *name;         /* as a person writes it: with hyphens */
	const char *why;
	const char *says;         /* what an answer says by it, "" nothing of its own */
	enum rule_stage stage;
	uint32_t weight;
};

struct limit_info {
	const char *name;
	const char *why;
	enum rule_id rule;
	enum limit_unit unit;
	uint64_t value;
};

extern const struct rule_info rule_infos[RULE_COUNT];
extern const struct limit_info limit_infos[LIMIT_COUNT];
const char *rule_stage_name(enum rule_stage stage);

/* A rule that decided, or spoke for somebody. */
struct spoken {
	enum rule_id rule;
	uint32_t thread;          /* that it spoke of */
	uint32_t about;           /* whom it named, 0 nobody */
	uint32_t weight;          /* per cent */
	uint64_t from_ns, to_ns;
	uint64_t event;           /* evidence, 0 none */
};

struct judgement {
	bool off[RULE_COUNT];
	uint64_t limits[LIMIT_COUNT];
	bool unattended;          /* of a recording of the whole machine, for no command */
	bool machine;             /* of the whole machine, with a command or without */
	struct vec(struct spoken) spoken;
};

void judgement_init(struct judgement *judgement);
void judgement_done(struct judgement *judgement);
/* All rules hold again, with the usual limits. */
void judgement_reset(struct judgement *judgement);
/* "RULE" is not asked; -ENOENT: there is none, -EINVAL: it only says what words mean. */
int judgement_without(struct judgement *judgement, const char *rule, struct err *err);
/* "LIMIT=VALUE": 20ms, 5, 60%. */
int judgement_adjust(struct judgement *judgement, const char *text, struct err *err);

/* Who has none, as scenes made by hand, judges by all rules with the usual limits. */
static inline uint64_t judgement_limit(const struct judgement *judgement, enum limit_id limit)
{
	return judgement ? judgement->limits[limit] : limit_infos[limit].value;
}

static inline bool judgement_holds(const struct judgement *judgement, enum rule_id rule)
{
	return !judgement || !judgement->off[rule];
}

static inline bool rule_holds(const struct scene *scene, enum rule_id rule)
{
	return judgement_holds(scene->judgement, rule);
}

static inline uint64_t limit_of(const struct scene *scene, enum limit_id limit)
{
	return judgement_limit(scene->judgement, limit);
}

/* So many per cent of the time. */
static inline uint64_t part_of(const struct scene *scene, enum limit_id limit, uint64_t whole_ns)
{
	return whole_ns / 100 * limit_of(scene, limit) + whole_ns % 100 * limit_of(scene, limit) / 100;
}

static inline bool most_of(const struct scene *scene, uint64_t part_ns, uint64_t whole_ns)
{
	return part_ns > part_of(scene, LIMIT_most, whole_ns);
}

static inline bool nearly_all(const struct scene *scene, uint64_t part_ns, uint64_t whole_ns)
{
	return part_ns > part_of(scene, LIMIT_nearly_all, whole_ns);
}

static inline bool nearly_none(const struct scene *scene, uint64_t part_ns, uint64_t whole_ns)
{
	return part_ns < whole_ns - part_of(scene, LIMIT_nearly_all, whole_ns);
}

void rule_spoke(const struct scene *scene, const struct spoken *spoken);
/* The same of another judgement, NULL of none. */
void judgement_add_spoken(struct judgement *judgement, const struct spoken *spoken);

#endif
