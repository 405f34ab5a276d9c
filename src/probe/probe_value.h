/* What a probe is to record at a place, in the words of the source, as registers and reads of
 * memory through them: `q->length` is 4 bytes, 16 behind where rdi leads.
 *
 *	NAME, NAME->FIELD, NAME.FIELD, NAME[N]   a parameter or variable, by debug information
 *	REGISTER, REGISTER->N                    a register, what lies N bytes behind where it leads
 *	...->N                                   the same of any pointer
 *	...:string                               the text there
 *
 * At a function's beginning parameters lie where the calling convention puts them; elsewhere
 * where debug information says, for this one instruction. */
#ifndef PROBE_PROBE_VALUE_H
#define PROBE_PROBE_VALUE_H

#include "probe/code.h"
#include "probe/variable.h"

#define PROBE_VALUE_STEPS 4

struct probe_value {
	uint8_t base;              /* REGISTER_ */
	uint8_t steps;             /* reads of memory, each so far behind what the one before gave */
	uint8_t bytes;             /* of the value, 1 to 8 */
	bool is_signed;
	bool text;                 /* that lies `text_behind` what the last step gave */
	int32_t displacement[PROBE_VALUE_STEPS];
	int32_t text_behind;
};

/* `entry`: the address is its function's beginning. `file` and `code` are of the same file. */
int probe_value_find(struct arena *arena, struct variable_file *file, struct code *code, uint64_t address, bool entry, const char *text,
		     struct probe_value *ret_value, struct err *err);

#endif
