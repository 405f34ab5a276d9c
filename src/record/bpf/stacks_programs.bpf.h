/* The stack for programs that run seldom; and where the kernel has all memory mapped, so
 * that stacks can be read through page tables. */
#ifndef RECORD_BPF_STACKS_PROGRAMS_BPF_H
#define RECORD_BPF_STACKS_PROGRAMS_BPF_H

#include "record/bpf/stack.bpf.h"

/* Takes the stack before programs that say so in objects.def, at each of their trace points:
 * to look at the walk takes the verifier longer than at all else of them, and so it does it
 * once. Of what interrupts it no stack is known. */
SEC("raw_tp")
int take_stack(void *context)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct ring *ring = ring_here();

	if (!ring)
		return 0;
	ring->stack = 0;
	ring->stack_tid = GET(current, pid);
	if (!config_is_own(GET(current, tgid)))
		ring->stack = stack_user(context, STACKS_WAITS | STACKS_WAKES);
	return 0;
}

/* How far apart the places are where the mapping of all memory may begin, and
 * how many of them are tried. */
#define MEMORY_STEP (1ull << 30)
#define MEMORY_STEPS 65536u
#define MEMORY_LOWEST 0xff00000000000000ull

struct memory_search {
	struct stack_cookie cookie;
	struct memory memory;
};

static bool memory_is_there(const struct memory_search *search)
{
	const struct memory *m = &search->memory;
	u64 address = search->cookie.address, page = memory_page(m->root, m->base, m->levels, address);

	if (!page)
		return false;
	for (u32 i = 0; i < STACK_COOKIE_WORDS; i++)
		if (kernel_word((void *)(page + (address & 4095) + i * 8)) != search->cookie.words[i])
			return false;
	return true;
}

static long memory_try(u32 index, void *data)
{
	struct memory_search *search = data;

	search->memory.base = (search->memory.root & ~(MEMORY_STEP - 1)) - index * MEMORY_STEP;
	for (u32 levels = 4; levels <= MEMORY_LEVELS_MOST; levels++) {
		search->memory.levels = levels;
		if (memory_is_there(search))
			return 1;
	}
	search->memory.levels = 0;
	return search->memory.base < MEMORY_LOWEST;
}

/* Run once by the agent, whose cookie comes as the arguments of a trace point.
 * Page tables lie in the mapping themselves, so it begins not far below them;
 * if they lead to the cookie by one of the places tried, that is it. */
SEC("raw_tp")
int stacks_find_memory(struct bpf_raw_tracepoint_args *context)
{
	struct memory_search search = { .cookie.address = context->args[0] };
	u32 zero = 0;
	struct stack_now *now = bpf_map_lookup_elem(&stack_now, &zero);

	if (!now || (search.cookie.address & 4095) > 4096 - sizeof(search.cookie.words))
		return 0;
	for (u32 i = 0; i < STACK_COOKIE_WORDS; i++)
		search.cookie.words[i] = context->args[i + 1];
	search.memory.root = memory_root(bpf_get_current_task_btf());
	bpf_loop(MEMORY_STEPS, memory_try, &search, 0);
	if (search.memory.levels) {
		now->levels = search.memory.levels;
		now->memory = search.memory.base;
	}
	return 0;
}

#endif
