/* CPython's frames: walked behind the stack of the C functions between which they
 * stand, as record/python_maps.h says.
 *
 * All is read from the program's memory, which may hold anything: what is not there ends
 * the walk, lists and texts have bounds, and what was read is never an address that is
 * written to. */
#ifndef RECORD_BPF_PYTHON_BPF_H
#define RECORD_BPF_PYTHON_BPF_H

#include "record/bpf/walk.bpf.h"

/* glibc's struct pthread, to which the segment fs points: its first block of values of keys,
 * and where the other blocks are. */
#define PTHREAD_VALUES 0x310u
#define PTHREAD_BLOCKS 0x510u
#define PTHREAD_BLOCK_KEYS 32u
#define PTHREAD_KEYS 1024u

/* Bits of a string's state. */
#define PYTHON_TEXT_KIND(state) ((state) >> 2 & 7)
#define PYTHON_TEXT_COMPACT(state) ((state) >> 5 & 1)
#define PYTHON_TEXT_ASCII(state) ((state) >> 6 & 1)
#define PYTHON_TEXT_LENGTH 16u
#define PYTHON_TEXT_STATE 32u
#define PYTHON_BYTES_LENGTH 16u
#define PYTHON_BYTES_DATA 32u

static __always_inline int python_word(struct walk *w, u64 address, u64 *ret_word)
{
	if (address & 7)
		return -1;
	if (w->memory.base && walk_page(w, address))
		return kernel_word_to((void *)(w->page + (address & 4095)), ret_word);
	return w->sleeper ? -1 : bpf_probe_read_user(ret_word, 8, (void *)address);
}

/* The same where code objects lie, which is elsewhere. */
static __always_inline int python_code_word(struct walk *w, u64 address, u64 *ret_word)
{
	u64 page_of = w->page_of, page = w->page;
	w->page_of = w->code_page_of;
	w->page = w->code_page;
	int r = python_word(w, address, ret_word);
	w->code_page_of = w->page_of;
	w->code_page = w->page;
	w->page_of = page_of;
	w->page = page;
	return r;
}

/* The thread's state; 0 when it has none. */
static __always_inline u64 python_thread(struct walk *w, const struct python_offsets *o)
{
	u64 *key = &w->python_words[0], *word = &w->python_words[1];
	if (python_word(w, w->python_key & ~7ull, key) < 0)
		return 0;
	*key = (w->python_key & 4 ? *key >> 32 : *key) & 0xffffffff;
	if (*key >= PTHREAD_KEYS)
		return 0;
	*word = w->fs + PTHREAD_VALUES;
	if (*key >= PTHREAD_BLOCK_KEYS && python_word(w, w->fs + PTHREAD_BLOCKS + *key / PTHREAD_BLOCK_KEYS * 8, word) < 0)
		return 0;
	if (python_word(w, *word + *key % PTHREAD_BLOCK_KEYS * 16 + 8, key) < 0 || python_word(w, *key + o->thread_id, word) < 0 ||
	    *word != w->fs)
		return 0;
	return *key;
}

