/* Reading a program's memory without a call into the kernel: by its page
 * tables and the kernel's own mapping of all memory, which takes a few loads
 * where bpf_probe_read_user() takes 30 to 50 ns.
 *
 * Where that mapping begins is found at the start (stacks.bpf.c), by a page of
 * the agent's whose contents are known; where it is not found, or a page is not
 * there, memory_page() says so and the caller reads the slow way. Nothing holds
 * the page meanwhile: what is read may be another page's, as with any memory
 * that changes while it is read, so the caller compares or mistrusts it. */
#ifndef RECORD_BPF_MEMORY_BPF_H
#define RECORD_BPF_MEMORY_BPF_H

#include "record/bpf/kernel.h"

#define MEMORY_PRESENT 0x1ull
#define MEMORY_USER 0x4ull
#define MEMORY_LARGE 0x80ull
#define MEMORY_SPECIAL 0x200ull /* a device's */
#define MEMORY_FRAME 0x000ffffffffff000ull

#define MEMORY_PAGE_SHIFT 12
#define MEMORY_LEVEL_BITS 9
#define MEMORY_LEVELS_MOST 5

/* How a process's memory is found: its page tables, their levels, and where the
 * kernel has all memory mapped (0 unknown). */
struct memory {
	u64 root;
	u64 base;
	u32 levels;
};

static __always_inline u64 memory_root(struct task_struct *task)
{
	struct mm_struct *mm = GET(task, mm);
	return mm ? kernel_word(&mm->pgd) : 0;
}

/* Kernel's address of the page in which the program's address lies; 0 when it
 * is not there. */
static __always_inline u64 memory_page_in(u64 root, u64 base, u32 levels, u64 address)
{
	u64 table = root;

	if (!root || !base || levels > MEMORY_LEVELS_MOST || address >> (MEMORY_PAGE_SHIFT + MEMORY_LEVEL_BITS * levels - 1))
		return 0;
	for (u32 i = MEMORY_LEVELS_MOST; i > 0; i--) {
		if (i > levels)
			continue;
		u32 shift = MEMORY_PAGE_SHIFT + MEMORY_LEVEL_BITS * (i - 1);
		u64 entry = kernel_word((void *)(table + (address >> shift & ((1u << MEMORY_LEVEL_BITS) - 1)) * 8));
		if (~entry & (MEMORY_PRESENT | MEMORY_USER))
			return 0;
		if (i == 1)
			return entry & MEMORY_SPECIAL ? 0 : base + (entry & MEMORY_FRAME);
		if (entry & MEMORY_LARGE) {
			u64 within = (1ull << shift) - 1;
			return base + (entry & MEMORY_FRAME & ~within) + (address & within & ~4095ull);
		}
		table = base + (entry & MEMORY_FRAME);
	}
	return 0;
}

__noinline u64 memory_page(u64 root, u64 base, u32 levels, u64 address)
{
	return memory_page_in(root, base, levels, address);
}

#endif
