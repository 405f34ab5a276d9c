/* What one instruction does with values: its operands, and whether what it writes is a copy of what it reads,
 * byte for byte, or depends on all of it. For following values through a stepped run. */
#ifndef PROBE_FLOW_H
#define PROBE_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/instruction.h"

enum flow_how {
	FLOW_mixed,      /* each byte written depends on all that is read */
	FLOW_copied,     /* byte for byte from the one operand that is read; what lies above becomes 0 */
	FLOW_extended,   /* ... and what lies above are copies of its sign */
	FLOW_bytewise,   /* each byte depends on the same byte of all that is read */
	FLOW_cleared     /* what is written does not depend on what is read: xor eax, eax */
};

/* Places of values beside REGISTER_: vector registers and the condition flags. */
enum { FLOW_VECTOR = REGISTER_count, FLOW_VECTORS = 32, FLOW_FLAGS = FLOW_VECTOR + FLOW_VECTORS, FLOW_PLACES };

enum flow_operand_kind { FLOW_register, FLOW_memory, FLOW_address };

struct flow_operand {
	uint8_t kind;               /* enum flow_operand_kind; FLOW_address: computed only */
	uint8_t place;              /* of FLOW_register */
	uint8_t first;              /* byte in it: 1 of ah */
	uint16_t bytes;
	bool read, written, kept;   /* kept: written only sometimes */
	bool pushed, popped;        /* at the stack's end */
	uint8_t base, index, scale, segment;
	int64_t displacement;
};

/* What becomes of a register's value, where that follows from other registers' values. */
enum flow_operation { FLOW_sum, FLOW_and, FLOW_or, FLOW_xor, FLOW_left, FLOW_right };

struct flow_value {
	uint8_t to;                 /* REGISTER_none: it does not */
	uint8_t bytes;              /* 4: what lies above becomes 0 */
	uint8_t operation;          /* sum: left + right * scale + constant; else left with right, or with constant */
	uint8_t left, right, scale; /* REGISTER_, REGISTER_none is 0 */
	bool subtracted;            /* right is */
	int64_t constant;
};

#define FLOW_OPERANDS 10u

struct flow {
	uint8_t how;                /* enum flow_how */
	uint8_t count;
	bool repeated;              /* rcx times */
	struct flow_operand operands[FLOW_OPERANDS];
	struct flow_value value;
};

bool flow_decode(const void *code, size_t bytes, struct flow *ret_flow);

#endif
