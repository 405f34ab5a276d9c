/* CPython's frames: walked behind the stack of the C functions between which they
 * stand, as record/python_maps.h says. */
#ifndef RECORD_BPF_PYTHON_BPF_H
#define RECORD_BPF_PYTHON_BPF_H

#include "record/bpf/perl.bpf.h"
#include "record/bpf/php.bpf.h"
#include "record/bpf/ruby.bpf.h"

/* Bits of a string's state. */
#define PYTHON_TEXT_KIND(state) ((state) >> 2 & 7)
#define PYTHON_TEXT_COMPACT(state) ((state) >> 5 & 1)
#define PYTHON_TEXT_ASCII(state) ((state) >> 6 & 1)
#define PYTHON_TEXT_LENGTH 16u
#define PYTHON_TEXT_STATE 32u
#define PYTHON_BYTES_LENGTH 16u
#define PYTHON_BYTES_DATA 32u

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
	if (python_word(w, *word + *key % PTHREAD_BLOCK_KEYS * 16 + 8, key) < 0)
		return 0;
	if (o->thread_id != SCRIPT_NO_THREAD_ID && (python_word(w, *key + o->thread_id, word) < 0 || *word != w->fs))
		return 0;
	return *key;
}

static __always_inline long python_frame(struct walk *w)
{
	const struct python_offsets *o = &w->offsets;
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
static __always_inline long python_tell_code(struct walk *w, u32 index)
{
	const struct python_offsets *o = &w->offsets;
	struct python_code_message *m = &w->python_code;
	u64 *first = &w->python_words[0], *second = &w->python_words[1], *told = python_tell_begin(w, index);
	if (!told)
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
	python_tell_end(w, told, to + m->lines_bytes);
	return 0;
}

/* The next frame; not 0 behind the last one. One function for all languages each: their callers have no room for more. Not
 * static, for the verifier to follow them once, and not once for each way and each pass of the loop that leads to them. */
__noinline int script_step(struct walk *w)
{
	if (!w || !w->python_at)
		return 1;
	if (w->offsets.language == SCRIPT_PHP)
		return php_frame(w);
	if (w->offsets.language == SCRIPT_RUBY)
		return ruby_frame(w);
	return w->offsets.language == SCRIPT_PERL ? perl_context(w) : python_frame(w);
}

static long script_frame(u32 index, void *data)
{
	return LOOP_ENDS(script_step(*(struct walk **)data));
}

__noinline int script_tell(struct walk *w, u32 index)
{
	if (!w)
		return 1;
	if (w->offsets.language == SCRIPT_PHP)
		return php_tell_code(w, index);
	return w->offsets.language == SCRIPT_PERL ? perl_tell_code(w, index) : python_tell_code(w, index);
}

static long script_tell_code(u32 index, void *data)
{
	struct walk *w = *(struct walk **)data;
	if (!w)
		return 1;
	return LOOP_ENDS(w->offsets.language == SCRIPT_RUBY ? ruby_tell_code(w, index) : script_tell(w, index));
}

/* Tells the frames that were walked, code objects first; under a number of its own where
 * nobody shows the same again. */
static __always_inline u32 python_tell(struct walk *w, u32 id)
{
	struct python_message *m = &w->python_head;
	bpf_loop(m->count, script_tell_code, &w, 0);
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

/* Who has the interpreter's lock, where a futex lies in the condition on which others wait for it; 0 where it does not,
 * or nobody has it. */
static __always_inline u32 python_lock_owner_in(struct walk *w, u64 futex)
{
	const struct python_offsets *o = python_known(w->python);
	u64 *word = &w->python_words[0], *holder = &w->python_words[1], *thread = &w->python_words[2], lock;
	if (o && o->language == SCRIPT_RUBY)
		return ruby_lock_owner(w, futex);
	if (!o || !o->lock)
		return 0;
	lock = w->python_key + (long)o->lock;
	if (futex - (lock + PYTHON_LOCK_CONDITION) >= PYTHON_LOCK_CONDITION_BYTES)
		return 0;
	walk_forget_page(w);
	if (python_word(w, lock + PYTHON_LOCK_TAKEN, word) < 0 || (u32)*word != 1 || python_word(w, lock + PYTHON_LOCK_HOLDER, holder) < 0 ||
	    !*holder || python_word(w, *holder + o->thread_id, thread) < 0 || python_word(w, *thread + PTHREAD_SELF, word) < 0 ||
	    *word != *thread || python_word(w, *thread + PTHREAD_TID, word) < 0)
		return 0;
	return (u32)*word;
}

/* The same of the current thread, whose stack was walked just now. */
__noinline u32 python_lock_owner(u64 futex)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 zero = 0, *level = bpf_map_lookup_elem(&stack_level, &zero);
	if (!level)
		return 0;
	u32 at = *level;
	struct walk *w = bpf_map_lookup_elem(&stack_walks, &at);
	if (!w || !w->python || w->message.tgid != (u32)task->tgid)
		return 0;
	return python_lock_owner_in(w, futex);
}

/* Walks the frames from the newest on, and numbers the stack that has them. */
static __always_inline u32 script_number(struct walk *w, u32 base)
{
	w->python_head.base = base;
	w->python_hash = stack_mix(0x70797468, base);
	bpf_loop(w->offsets.language == SCRIPT_PERL || w->offsets.language == SCRIPT_RUBY ? SCRIPT_STEPS_MOST : PYTHON_FRAMES_MAX, script_frame, &w, 0);
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

/* Readies the walk; 0 where the thread has no frames of the language. */
__noinline int script_begin(struct walk *w)
{
	if (!w)
		return 0;
	const struct python_offsets *o = &w->offsets;
	if (o->language == SCRIPT_PHP)
		return python_word(w, w->python_key, &w->python_at) == 0 && w->python_at;
	if (o->language == SCRIPT_RUBY)
		return ruby_begin(w);
	w->python_at = python_thread(w, o);
	if (o->language == SCRIPT_PERL)
		return perl_begin(w, w->python_at);
	return w->python_at && python_word(w, w->python_at + o->thread_frame, &w->python_at) == 0 && w->python_at &&
	       (o->chain_frame == PYTHON_NO_CHAIN || python_word(w, w->python_at + o->chain_frame, &w->python_at) == 0) && w->python_at;
}

/* Number of the stack `base` with the thread's Python frames in it; `base` itself when
 * it has none. */
__noinline u32 python_stack(struct walk *w, u32 base)
{
	if (!w || !base)
		return base;
	const struct python_offsets *known = python_known(w->python);
	if (!known)
		return base;
	/* by words: else the compiler takes stack for all of them */
	for (u32 i = 0; i < sizeof(w->offsets) / 8; i++) {
		((u64 *)&w->offsets)[i] = ((const u64 *)known)[i];
		__asm__ volatile("" ::: "memory");
	}
	walk_forget_page(w);
	w->code_page = w->more_page = w->other_page = (struct walk_page){ .of = WALK_NO_ADDRESS };
	w->python_head.count = 0;
	return script_begin(w) ? script_number(w, base) : base;
}

#endif
