/* Stacks of the current thread, as numbers of the trace's calling-context
 * tree; 0 where none is taken. In the rings the numbers are the unwinder's own;
 * the agent replaces them. */
#ifndef RECORD_BPF_STACK_BPF_H
#define RECORD_BPF_STACK_BPF_H

#include "record/bpf/ring.bpf.h"
#include "record/bpf/unwind.bpf.h"

/* The current thread's user stack, if stacks of this use (STACKS_) are on. */
static __always_inline u32 stack_user(void *context, u8 use)
{
	return config.stacks & use ? stack_walk() : 0;
}

/* The same for programs whose stacks take_stack takes. */
static __always_inline u32 stack_taken(struct ring *ring, u32 tid, u8 use)
{
	return config.stacks & use && ring->stack_tid == tid ? ring->stack : 0;
}

/* The same where that is seldom asked for. */
static __always_inline u32 stack_user_seldom(void *context, u8 use)
{
	return config.stacks & use ? stack_walk_seldom() : 0;
}

/* The kernel's stack. It costs more than the user's: take it where the system
 * call alone does not explain what is going on. */
static __always_inline u32 stack_kernel(void *context, u8 use)
{
	u32 *level, id = 0;
	if (!(config.stacks & use))
		return 0;
	struct walk *w = walk_begin(&level);
	if (!w)
		return 0;
	long bytes = bpf_get_stack(context, w->frames, STACK_FRAMES_MAX * 8, 0);
	if (bytes > 0)
		id = stack_number_kernel((u32)bytes / 8);
	(*level)--;
	return id;
}

#endif