static long python_frame(u32 index, void *data)
{
	struct walk *w = *(struct walk **)data;
	const struct python_offsets *o;

	if (!w || !w->python_at)
		return 1;
	o = &w->offsets;
	u64 *words = w->python_words, *mark = &words[0], *code = &words[1], *place = &words[2], *line = &words[3], *lines = &words[4];
	if (python_word(w, w->python_at + (o->frame_mark & ~7u), mark) < 0 || python_word(w, w->python_at + o->frame_code, code) < 0 ||
	    python_word(w, w->python_at + (o->frame_place & ~7u), place) < 0 ||
	    python_word(w, w->python_at + o->frame_previous, &words[5]) < 0)
		return 1;
	w->python_at = words[5];
	*mark = *mark >> (o->frame_mark & 7) * 8 & 0xff;
	if (o->mark == PYTHON_MARK_OWNER && *mark == PYTHON_OWNER_C) {
		if (w->python_head.count)
			w->python_frames[(w->python_head.count - 1) & PYTHON_FRAMES_MAX].code |= PYTHON_ENTRY;
		w->python_hash = stack_mix(w->python_hash, PYTHON_ENTRY);
		return 0;
	}
	*code &= ~PYTHON_ENTRY;
	if (python_code_word(w, *code + (o->code_line & ~7u), line) < 0 || python_code_word(w, *code + o->code_lines, lines) < 0)
		return 1;
	if (o->place_bytes == 4)
		*place = (o->frame_place & 4 ? *place >> 32 : *place) & 0xffffffff;
	if (o->mark == PYTHON_MARK_EACH || (o->mark == PYTHON_MARK_ENTRY && *mark))
		*code |= PYTHON_ENTRY;
	struct python_frame *f = &w->python_frames[w->python_head.count++ & PYTHON_FRAMES_MAX];
	f->code = *code;
	f->place = *place;
	f->check = stack_mix(*line, *lines);
	w->python_hash = stack_mix(stack_mix(stack_mix(w->python_hash, *code), *place), f->check);
	return 0;
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

static __always_inline int python_tell_word(struct walk *w, u64 address, u64 *ret_word)
{
	return python_word(w, address, ret_word);
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

/* Copies a string behind the texts that are there; its bytes and how wide its characters are
 * go to the message. */
static __always_inline void python_copy_text(struct walk *w, const struct python_offsets *o, u64 text, u32 to, u32 most, u16 *ret_bytes,
					     u8 *ret_unit)
{
	u64 *length = &w->python_words[2], *state = &w->python_words[3];
	*ret_bytes = 0;
	*ret_unit = 0;
	if (python_tell_word(w, text + PYTHON_TEXT_LENGTH, length) < 0 || python_tell_word(w, text + PYTHON_TEXT_STATE, state) < 0 ||
	    !PYTHON_TEXT_COMPACT(*state) || *length > PYTHON_FILE_BYTES)
		return;
	u32 unit = PYTHON_TEXT_ASCII(*state) ? 1 : PYTHON_TEXT_KIND(*state), bytes = *length * unit;
	if (unit > 4)
		return;
	if (bytes > most)
		bytes = most;
	if (!python_copy_out(w, text + (PYTHON_TEXT_ASCII(*state) ? o->text_data : o->text_wide), to, bytes))
		return;
	*ret_bytes = bytes;
	*ret_unit = PYTHON_TEXT_ASCII(*state) ? 0 : unit;
}

/* Tells the texts of a frame's code object unless they were told. */
static long python_tell_code(u32 index, void *data)
{
	struct walk *w = *(struct walk **)data;
	if (!w)
		return 1;
	const struct python_offsets *o = &w->offsets;
	const struct python_frame *f = &w->python_frames[index & PYTHON_FRAMES_MAX];
	struct python_code_message *m = &w->python_code;
	u64 *first = &w->python_words[0], *second = &w->python_words[1];

	m->type = STACK_MESSAGE_PYTHON_CODE;
	m->layout = w->layout;
	m->code = f->code & ~PYTHON_ENTRY;
	m->check = f->check;
	m->hash = stack_mix(stack_mix(w->layout, m->code), m->check);
	u32 at = m->hash >> (64 - PYTHON_TOLD_SHIFT);
	u64 *told = bpf_map_lookup_elem(&python_told, &at);
	if (!told || *told == m->hash)
		return 0;
	if (python_tell_word(w, m->code + (o->code_line & ~7u), first) < 0 || python_tell_word(w, m->code + o->code_lines, second) < 0 ||
	    stack_mix(*first, *second) != m->check)
		return 0;
	m->line = o->code_line & 4 ? *first >> 32 : *first;
	m->lines = *second;
	if (python_tell_word(w, m->code + o->code_name, first) < 0 || python_tell_word(w, m->code + o->code_file, second) < 0)
		return 0;
	python_copy_text(w, o, *first, 0, PYTHON_NAME_BYTES, &m->name_bytes, &m->name_unit);
	python_copy_text(w, o, *second, m->name_bytes, PYTHON_FILE_BYTES, &m->file_bytes, &m->file_unit);
	u32 to = m->name_bytes + m->file_bytes;
	m->lines_whole = python_tell_word(w, m->lines + PYTHON_BYTES_LENGTH, first) == 0 ? (u32)*first : 0;
	m->lines_bytes = m->lines_whole < PYTHON_LINES_BYTES ? m->lines_whole : PYTHON_LINES_BYTES;
	if (!python_copy_out(w, m->lines + PYTHON_BYTES_DATA, to, m->lines_bytes))
		m->lines_bytes = 0;
	u32 bytes = to + m->lines_bytes;
	KEEP_LIMITS(bytes);
	if (bpf_ringbuf_output(&stack_ring, m, sizeof(*m) + (bytes & (PYTHON_TEXTS_BYTES - 1)), BPF_RB_NO_WAKEUP) == 0)
		*told = m->hash;
	return 0;
}

/* Tells the frames that were walked, code objects first; under a number of its own where
 * nobody shows the same again. */
static __always_inline u32 python_tell(struct walk *w, u32 id)
{
	struct python_message *m = &w->python_head;
	bpf_loop(m->count, python_tell_code, &w, 0);
	m->type = STACK_MESSAGE_PYTHON;
	m->id = id;
	m->tgid = w->message.tgid;
	m->layout = w->layout;
	m->time_ns = bpf_ktime_get_ns();
	u64 bytes = sizeof(*m) + sizeof(struct python_frame) * (m->count & PYTHON_FRAMES_MAX);
	return bpf_ringbuf_output(&stack_ring, m, bytes, BPF_RB_NO_WAKEUP) == 0;
}

static __always_inline const struct python_offsets *python_known(u32 number)
{
	return bpf_map_lookup_elem(&python_offsets, &number);
}

/* Number of the stack `base` with the thread's Python frames in it; `base` itself when
 * it has none. */
__noinline u32 python_stack(struct walk *w, u32 base)
{
	if (!w || !base)
		return base;
	const struct python_offsets *o = &w->offsets, *known = python_known(w->python);
	if (!known)
		return base;
	/* by words: else the compiler takes stack for all of them */
	for (u32 i = 0; i < sizeof(*o) / 8; i++) {
		((u64 *)&w->offsets)[i] = ((const u64 *)known)[i];
		__asm__ volatile("" ::: "memory");
	}
	w->page = w->code_page = 0;
	w->python_at = python_thread(w, o);
	if (!w->python_at || python_word(w, w->python_at + o->thread_frame, &w->python_at) < 0 || !w->python_at ||
	    (o->chain_frame != PYTHON_NO_CHAIN && python_word(w, w->python_at + o->chain_frame, &w->python_at) < 0) || !w->python_at)
		return base;
	w->python_head.count = 0;
	w->python_head.base = base;
	w->python_hash = stack_mix(0x70797468, base);
	bpf_loop(PYTHON_FRAMES_MAX, python_frame, &w, 0);
	w->python_head.cut = w->python_at != 0;
	stack_count(w->python_head.cut ? STACK_COUNT_PYTHON_CUT : STACK_COUNT_PYTHON);
	if (!w->python_head.count)
		return base;
	w->claimed = 0;
	u32 id = w->sleeper ? stack_number_once() : stack_slot(w, w->python_hash);
	if (id && w->sleeper)
		return python_tell(w, id) ? id : base;
	if (id && w->claimed)
		id = stack_told(w, id, python_tell(w, id));
	return id ? id : base;
}

#endif
