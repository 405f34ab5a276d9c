/* Evaluation of conditions; see condition.h. */
#include "rules/condition.h"

#include <fnmatch.h>
#include <string.h>

static inline const void *base_of(const struct operand *operand, const struct rule_scene *scene)
{
	switch ((enum operand_source)operand->source) {
	case OPERAND_event:
		return scene->data;
	case OPERAND_thread:
		return scene->thread;
	case OPERAND_target:
		return scene->target;
	case OPERAND_scene:
		return scene;
	case OPERAND_literal:
		break;
	}
	return NULL;
}

/* Fields lie aligned to their size, in the payloads and in the facts. */
static inline uint64_t value_of(const struct operand *operand, const struct rule_scene *scene)
{
	const unsigned char *at;

	if (operand->source == OPERAND_literal)
		return operand->value;
	at = base_of(operand, scene);
	if (!at)
		return 0;
	at += operand->offset;
	switch (operand->bytes) {
	case 1:
		return operand->is_signed ? (uint64_t)*(const int8_t *)at : *at;
	case 2:
		return operand->is_signed ? (uint64_t)*(const int16_t *)at : *(const uint16_t *)at;
	case 4:
		return operand->is_signed ? (uint64_t)*(const int32_t *)at : *(const uint32_t *)at;
	case 8:
		return *(const uint64_t *)at;
	}
	return 0;
}

uint64_t operand_value(const struct operand *operand, const struct rule_scene *scene)
{
	return value_of(operand, scene);
}

static const char *operand_text(const struct operand *operand, const struct rule_scene *scene)
{
	const unsigned char *at;
	const char *text;

	if (operand->source == OPERAND_literal)
		return operand->text ? operand->text : "";
	at = base_of(operand, scene);
	if (!at)
		return "";
	memcpy(&text, at + operand->offset, sizeof(text));
	return text ? text : "";
}

static bool texts_hold(const struct condition_step *step, const struct rule_scene *scene)
{
	const char *text = operand_text(&step->left, scene), *other = operand_text(&step->right, scene);

	if (step->comparison == COMPARE_like)
		return fnmatch(other, text, 0) == 0;
	return (strcmp(text, other) == 0) == (step->comparison == COMPARE_equal);
}

static inline bool step_holds(const struct condition_step *step, const struct rule_scene *scene)
{
	uint64_t left, right;

	if (!step->left.bytes)
		return texts_hold(step, scene);
	left = value_of(&step->left, scene);
	right = value_of(&step->right, scene);
	switch ((enum comparison)step->comparison) {
	case COMPARE_equal:
		return left == right;
	case COMPARE_differs:
		return left != right;
	case COMPARE_less:
		return step->is_signed ? (int64_t)left < (int64_t)right : left < right;
	case COMPARE_at_most:
		return step->is_signed ? (int64_t)left <= (int64_t)right : left <= right;
	case COMPARE_has:
		return (left & right) != 0;
	case COMPARE_like:
		break;
	}
	return false;
}

/* Nearly all steps ask whether a small field is a literal; they are asked of every wake-up. */
static inline bool small_field_is(const struct condition_step *step, const void *const bases[], bool *ret_holds)
{
	const unsigned char *base = bases[step->left.source];
	uint64_t value;

	if (step->comparison > COMPARE_differs || step->right.source != OPERAND_literal || step->left.is_signed || !base)
		return false;
	if (step->left.bytes == 1)
		value = base[step->left.offset];
	else if (step->left.bytes == 4)
		value = *(const uint32_t *)(const void *)(base + step->left.offset);
	else
		return false;
	*ret_holds = (value == step->right.value) == (step->comparison == COMPARE_equal);
	return true;
}

bool condition_holds_slow(const struct condition *condition, const struct rule_scene *scene)
{
	const void *const bases[] = {
		[OPERAND_literal] = NULL, [OPERAND_event] = scene->data, [OPERAND_thread] = scene->thread, [OPERAND_target] = scene->target,
		[OPERAND_scene] = scene,
	};
	unsigned at = 0;

	/* Steps only lead forward, so this ends. */
	while (at < condition->count) {
		const struct condition_step *step = &condition->steps[at];
		bool holds;

		if (!small_field_is(step, bases, &holds))
			holds = step_holds(step, scene);
		at = holds ? step->yes : step->no;
	}
	return at == CONDITION_TRUE;
}

/* Whether a step compares a known field with a literal; then what it says. */
static bool step_known(const struct condition_step *step, const struct known_field *known, unsigned count, bool *ret_holds)
{
	if (step->right.source != OPERAND_literal || !step->left.bytes)
		return false;
	for (unsigned i = 0; i < count; i++)
		if (known[i].source == step->left.source && known[i].offset == step->left.offset && known[i].bytes == step->left.bytes) {
			struct condition_step literal = *step;

			literal.left = (struct operand){ .source = OPERAND_literal, .bytes = 8, .value = known[i].value };
			*ret_holds = step_holds(&literal, NULL);
			return true;
		}
	return false;
}

enum condition_outcome condition_outcome(const struct condition *condition, const struct known_field *known, unsigned count)
{
	bool reached[CONDITION_MAX_STEPS] = { true }, yes = false, no = false;

	if (!condition->count)
		return OUTCOME_always;
	/* Steps only lead forward: one sweep follows all ways. */
	for (unsigned i = 0; i < condition->count; i++) {
		const struct condition_step *step = &condition->steps[i];
		bool holds = false, sure;

		if (!reached[i])
			continue;
		sure = step_known(step, known, count, &holds);
		for (unsigned way = 0; way < 2; way++) {
			unsigned next = way ? step->yes : step->no;

			if (sure && holds != (bool)way)
				continue;
			if (next == CONDITION_TRUE)
				yes = true;
			else if (next == CONDITION_FALSE)
				no = true;
			else
				reached[next] = true;
		}
	}
	return yes && no ? OUTCOME_either : yes ? OUTCOME_always : OUTCOME_never;
}
