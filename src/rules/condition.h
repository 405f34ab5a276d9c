/* Conditions of rules, compiled to a short jump code that reads fields in place.
 *
 * A condition looks at one event and at facts of up to two threads: the one in
 * which the event happened (`thread.`; at an edge `from.`) and the one it is
 * about (`target.`; at an edge `to.`). The caller keeps the facts, evaluation
 * copies nothing. */
#ifndef RULES_CONDITION_H
#define RULES_CONDITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What rules can ask about a thread. */
struct rule_facts {
	const char *comm;    /* NULL unknown */
	uint64_t object;     /* what it waits on */
	uint64_t timeout;    /* the wait's own limit, ns */
	uint32_t tid, pid;
	uint32_t argument;   /* of the wait */
	uint16_t syscall;
	uint16_t callout;    /* callout level */
	uint8_t wait;        /* WAIT_KIND_, 0 while it does not wait */
	uint8_t state;       /* TASK_STATE_, 0 while it runs or is runnable */
	uint8_t hint_kind;
	uint8_t kernel;      /* 1: a kernel thread */
};

/* What rules can ask about the happening as a whole. */
struct rule_scene {
	const void *data;                /* the event's payload */
	const struct rule_facts *thread; /* never NULL */
	const struct rule_facts *target; /* NULL where there is none: its fields read as 0 */
	const char *tail;                /* the event's text */
	const char *probe;               /* of a probe event, the probe's name; NULL unknown */
	uint32_t woken;                  /* threads that the same interrupt has woken so far, this one included */
	uint32_t armer_pid;              /* process of the wake-up's armer, 0 unknown */
	uint32_t cpu;
	uint32_t confidence;             /* of an edge */
	uint32_t mechanism;              /* of an edge */
	uint64_t length_ns;              /* of a wait that has ended */
};

enum operand_source { OPERAND_literal, OPERAND_event, OPERAND_thread, OPERAND_target, OPERAND_scene };

struct operand {
	uint8_t source;      /* enum operand_source */
	uint8_t bytes;       /* 1, 2, 4, 8; 0: a text */
	uint8_t is_signed;
	uint8_t offset;
	uint64_t value;      /* of a literal */
	const char *text;    /* of a literal text */
};

enum comparison { COMPARE_equal, COMPARE_differs, COMPARE_less, COMPARE_at_most, COMPARE_has, COMPARE_like };

#define CONDITION_MAX_STEPS 200
#define CONDITION_TRUE 0xffff
#define CONDITION_FALSE 0xfffe

struct condition_step {
	struct operand left, right;
	uint8_t comparison;
	bool is_signed;
	uint16_t yes, no;    /* next step, or CONDITION_TRUE, CONDITION_FALSE */
};

struct condition {
	const struct condition_step *steps;
	uint32_t count;      /* 0: always true */
	bool uses_names;     /* asks for comm or pid of threads */
};

uint64_t operand_value(const struct operand *operand, const struct rule_scene *scene);
bool condition_holds_slow(const struct condition *condition, const struct rule_scene *scene);

/* What a condition can still come to when some of the fields it asks for are known. */
struct known_field {
	uint8_t source;      /* enum operand_source */
	uint8_t offset, bytes;
	uint64_t value;
};
enum condition_outcome { OUTCOME_never, OUTCOME_always, OUTCOME_either };
enum condition_outcome condition_outcome(const struct condition *condition, const struct known_field *known, unsigned count);

static inline bool condition_holds(const struct condition *condition, const struct rule_scene *scene)
{
	return !condition->count || condition_holds_slow(condition, scene);
}

#endif
