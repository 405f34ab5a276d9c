/* A walk of a thread's user stack while it goes on: what it has found, how it reads the
 * thread's memory, and how stacks get numbers. */
#ifndef RECORD_BPF_WALK_BPF_H
#define RECORD_BPF_WALK_BPF_H

#include "record/bpf/config.bpf.h"
#include "record/bpf/memory.bpf.h"
#include "record/bpf/stack_tables.bpf.h"

#define STACK_WINDOW_WORDS (STACK_WINDOW_BYTES / 8)

/* An address and its page, where memory is read by its pages. */
struct walk_page {
	u64 of, page;
};

struct walk {
	u64 task, entry;            /* addresses of the thread and of its registers when it left user mode */
	struct unwind_registers registers;
	u64 ip, start, bp;          /* of the innermost frame; start is its sp */
	u32 kinds;                  /* of rules on the way, a bit each */
	u32 fixed;                  /* addresses on the stack led on, or its end did not come from what was read */
	u32 narrow;                 /* a 32-bit program's */
	u32 sleeper;                /* not the current thread's: its memory is reached by its page tables alone */
	u32 layout, first, mappings;
	u64 base, bytes;            /* of the stack, what the window holds */
	struct memory memory;
	u64 page_of, page;          /* an address and its page, where memory is read by its pages */
	u64 bp_slot;                /* where bp was read; 0: it is the thread's own register */
	u64 hash;                   /* of the words that decide */
	u64 top;                    /* highest such word's slot */
	u32 slot_count;
	int status;
	u16 slots[STACK_LAST_SLOTS]; /* in words above sp; once the runs are made, in what these hold */
	u32 run_count;
	u32 generation;
	u32 turn;                   /* of the places where stacks are remembered */
	u32 claimed;                /* element of stack_known that is to be told, + 1; 0: none is */
	u32 python;                 /* element of python_offsets, 0 none */
	u64 python_key, python_names, fs;
	struct python_offsets offsets;
	struct walk_page code_page, more_page, other_page; /* of code objects, and what else lies elsewhere */
	u64 python_at, python_hash; /* the next frame, what was met */
	u64 python_words[10];       /* read last: the kernel before 6.2 counts every word on the stack */
	struct stack_run run[STACK_LAST_RUNS];
	struct stack_message message;
	u64 frames[STACK_FRAMES_MAX + 1];
	union {
		u64 window[STACK_WINDOW_WORDS];
		struct {
			struct stack_copy copy;
			u8 copied[STACK_COPY_BYTES + 4096];
		};
		struct {
			struct python_message python_head;
			struct python_frame python_frames[PYTHON_FRAMES_MAX + 1];
			struct python_code_message python_code;
			u8 python_texts[PYTHON_TEXTS_BYTES + 8192];
		};
	};
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, STACK_LEVELS);
	__type(key, u32);
	__type(value, struct walk);
} stack_walks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} stack_level SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} stack_copy_number SEC(".maps");

/* What a function that is verified by itself says of a loop's end, as the verifier wants it of a loop's body: it takes any number
 * for possible, and the compiler, which sees the function, would leave the comparison out. */
#define LOOP_ENDS(result) ({ int ends_ = (result); __asm__ volatile("" : "+r"(ends_)); ends_ != 0; })

static __always_inline void stack_count(u32 what)
{
	u64 *count = bpf_map_lookup_elem(&stack_counts, &what);
	if (count)
		(*count)++;
}

