/* One step from a frame to its caller, the same text in BPF and in user space.
 *
 * The includer defines before
 *	UNWIND_READ(context, address, ret_word)     0, or negative: no such page
 *	UNWIND_READ_BP(context, address, ret_word)  the same, of a saved frame pointer
 *	UNWIND_USE_BP(context)                      the frame pointer decides now
 * and gets unwind_step(context, rule, registers): UNWIND_STEP_ON, or the
 * STACK_STATUS_ with which the stack ends. */
#if !defined(SYMBOLS_UNWIND_STEP_H) && defined(UNWIND_READ)
#define SYMBOLS_UNWIND_STEP_H

#include "symbols/unwind.h"

/* Status of a stack that a frame pointer does not lead on. */
static inline __attribute__((always_inline)) int unwind_guess_status(u8 kind)
{
	return kind == UNWIND_JIT ? STACK_STATUS_jit : STACK_STATUS_no_table;
}

static inline __attribute__((always_inline)) int unwind_by_frame_pointer(void *context, u8 kind, struct unwind_registers *registers)
{
	u64 at = registers->bp, ip = 0, bp = 0;

	if (registers->bp_lost)
		return unwind_guess_status(kind);
	UNWIND_USE_BP(context);
	/* by convention the outermost frame has none */
	if (at == 0)
		return UNWIND_STEP_END;
	if (at < registers->sp || at - registers->sp > UNWIND_FRAME_BYTES_MAX || (at & 7))
		return unwind_guess_status(kind);
	if (UNWIND_READ_BP(context, at, &bp) < 0 || UNWIND_READ(context, at + 8, &ip) < 0)
		return STACK_STATUS_no_page;
	registers->ip = ip;
	registers->sp = at + 16;
	registers->bp = bp;
	registers->exact = 0;
	registers->guessed = kind == UNWIND_NONE ? UNWIND_FRAME_POINTER : kind;
	return ip ? UNWIND_STEP_ON : UNWIND_STEP_END;
}

/* A handler may run on a stack of its own, so the way up may lead anywhere. */
static inline __attribute__((always_inline)) int unwind_signal(void *context, struct unwind_registers *registers)
{
	u64 ip = 0, sp = 0, bp = 0, at = registers->sp;

	if (UNWIND_READ_BP(context, at + UNWIND_SIGNAL_RBP, &bp) < 0 || UNWIND_READ(context, at + UNWIND_SIGNAL_RSP, &sp) < 0 ||
	    UNWIND_READ(context, at + UNWIND_SIGNAL_RIP, &ip) < 0)
		return STACK_STATUS_no_page;
	registers->ip = ip;
	registers->sp = sp;
	registers->bp = bp;
	registers->bp_lost = 0;
	registers->exact = 1;
	return ip ? UNWIND_STEP_ON : UNWIND_STEP_END;
}

static inline __attribute__((always_inline)) int unwind_step(void *context, struct unwind_rule rule,
							     struct unwind_registers *registers)
{
	u64 sp = registers->sp, cfa, word = 0, ip = 0, bp = registers->bp;
	u8 lost = registers->bp_lost, outer = registers->outer, guessed = registers->guessed;

	registers->outer = 1;
	registers->guessed = 0;
	switch (rule.kind) {
	case UNWIND_RSP:
		cfa = sp + rule.offset;
		break;
	case UNWIND_RBP:
	case UNWIND_DEREF_RBP:
		if (lost)
			return STACK_STATUS_register_lost;
		UNWIND_USE_BP(context);
		cfa = bp + (rule.kind == UNWIND_RBP ? rule.offset : rule.deref_offset);
		break;
	case UNWIND_DEREF_RSP:
		cfa = sp + rule.deref_offset;
		break;
	case UNWIND_PLT:
		cfa = sp + 8 + ((int)(registers->ip & 15) >= rule.offset ? 8 : 0);
		break;
	case UNWIND_SIGNAL:
		return unwind_signal(context, registers);
	case UNWIND_RA_RDI:
		if (outer)
			return STACK_STATUS_register_lost;
		registers->ip = registers->di;
		registers->sp = sp + rule.offset;
		registers->exact = 0;
		return registers->ip ? UNWIND_STEP_ON : UNWIND_STEP_END;
	case UNWIND_END:
		return UNWIND_STEP_END;
	case UNWIND_OTHER_REG:
		return STACK_STATUS_register_lost;
	case UNWIND_NONE:
	case UNWIND_FRAME_POINTER:
	case UNWIND_JIT:
		return unwind_by_frame_pointer(context, rule.kind, registers);
	case UNWIND_NO_MAPPING:
		return guessed ? unwind_guess_status(guessed) : STACK_STATUS_no_mapping;
	case UNWIND_PENDING:
		return STACK_STATUS_pending;
	default:
		return STACK_STATUS_bad_table;
	}
	if (rule.kind == UNWIND_DEREF_RBP || rule.kind == UNWIND_DEREF_RSP) {
		if (UNWIND_READ(context, cfa, &word) < 0)
			return STACK_STATUS_no_page;
		cfa = word + rule.plus;
	}
	/* callers' frames lie above: also what keeps a malformed table from going round */
	if (cfa <= sp || (cfa & 7))
		return STACK_STATUS_bad_table;

	if (rule.rbp == UNWIND_RBP_LOST || (rule.rbp == UNWIND_RBP_AT_RBP && lost)) {
		lost = 1;
	} else if (rule.rbp != UNWIND_RBP_SAME) {
		word = rule.rbp == UNWIND_RBP_AT_CFA ? cfa : rule.rbp == UNWIND_RBP_AT_RSP ? sp : bp;
		if (rule.rbp == UNWIND_RBP_AT_RBP)
			UNWIND_USE_BP(context);
		if (UNWIND_READ_BP(context, word + rule.rbp_offset, &bp) < 0)
			return STACK_STATUS_no_page;
		lost = 0;
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
