/* Unwind rules, shared with the BPF programs: how to get from a frame to its
 * caller, in 8 bytes. All that is special to x86-64 is here and in cfi.c.
 *
 * A module's code is cut into pages of 4 KiB. A page has rows sorted by
 * address, the first of which is at the page's first byte; a row holds for all
 * addresses up to the next one. A row is 4 bytes: the place in the page in the
 * top 12 bits, the number of a rule in the lower 20. */
#ifndef SYMBOLS_UNWIND_H
#define SYMBOLS_UNWIND_H

#ifdef __bpf__
#include "trace/event.h"
#else
#include <stdbool.h>
#include <stdint.h>
#include "trace/event.h"
#endif

#define UNWIND_PAGE_SHIFT 12
#define UNWIND_ROW_SHIFT 20
#define UNWIND_RULE_MASK ((1u << UNWIND_ROW_SHIFT) - 1)

/* How the frame's canonical address (CFA: the stack pointer before the call)
 * is found. The return address lies 8 below it. */
enum unwind_kind {
	UNWIND_NONE,       /* nothing is known about this address */
	UNWIND_RSP,        /* rsp + offset */
	UNWIND_RBP,        /* rbp + offset */
	UNWIND_DEREF_RSP,  /* the word at rsp + offset, + plus */
	UNWIND_DEREF_RBP,  /* the word at rbp + offset, + plus */
	UNWIND_PLT,        /* rsp + 8, and 8 more from byte `offset` of each 16 on */
	UNWIND_SIGNAL,     /* a signal's frame: all registers lie at rsp + offset */
	UNWIND_END,        /* the outermost frame */
	UNWIND_RA_RDI,     /* rsp + offset; the return address is in rdi, as in vfork: innermost frame only */
	UNWIND_OTHER_REG,  /* a register that is known in the innermost frame only */
	UNWIND_BAD,        /* known to the module, but not in words we know */
	/* of no row, but what is found in a row's place: */
	UNWIND_FRAME_POINTER, /* the module has no table */
	UNWIND_JIT,        /* code made at run time */
	UNWIND_NO_MAPPING, /* no module's code */
	UNWIND_PENDING,    /* the module's table is not there yet */
	UNWIND_KINDS
};

enum unwind_rbp {
	UNWIND_RBP_SAME,
	UNWIND_RBP_AT_CFA, /* saved at CFA + rbp_offset */
	UNWIND_RBP_AT_RBP, /* saved at rbp + rbp_offset */
	UNWIND_RBP_AT_RSP, /* saved at rsp + rbp_offset */
	UNWIND_RBP_LOST,
};

struct unwind_rule {
	u8 kind;           /* enum unwind_kind */
	u8 rbp;            /* enum unwind_rbp */
	short rbp_offset;
	union {
		int offset;
		struct {
			short deref_offset;
			short plus;
		};
	};
};

/* Where a signal's frame keeps what, from the stack pointer at the return
 * from the handler: struct rt_sigframe's uc.uc_mcontext. */
#define UNWIND_SIGNAL_RBP 120
#define UNWIND_SIGNAL_RSP 160
#define UNWIND_SIGNAL_RIP 168

struct unwind_registers {
	u64 ip, sp, bp;
	u64 di;            /* of the innermost frame */
	u8 outer;          /* not the innermost frame */
	u8 bp_lost;        /* bp is not the frame's */
	u8 exact;          /* ip is the place itself, not the one behind a call */
	u8 guessed;        /* the last step went by the frame pointer alone: its kind of rule */
};

/* Frames beyond are not believed to be reached by a frame pointer. */
#define UNWIND_FRAME_BYTES_MAX (1u << 20)

/* What a step came to, besides STACK_STATUS_ for what ends a stack early. */
#define UNWIND_STEP_ON  (-1)   /* registers are the caller's */
#define UNWIND_STEP_END 0      /* STACK_STATUS_whole */

#endif
