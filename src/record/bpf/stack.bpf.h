/* Stacks of the current thread, as numbers of the trace's calling-context
 * tree; 0 where none is taken. */
#ifndef RECORD_BPF_STACK_BPF_H
#define RECORD_BPF_STACK_BPF_H

#include "record/bpf/config.bpf.h"

/* The current thread's user stack, if stacks of this use (STACKS_) are on. */
static __always_inline u32 stack_user(void *context, u8 use)
{
	return 0;
}

static __always_inline u32 stack_kernel(void *context, u8 use)
{
	return 0;
}

#endif
