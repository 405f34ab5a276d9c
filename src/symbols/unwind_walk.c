#include "symbols/unwind_walk.h"

#include <string.h>

static int copy_read(const void *context, uint64_t address, uint64_t *ret_word)
{
	const struct unwind_copy *copy = context;
	uint64_t at = address - copy->start;
	if (address < copy->start || at > copy->bytes || copy->bytes - at < 8)
		return -1;
	memcpy(ret_word, (const char *)copy->data + at, 8);
	return 0;
}

#define UNWIND_READ(context, address, ret_word) copy_read(context, address, (uint64_t *)(ret_word))
#define UNWIND_READ_BP(context, address, ret_word) copy_read(context, address, (uint64_t *)(ret_word))
#define UNWIND_USE_BP(context) (void)(context)
#include "symbols/unwind_step.h"

int unwind_walk(const struct unwind_copy *copy, struct unwind_registers registers, unwind_rule_at *rule_at, void *data,
		uint64_t *addresses, uint32_t room, uint32_t *ret_count)
{
	for (uint32_t i = 0; i < room; i++) {
		uint64_t ip = registers.exact ? registers.ip : registers.ip - 1;
		struct unwind_rule rule = rule_at(data, ip);
		addresses[i] = ip;
		*ret_count = rule.kind == UNWIND_NO_MAPPING && registers.guessed ? i : i + 1;
		int step = unwind_step((void *)copy, rule, &registers);
		if (step != UNWIND_STEP_ON)
			return step;
	}
	return STACK_STATUS_too_deep;
}