static __always_inline u64 stack_mix(u64 hash, u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/* Fills the window from an address on: to the page's end, and the page behind
 * it where that is near and there. */
__noinline int window_fill(struct walk *w, u64 address)
{
	u64 bytes = 4096 - (address & 4095);
	if (!w)
		return -1;
	w->base = address;
	if (bytes < 2048) {
		w->bytes = bytes + 4096;
		if (bpf_probe_read_user(w->window, (bytes & 4095) + 4096, (void *)address) == 0)
			return 0;
	}
	w->bytes = bytes;
	if (bpf_probe_read_user(w->window, bytes & 8191, (void *)address) == 0)
		return 0;
	w->bytes = 0;
	return -1;
}

__noinline u64 walk_page_anew(struct walk *w, u64 address)
{
	if (!w)
		return 0;
	u64 page = memory_page_in(w->memory.root, w->memory.base, w->memory.levels, address);
	w->page = page;
	w->page_of = address;
	return page;
}

/* In place of an address whose page is remembered: one of no program's, which has no page. */
#define WALK_NO_ADDRESS (~0ull)

static __always_inline void walk_forget_page(struct walk *w)
{
	w->page_of = WALK_NO_ADDRESS;
	w->page = 0;
}

/* The page of the address, found anew only where it is another one; 0 when it is not there. */
static __always_inline u64 walk_page(struct walk *w, u64 address)
{
	return (address ^ w->page_of) >> MEMORY_PAGE_SHIFT ? walk_page_anew(w, address) : w->page;
}

static __always_inline int stack_word(struct walk *w, u64 address, u64 *ret_word)
{
	u64 at = address - w->base;
	if (address & 7)
		return -1;
	u64 page = w->memory.base ? walk_page(w, address) : 0;
	if (page) {
		*ret_word = kernel_word((void *)(page + (address & 4095)));
		return 0;
	}
	if (w->sleeper)
		return -1;
	if (at >= w->bytes) {
		if (window_fill(w, address) < 0)
			return -1;
		at = 0;
	}
	*ret_word = w->window[(at >> 3) & (STACK_WINDOW_WORDS - 1)];
	return 0;
}

static __always_inline u32 generation_now(void)
{
	u32 zero = 0;
	struct stack_now *now = bpf_map_lookup_elem(&stack_now, &zero);
	return now ? *(volatile u32 *)&now->generation & STACK_GENERATION_MASK : 0;
}

/* Number of a stack by its hash; of a new one `claimed` is set, and the caller tells it. */
__noinline u32 stack_slot(struct walk *w, u64 hash)
{
	u32 generation = generation_now();
	u32 table = (generation & 1) << STACK_KNOWN_SHIFT, upper = generation << STACK_GENERATION_SHIFT;
	if (!w)
		return 0;
	w->claimed = 0;
	if (!hash)
		hash = 1;
	for (u32 i = 0; i < 8; i++) {
		u32 slot_number = (u32)(hash + i) & ((1u << STACK_KNOWN_SHIFT) - 1), at = table | slot_number, id = upper | (slot_number + 1);
		u64 *slot = bpf_map_lookup_elem(&stack_known, &at);
		if (!slot)
			return 0;
		if (*slot == hash)
			return id;
		if (*slot)
			continue;
		u64 before = __sync_val_compare_and_swap(slot, 0, hash);
		if (before == hash)
			return id;
		if (before)
			continue;
		w->claimed = at + 1;
		return id;
	}
	stack_count(STACK_COUNT_LOST);
	return 0;
}

/* Whether what was claimed was told; nobody knows it by its number else. */
static __always_inline u32 stack_told(struct walk *w, u32 id, bool told)
{
	if (told) {
		stack_count(STACK_COUNT_NEW);
		return id;
	}
	u32 at = w->claimed - 1;
	u64 *slot = bpf_map_lookup_elem(&stack_known, &at);
	if (slot)
		*slot = 0;
	stack_count(STACK_COUNT_LOST);
	return 0;
}

/* A number that is used once. */
static __always_inline u32 stack_number_once(void)
{
	u32 zero = 0;
	u64 *number = bpf_map_lookup_elem(&stack_copy_number, &zero);
	return number ? STACK_ID_COPY | (__sync_fetch_and_add(number, 1) & 0x7fffffff) : 0;
}

#endif
