/* Walking a copy of a stack by the same tables and steps as in the kernel, for
 * stacks whose tables were not there when they were taken. */
#ifndef SYMBOLS_UNWIND_WALK_H
#define SYMBOLS_UNWIND_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "symbols/unwind.h"

struct unwind_copy {
	uint64_t start;            /* address of the first byte: the stack pointer */
	const void *data;
	size_t bytes;
};

/* The rule in force at an address of the process. */
typedef struct unwind_rule unwind_rule_at(void *data, uint64_t address);

/* Fills in addresses, innermost first, a caller's less 1; their number is in
 * *ret_count. Returns the STACK_STATUS_. */
int unwind_walk(const struct unwind_copy *copy, struct unwind_registers registers, unwind_rule_at *rule_at, void *data,
		uint64_t *addresses, uint32_t room, uint32_t *ret_count);

#endif
