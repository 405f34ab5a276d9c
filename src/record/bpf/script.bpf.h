/* What the walks of interpreters' frames in the kernel share (record/python_maps.h): how they read the program's memory,
 * and how what belongs to a function is told once. The first was CPython's, whose name it has kept.
 *
 * All is read from the program's memory, which may hold anything: what is not there ends
 * the walk, lists and texts have bounds, and what was read is never an address that is
 * written to. */
#ifndef RECORD_BPF_SCRIPT_BPF_H
#define RECORD_BPF_SCRIPT_BPF_H

#include "record/bpf/walk.bpf.h"

#define SCRIPT_STEPS_MOST 1024u     /* of lists in which not everything is a frame */

/* glibc's struct pthread, to which the segment fs points: the blocks of thread-local variables (of each module one; how many
 * there are stands before them), its own address, the thread's number, its first block of values of keys, and where the other
 * blocks are. */
#define PTHREAD_VARIABLES 0x8u
#define PTHREAD_SELF 0x10u
#define PTHREAD_TID 0x2d0u
#define PTHREAD_VALUES 0x310u
#define PTHREAD_BLOCKS 0x510u
#define PTHREAD_BLOCK_KEYS 32u
#define PTHREAD_KEYS 1024u

static __always_inline int python_word(struct walk *w, u64 address, u64 *ret_word)
{
	if (address & 7)
		return -1;
	u64 page = w->memory.base ? walk_page(w, address) : 0;
	if (page)
		return kernel_word_to((void *)(page + (address & 4095)), ret_word);
	return w->sleeper ? -1 : bpf_probe_read_user(ret_word, 8, (void *)address);
}

/* The same where something else lies, whose page is remembered by itself. */
static __always_inline int python_word_of(struct walk *w, struct walk_page *p, u64 address, u64 *ret_word)
{
	if (address & 7)
		return -1;
	if (w->memory.base && (address ^ p->of) >> MEMORY_PAGE_SHIFT) {
		p->page = memory_page(w->memory.root, w->memory.base, w->memory.levels, address);
		p->of = address;
	}
	if (w->memory.base && p->page)
		return kernel_word_to((void *)(p->page + (address & 4095)), ret_word);
	return w->sleeper ? -1 : bpf_probe_read_user(ret_word, 8, (void *)address);
}

static __always_inline int python_code_word(struct walk *w, u64 address, u64 *ret_word)
{
	return python_word_of(w, &w->code_page, address, ret_word);
}

#ifdef PYTHON_OF_SLEEPERS
struct python_copy {
	struct walk *walk;
	u64 address;
	u32 to, left;
};

static long python_copy_page(u32 index, void *data)
{
	struct python_copy *c = data;
	struct walk *w = c->walk;
	if (!w)
		return 1;
	u64 address = c->address;
	u32 bytes = 4096 - (address & 4095), to = c->to;
	if (bytes > c->left)
		bytes = c->left;
	u64 page = memory_page(w->memory.root, w->memory.base, w->memory.levels, address);
	if (!page || !bytes || bytes > 4096 || to >= PYTHON_TEXTS_BYTES)
		return 1;
	/* what was compared is forgotten by older verifiers */
	KEEP_LIMITS(to);
	KEEP_LIMITS(bytes);
	if (bpf_probe_read_kernel(w->python_texts + (to & (PYTHON_TEXTS_BYTES - 1)), bytes & 8191, (void *)(page + (address & 4095))) < 0)
		return 1;
	c->address = address + bytes;
	c->to = to + bytes;
	c->left -= bytes;
	return c->left == 0;
}

static __always_inline bool python_copy_out(struct walk *w, u64 address, u32 to, u32 bytes)
{
	struct python_copy c = { .walk = w, .address = address, .to = to, .left = bytes };
	bpf_loop(PYTHON_LINES_BYTES / 4096 + 1, python_copy_page, &c, 0);
	return c.left == 0;
}

__noinline int python_tell_word(struct walk *w, u64 address, u64 *ret_word)
{
	return w && ret_word ? python_word(w, address, ret_word) : -1;
}
#else
static __always_inline bool python_copy_out(struct walk *w, u64 address, u32 to, u32 bytes)
{
	if (to >= PYTHON_LINES_FROM_MOST || bytes > PYTHON_LINES_BYTES)
		return false;
	KEEP_LIMITS(to);
	KEEP_LIMITS(bytes);
	return bpf_probe_read_user(w->python_texts + (to & (PYTHON_LINES_FROM_MOST - 1)), bytes & (2 * PYTHON_LINES_BYTES - 1),
				   (void *)address) == 0;
}

/* Rare: without a way through the page tables, which takes stack. */
static __always_inline int python_tell_word(struct walk *w, u64 address, u64 *ret_word)
{
	return bpf_probe_read_user(ret_word, 8, (void *)address);
}
#endif

/* Readies the message about the code of a frame; NULL when it was told, else where it is to be noted as told. */
static __always_inline u64 *python_tell_begin(struct walk *w, u32 index)
{
	const struct python_frame *f = &w->python_frames[index & PYTHON_FRAMES_MAX];
	struct python_code_message *m = &w->python_code;

	m->type = STACK_MESSAGE_PYTHON_CODE;
	m->layout = w->layout;
	m->language = w->offsets.language;
	m->code = f->code & ~PYTHON_ENTRY;
	m->check = f->check;
	m->hash = stack_mix(stack_mix(w->layout, m->code), m->check);
	u32 at = m->hash >> (64 - PYTHON_TOLD_SHIFT);
	u64 *told = bpf_map_lookup_elem(&python_told, &at);
	return !told || *told == m->hash ? NULL : told;
}

static __always_inline void python_tell_end(struct walk *w, u64 *told, u32 bytes)
{
	struct python_code_message *m = &w->python_code;

	KEEP_LIMITS(bytes);
	if (bpf_ringbuf_output(&stack_ring, m, sizeof(*m) + (bytes & (PYTHON_TEXTS_BYTES - 1)), BPF_RB_NO_WAKEUP) == 0)
		*told = m->hash;
}

#endif
