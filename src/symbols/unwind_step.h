/* One step from a frame to its caller, the same text in BPF and in user space.
 *
 * The includer defines before
 *	UNWIND_READ(context, address, ret_word)   0 or negative: no such page
 * and gets unwind_step(context, rule, registers): UNWIND_STEP_ON, or the
 * STACK_STATUS_ with which the stack ends. */
#if !defined(SYMBOLS_UNWIND_STEP_H) && defined(UNWIND_READ)
#define SYMBOLS_UNWIND_STEP_H

#include "symbols/unwind.h"

static inline __attribute__((always_inline)) int unwind_step(void *context, struct unwind_rule rule,
							     struct unwind_registers *registers)
{
	u64 cfa, word = 0, ip = 0, bp = registers->bp;
	u8 lost = registers->bp_lost, outer = registers->outer;

	registers->outer = 1;
	switch (rule.kind) {
	case UNWIND_RSP:
		cfa = registers->sp + rule.offset;
		break;
	case UNWIND_RBP:
		if (lost)
			return STACK_STATUS_register_lost;
		cfa = registers->bp + rule.offset;
		break;
	case UNWIND_PLT:
		cfa = registers->sp + 8 + ((int)(registers->ip & 15) >= rule.offset ? 8 : 0);
		break;
	case UNWIND_DEREF_RBP:
	case UNWIND_DEREF_RSP:
		if (rule.kind == UNWIND_DEREF_RBP && lost)
			return STACK_STATUS_register_lost;
		cfa = (rule.kind == UNWIND_DEREF_RBP ? registers->bp : registers->sp) + rule.deref_offset;
		if (UNWIND_READ(context, cfa, &word) < 0)
			return STACK_STATUS_no_page;
		cfa = word + rule.plus;
		break;
	case UNWIND_SIGNAL:
		if (UNWIND_READ(context, registers->sp + UNWIND_SIGNAL_RBP, &bp) < 0 ||
		    UNWIND_READ(context, registers->sp + UNWIND_SIGNAL_RSP, &cfa) < 0 ||
		    UNWIND_READ(context, registers->sp + UNWIND_SIGNAL_RIP, &ip) < 0)
			return STACK_STATUS_no_page;
		/* a handler may run on a stack of its own: the way up may lead anywhere, once */
		registers->ip = ip;
		registers->sp = cfa;
		registers->bp = bp;
		registers->bp_lost = 0;
		registers->exact = 1;
		return ip ? UNWIND_STEP_ON : UNWIND_STEP_END;
	case UNWIND_RA_RDI:
		if (outer)
			return STACK_STATUS_register_lost;
		registers->ip = registers->di;
		registers->sp += rule.offset;
		registers->exact = 0;
		return registers->ip ? UNWIND_STEP_ON : UNWIND_STEP_END;
	case UNWIND_END:
		return UNWIND_STEP_END;
	case UNWIND_OTHER_REG:
		return STACK_STATUS_register_lost;
	case UNWIND_BAD:
		return STACK_STATUS_bad_table;
	default:
		return STACK_STATUS_no_table;
	}
	/* callers' frames lie above: also what keeps a malformed table from going round */
	if (cfa <= registers->sp || (cfa & 7))
		return STACK_STATUS_bad_table;

	switch (rule.rbp) {
	case UNWIND_RBP_AT_CFA:
	case UNWIND_RBP_AT_RSP:
	case UNWIND_RBP_AT_RBP:
		if (rule.rbp == UNWIND_RBP_AT_RBP && lost)
			break;
		word = rule.rbp == UNWIND_RBP_AT_CFA ? cfa : rule.rbp == UNWIND_RBP_AT_RSP ? registers->sp : registers->bp;
		if (UNWIND_READ(context, word + rule.rbp_offset, &bp) < 0)
			return STACK_STATUS_no_page;
		lost = 0;
		break;
	case UNWIND_RBP_LOST:
		lost = 1;
		break;
	}
	if (UNWIND_READ(context, cfa - 8, &ip) < 0)
		return STACK_STATUS_no_page;
	registers->ip = ip;
	registers->sp = cfa;
	registers->bp = bp;
	registers->bp_lost = lost;
	registers->exact = 0;
	return ip ? UNWIND_STEP_ON : UNWIND_STEP_END;
}

#endif
