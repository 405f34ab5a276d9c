/* Ruby's frames, walked as CPython's are (record/bpf/python.bpf.h): the control frames of the thread's execution context, which lie in
 * a stack of its own (of a fiber in the fiber's), innermost first. A frame's code is its instruction sequence, or the method entry
 * of a method that is written in C; its place is the control frame, until it is told, and then its line. */
#ifndef RECORD_BPF_RUBY_BPF_H
#define RECORD_BPF_RUBY_BPF_H

#include "record/bpf/script.bpf.h"

/* Of Ruby 3.1. Execution context: */
#define RUBY_STACK 0u
#define RUBY_STACK_WORDS 8u
#define RUBY_NEWEST 16u
#define RUBY_THREAD 48u
#define RUBY_STACK_WORDS_MOST (1ull << 24)
/* Thread: */
#define RUBY_THREAD_RACTOR 24u
#define RUBY_THREAD_ID 80u
#define RUBY_THREAD_CONDITION 120u
#define RUBY_THREAD_CONDITION_BYTES 48u
#define RUBY_THREAD_UNBLOCK 248u    /* a function, while it sleeps without the lock */
#define RUBY_RACTOR_HOLDER 336u
/* Control frame: */
#define RUBY_FRAME_BYTES 64u
#define RUBY_FRAME_PLACE 0u
#define RUBY_FRAME_CODE 16u
#define RUBY_FRAME_VARIABLES 32u
/* Its variables end with a method or the like, those around them or a block, and marks. */
#define RUBY_VARIABLES_METHOD 16u   /* before the marks */
#define RUBY_VARIABLES_AROUND 8u
#define RUBY_KIND 0x7fff0001u
#define RUBY_KIND_OF_C 0x55550001u
#define RUBY_FRAME_FIRST 0x20u      /* a call of the C function that runs code begins with it */
#define RUBY_VARIABLES_LOCAL 2u     /* no others are around them */
/* Instruction sequence, and its body: */
#define RUBY_CODE_BODY 16u
#define RUBY_BODY_CODE 8u
#define RUBY_BODY_FILE 64u
#define RUBY_BODY_METHOD 72u
#define RUBY_BODY_NAME 80u
#define RUBY_BODY_LINE 88u
#define RUBY_BODY_LINES 120u
#define RUBY_BODY_LINES_COUNT 136u
#define RUBY_BODY_LINES_INDEX 144u
#define RUBY_LINE_BYTES 12u
/* The index: for the first positions seven bits each, nine in a word, then blocks. */
#define RUBY_INDEX_FIRST 54u
#define RUBY_INDEX_BLOCKS 48u
#define RUBY_INDEX_BLOCK_BYTES 80u
#define RUBY_CODE_MOST (1u << 24)
/* Method entry, and its definition: */
#define RUBY_METHOD_CLASS 8u
#define RUBY_METHOD_DEFINITION 16u
#define RUBY_METHOD_CALLED 24u
#define RUBY_DEFINITION_KIND 15u    /* a mask; 0: of Ruby */
#define RUBY_DEFINITION_NAME 32u
/* Objects: */
#define RUBY_OBJECT(word) (!((word) & 7) && (word) > 0x1000)
#define RUBY_TYPE 31u
#define RUBY_CLASS 2u
#define RUBY_MODULE 3u
#define RUBY_STRING 5u
#define RUBY_ARRAY 7u
#define RUBY_INTERNAL 26u
#define RUBY_INCLUDED 28u
#define RUBY_OBJECT_CLASS 8u
#define RUBY_INTERNAL_KIND(flags) ((flags) >> 12 & 15)
#define RUBY_INTERNAL_VARIABLES 2u
#define RUBY_INTERNAL_METHOD 6u
#define RUBY_VARIABLES_OWN_METHOD 8u
#define RUBY_CLASS_SINGLETON (1u << 12)
#define RUBY_CLASS_SUPER 16u
#define RUBY_CLASS_EXTRA 24u
#define RUBY_EXTRA_ATTRIBUTES 8u
#define RUBY_TABLE_BOUND 40u
#define RUBY_TABLE_ENTRIES 48u
#define RUBY_TABLE_ENTRY_BYTES 24u
#define RUBY_TABLE_ENTRIES_MOST 16u /* looked at */
#define RUBY_NAME_KIND 14u          /* of a name's number; 0: no mark stands before it */
#define RUBY_NAME_OPERATORS 169u
#define RUBY_NAME_ATTACHED 0xc11u
#define RUBY_NAMES_TABLE 16u
#define RUBY_NAMES_UNIT 512u
#define RUBY_TEXT_APART (1u << 13)  /* not in the object itself */
#define RUBY_TEXT_LENGTH(flags) ((flags) >> 14 & 31)
#define RUBY_TEXT_INSIDE 16u
#define RUBY_TEXT_APART_LENGTH 16u
#define RUBY_TEXT_APART_AT 24u
#define RUBY_ARRAY_INSIDE (1u << 13)
#define RUBY_ARRAY_APART_AT 32u
#define RUBY_AROUND_MOST 16u

/* The thread's execution context, by the thread-local variable that has it; 0 where it has none, or one of another thread. The
 * thread, as Ruby has it, stays in the second word. */
static __always_inline u64 ruby_context(struct walk *w)
{
	u64 *words = w->python_words, *module = &words[0], *thread = &words[1], *blocks = &words[2], *context = &words[3];
	if (python_word(w, w->python_key, module) < 0 || python_word(w, w->python_key + 8, context) < 0 ||
	    python_word(w, w->fs + PTHREAD_VARIABLES, blocks) < 0 || python_word(w, *blocks - 16, thread) < 0 || *module > *thread ||
	    python_word(w, *blocks + *module * 16, thread) < 0 || python_word(w, *thread + *context, context) < 0 || !*context ||
	    python_word(w, *context + RUBY_THREAD, thread) < 0 || python_word(w, *thread + RUBY_THREAD_ID, module) < 0 || *module != w->fs)
		return 0;
	return *context;
}

/* Readies the walk; 0 where the thread runs no Ruby. The stack's end stays in the last word. */
__noinline int ruby_begin(struct walk *w)
{
	if (!w)
		return 0;
	u64 context = ruby_context(w), *words = w->python_words;
	if (!context || python_word(w, context + RUBY_STACK, &words[7]) < 0 || python_word(w, context + RUBY_STACK_WORDS, &words[6]) < 0 ||
	    python_word(w, context + RUBY_NEWEST, &w->python_at) < 0 || words[6] > RUBY_STACK_WORDS_MOST || w->python_at < words[7])
		return 0;
	/* the outermost stands for none of the program's */
	words[7] += words[6] * 8 - RUBY_FRAME_BYTES;
	return w->python_at < words[7];
}

/* Addresses in the walk are made anew behind this: else the compiler keeps them on the stack. */
#define RUBY_FORGET_ADDRESSES(w) __asm__ volatile("" : "+r"(w))

static __always_inline bool ruby_take_code(struct walk *w)
{
	u64 *code = &w->python_words[0], *name = &w->python_words[4], *other = &w->python_words[5];
	if (python_word_of(w, &w->other_page, *code + RUBY_CODE_BODY, other) < 0 || python_code_word(w, *other + RUBY_BODY_NAME, name) < 0)
		return false;
	*name = stack_mix(*other, *name);
	return python_code_word(w, *other + RUBY_BODY_LINE, other) == 0;
}

/* Of a method that is written in C. */
static __always_inline bool ruby_take_method(struct walk *w)
{
	u64 *words = w->python_words, *code = &words[0], *marks = &words[1], *method = &words[2], *name = &words[4], *other = &words[5];
	*code = *method;
	*marks = 0;
	return python_code_word(w, *code + RUBY_METHOD_CLASS, name) == 0 && python_code_word(w, *code + RUBY_METHOD_CALLED, other) == 0;
}

/* Words of a frame: code, marks, method, place, then what tells its code from others that its memory was before. */
static __always_inline long ruby_frame(struct walk *w)
{
	if (w->python_head.count >= PYTHON_FRAMES_MAX)
		return 1;
	u64 *words = w->python_words, *name = &words[4];
	if (python_word(w, w->python_at + RUBY_FRAME_PLACE, &words[3]) < 0 || python_word(w, w->python_at + RUBY_FRAME_CODE, &words[0]) < 0 ||
	    python_word(w, w->python_at + RUBY_FRAME_VARIABLES, name) < 0)
		return 1;
	RUBY_FORGET_ADDRESSES(w);
	if (python_word_of(w, &w->more_page, w->python_words[4], &w->python_words[1]) < 0 ||
	    python_word_of(w, &w->more_page, w->python_words[4] - RUBY_VARIABLES_METHOD, &w->python_words[2]) < 0)
		return 1;
	RUBY_FORGET_ADDRESSES(w);
	words = w->python_words;
	/* other blocks that are written in C have no name */
	if (words[0] ? words[3] != 0 : (words[1] & RUBY_KIND) == RUBY_KIND_OF_C) {
		if (words[0] ? !ruby_take_code(w) : !ruby_take_method(w))
			return 1;
		RUBY_FORGET_ADDRESSES(w);
		words = w->python_words;
		struct python_frame *f = &w->python_frames[w->python_head.count++ & PYTHON_FRAMES_MAX];
		f->code = (words[0] & ~PYTHON_ENTRY) | (words[1] & RUBY_FRAME_FIRST ? PYTHON_ENTRY : 0);
		f->place = w->python_at;
		f->check = stack_mix(stack_mix(words[4], words[5]), words[2]);
		w->python_hash = stack_mix(stack_mix(stack_mix(w->python_hash, f->code), words[3]), f->check);
	}
	w->python_at += RUBY_FRAME_BYTES;
	if (w->python_at >= w->python_words[7])
		w->python_at = 0;
	return 0;
}

static __always_inline int ruby_half(struct walk *w, u64 address, u64 *ret_word)
{
	if (python_tell_word(w, address & ~7ull, ret_word) < 0)
		return -1;
	*ret_word = (address & 4 ? *ret_word >> 32 : *ret_word) & 0xffffffff;
	return 0;
}

/* What is read to tell a frame lies in the walk's words, for its callers have no room: its body (0: of a method that is written in
 * C), its code, the variables, the method, then what is in use meanwhile. */
enum ruby_word {
	RUBY_WORD_BODY, RUBY_WORD_CODE, RUBY_WORD_VARIABLES, RUBY_WORD_METHOD, RUBY_WORD_PLACE, RUBY_WORD_USED
};

/* The line of the instruction before the place; 0 where it is not told. */
__noinline u32 ruby_line(struct walk *w)
{
	if (!w)
		return 0;
	u64 *words = w->python_words, *body = &words[RUBY_WORD_BODY], *place = &words[RUBY_WORD_PLACE], *word = &words[RUBY_WORD_USED],
	    *index = &words[RUBY_WORD_USED + 1], *count = &words[RUBY_WORD_USED + 2], *rank = &words[RUBY_WORD_USED + 3];
	if (python_tell_word(w, *body + RUBY_BODY_CODE, word) < 0 || ruby_half(w, *body + RUBY_BODY_LINES_COUNT, count) < 0 || !*count)
		return 0;
	*place = (*place - *word) / 8;
	if (*place > RUBY_CODE_MOST || python_tell_word(w, *body + RUBY_BODY_LINES_INDEX, index) < 0)
		return 0;
	*place -= *place > 0;
	*rank = 1;
	if (*count > 1 && *place < RUBY_INDEX_FIRST) {
		if (python_tell_word(w, *index + *place / 9 * 8, rank) < 0)
			return 0;
		*rank = *rank >> *place % 9 * 7 & 0x7f;
	} else if (*count > 1) {
		*place -= RUBY_INDEX_FIRST;
		*index += RUBY_INDEX_BLOCKS + *place / 512 * RUBY_INDEX_BLOCK_BYTES;
		if (python_tell_word(w, *index, rank) < 0 || python_tell_word(w, *index + 8, word) < 0 ||
		    python_tell_word(w, *index + 16 + *place % 512 / 64 * 8, index) < 0)
			return 0;
		u32 part = *place % 512 / 64;
		*rank = (u32)*rank + (part ? *word >> (part - 1) * 9 & 0x1ff : 0) + __builtin_popcountll(*index << (63 - *place % 64));
	}
	if (!*rank || *rank > *count || python_tell_word(w, *body + RUBY_BODY_LINES, index) < 0 ||
	    ruby_half(w, *index + (*rank - 1) * RUBY_LINE_BYTES, word) < 0)
		return 0;
	return *word >> 31 ? 0 : *word;
}

/* The length of the string that a word names, which then names its characters; 0 where there is none. */
static __always_inline u32 ruby_text(struct walk *w, u64 *text)
{
	u64 *flags = &w->python_words[RUBY_WORD_USED];
	if (!RUBY_OBJECT(*text) || python_tell_word(w, *text, flags) < 0 || (*flags & RUBY_TYPE) != RUBY_STRING)
		return 0;
	if (!(*flags & RUBY_TEXT_APART)) {
		*text += RUBY_TEXT_INSIDE;
		return RUBY_TEXT_LENGTH(*flags);
	}
	if (python_tell_word(w, *text + RUBY_TEXT_APART_LENGTH, flags) < 0 || python_tell_word(w, *text + RUBY_TEXT_APART_AT, text) < 0)
		return 0;
	return *flags > PYTHON_FILE_BYTES ? PYTHON_FILE_BYTES : *flags;
}

/* Copies it. */
static __always_inline u32 ruby_copy_text(struct walk *w, u64 *text, u32 to, u32 most)
{
	u32 bytes = ruby_text(w, text);
	if (bytes > most)
		bytes = most;
	return python_copy_out(w, *text, to, bytes) ? bytes : 0;
}

/* The word becomes an element of the array that it names; where it is none, it stays. */
static __always_inline void ruby_element(struct walk *w, u64 *array, u32 number)
{
	u64 *word = &w->python_words[RUBY_WORD_USED];
	if (!RUBY_OBJECT(*array) || python_tell_word(w, *array, word) < 0 || (*word & RUBY_TYPE) != RUBY_ARRAY)
		return;
	if (*word & RUBY_ARRAY_INSIDE) {
		*word = *array + RUBY_TEXT_INSIDE;
	} else {
		if (python_tell_word(w, *array + RUBY_ARRAY_APART_AT, word) < 0)
			return;
	}
	python_tell_word(w, *word + number * 8ull, array);
}

/* Of the variables of one function: 0 where those around them are to be looked at, 1 at the method, below 0 where there is none. */
__noinline int ruby_method_here(struct walk *w)
{
	if (!w)
		return -1;
	u64 *words = w->python_words, *variables = &words[RUBY_WORD_VARIABLES], *method = &words[RUBY_WORD_METHOD], *flags = &words[RUBY_WORD_USED],
	    *marks = &words[RUBY_WORD_USED + 1];
	if (python_tell_word(w, *variables - RUBY_VARIABLES_METHOD, method) < 0 || python_tell_word(w, *variables, marks) < 0)
		return -1;
	/* it may be kept with what a method remembers */
	*flags = 0;
	if (RUBY_OBJECT(*method))
		python_tell_word(w, *method, flags);
	if ((*flags & RUBY_TYPE) == RUBY_INTERNAL && RUBY_INTERNAL_KIND(*flags) == RUBY_INTERNAL_VARIABLES &&
	    (python_tell_word(w, *method + RUBY_VARIABLES_OWN_METHOD, method) < 0 || python_tell_word(w, *method, flags) < 0))
		return -1;
	if ((*flags & RUBY_TYPE) == RUBY_INTERNAL && RUBY_INTERNAL_KIND(*flags) == RUBY_INTERNAL_METHOD) {
		/* one that `define_method` made has a block's name */
		if (python_tell_word(w, *method + RUBY_METHOD_DEFINITION, flags) == 0 && python_tell_word(w, *flags, flags) == 0 &&
		    !(*flags & RUBY_DEFINITION_KIND))
			return 1;
		return -1;
	}
	if (*marks & RUBY_VARIABLES_LOCAL || python_tell_word(w, *variables - RUBY_VARIABLES_AROUND, variables) < 0)
		return -1;
	*variables &= ~3ull;
	return 0;
}

/* The method to which a frame belongs, by its variables and those around them; 0 where it is none of Ruby's own. */
static __always_inline int ruby_find_method(struct walk *w)
{
	int found = 0;
	if (!w)
		return 0;
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < RUBY_AROUND_MOST && !found; i++)
		found = ruby_method_here(w);
	if (found <= 0)
		w->python_words[RUBY_WORD_METHOD] = 0;
	return 0;
}

/* What stands in a table at an entry in place of the class, if it is what is asked for: 1; 0 where it is not, below 0 where the
 * search ends. */
__noinline int ruby_attribute_here(struct walk *w, int attached)
{
	if (!w)
		return -1;
	u64 *words = w->python_words, *class = &words[RUBY_WORD_METHOD], *entry = &words[RUBY_WORD_USED], *word = &words[RUBY_WORD_USED + 2];
	if (python_tell_word(w, *entry + 8, word) < 0)
		return -1;
	if (attached ? *word != RUBY_NAME_ATTACHED : *word == RUBY_NAME_ATTACHED || *word & RUBY_NAME_KIND)
		return 0;
	if (python_tell_word(w, *entry + 16, class) < 0 || !RUBY_OBJECT(*class) || python_tell_word(w, *class, word) < 0)
		return -1;
	return attached || (*word & RUBY_TYPE) == RUBY_STRING;
}

/* One of a class's hidden attributes in place of it: what it is attached to, or the text that is its name. */
static __always_inline int ruby_attribute(struct walk *w, int attached)
{
	if (!w)
		return 0;
	u64 *words = w->python_words, *class = &words[RUBY_WORD_METHOD], *entry = &words[RUBY_WORD_USED], *bound = &words[RUBY_WORD_USED + 1];
	if (python_tell_word(w, *class + RUBY_CLASS_EXTRA, entry) < 0 || python_tell_word(w, *entry + RUBY_EXTRA_ATTRIBUTES, entry) < 0 || !*entry ||
	    python_tell_word(w, *entry + RUBY_TABLE_BOUND, bound) < 0 || python_tell_word(w, *entry + RUBY_TABLE_ENTRIES, entry) < 0)
		return false;
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < RUBY_TABLE_ENTRIES_MOST; i++, *entry += RUBY_TABLE_ENTRY_BYTES) {
		int here = i >= *bound ? -1 : ruby_attribute_here(w, attached);
		if (here)
			return here > 0;
	}
	return false;
}

/* In place of the method the text that is the name of its class; false where that has none. */
static __always_inline bool ruby_class(struct walk *w)
{
	u64 *words = w->python_words, *class = &words[RUBY_WORD_METHOD], *word = &words[RUBY_WORD_USED], *own = &words[RUBY_WORD_VARIABLES];
	if (python_tell_word(w, *class + RUBY_METHOD_CLASS, class) < 0 || !RUBY_OBJECT(*class) || python_tell_word(w, *class, word) < 0)
		return false;
	if ((*word & RUBY_TYPE) == RUBY_INCLUDED) {
		if (python_tell_word(w, *class + RUBY_OBJECT_CLASS, class) < 0)
			return false;
	} else if (*word & RUBY_CLASS_SINGLETON) {
		w->python_code.singleton = 1;
		*own = *class;
		if (!ruby_attribute(w, true) || python_tell_word(w, *class, word) < 0)
			return false;
		/* of an object that is no class: that of which it is */
		if ((*word & RUBY_TYPE) != RUBY_CLASS && (*word & RUBY_TYPE) != RUBY_MODULE && python_tell_word(w, *own + RUBY_CLASS_SUPER, class) < 0)
			return false;
	}
	return ruby_attribute(w, false);
}

/* Name, file and first line of a body; how much of the name stands before that of its method. */
__noinline int ruby_tell_body(struct walk *w)
{
	if (!w)
		return 0;
	struct python_code_message *m = &w->python_code;
	u64 *words = w->python_words, *body = &words[RUBY_WORD_BODY], *method = &words[RUBY_WORD_METHOD], *text = &words[RUBY_WORD_PLACE],
	    *whole = &words[RUBY_WORD_USED + 1];
	if (python_tell_word(w, *body + RUBY_BODY_LINE, text) == 0)
		m->line = *text >> 1;
	*whole = python_tell_word(w, *body + RUBY_BODY_NAME, text) < 0 ? 0 : ruby_text(w, text);
	if (*method) {
		u32 own = python_tell_word(w, *body + RUBY_BODY_METHOD, text) < 0 ? 0 : ruby_text(w, text);
		if (own && own <= *whole && *whole - own < PYTHON_NAME_BYTES)
			m->prefix_bytes = *whole - own;
		else
			*method = 0;
	}
	if (python_tell_word(w, *body + RUBY_BODY_NAME, text) == 0)
		m->name_bytes = ruby_copy_text(w, text, 0, PYTHON_NAME_BYTES);
	/* as it was given, and where that leads; or one for both */
	if (python_tell_word(w, *body + RUBY_BODY_FILE, text) == 0) {
		ruby_element(w, text, 0);
		m->file_bytes = ruby_copy_text(w, text, m->name_bytes, PYTHON_FILE_BYTES);
	}
	return 0;
}

/* Name of a method that is written in C, by its number in the table of names. */
__noinline int ruby_tell_method(struct walk *w)
{
	if (!w)
		return 0;
	u64 *words = w->python_words, *number = &words[RUBY_WORD_VARIABLES], *text = &words[RUBY_WORD_PLACE];
	if (python_tell_word(w, words[RUBY_WORD_METHOD] + RUBY_METHOD_DEFINITION, text) < 0 ||
	    python_tell_word(w, *text + RUBY_DEFINITION_NAME, number) < 0 || !w->python_names ||
	    python_tell_word(w, w->python_names + RUBY_NAMES_TABLE, text) < 0)
		return 0;
	if (*number > RUBY_NAME_OPERATORS)
		*number >>= 4;
	ruby_element(w, text, (u32)*number / RUBY_NAMES_UNIT);
	ruby_element(w, text, (u32)*number % RUBY_NAMES_UNIT * 2);
	w->python_code.name_bytes = ruby_copy_text(w, text, 0, PYTHON_NAME_BYTES);
	return 0;
}

__noinline int ruby_tell_code(struct walk *w, u32 index)
{
	if (!w)
		return 1;
	u64 *words = w->python_words, *body = &words[RUBY_WORD_BODY], *code = &words[RUBY_WORD_CODE], *method = &words[RUBY_WORD_METHOD];
	struct python_frame *f = &w->python_frames[index & PYTHON_FRAMES_MAX];

	*body = f->place;
	*method = f->code & ~PYTHON_ENTRY;
	f->place = 0;
	if (python_tell_word(w, *body + RUBY_FRAME_CODE, code) < 0 || python_tell_word(w, *body + RUBY_FRAME_PLACE, &words[RUBY_WORD_PLACE]) < 0 ||
	    python_tell_word(w, *body + RUBY_FRAME_VARIABLES, &words[RUBY_WORD_VARIABLES]) < 0)
		return 0;
	*body = 0;
	if (*code) {
		if (*code != *method || python_tell_word(w, *code + RUBY_CODE_BODY, body) < 0)
			return 0;
		RUBY_FORGET_ADDRESSES(w);
		u64 line = ruby_line(w);
		w->python_frames[index & PYTHON_FRAMES_MAX].place = line;
	}
	RUBY_FORGET_ADDRESSES(w);
	if (!python_tell_begin(w, index))
		return 0;
	struct python_code_message *m = &w->python_code;
	m->line = m->lines_bytes = 0;
	m->name_bytes = m->file_bytes = m->prefix_bytes = 0;
	m->name_unit = m->file_unit = m->singleton = 0;
	if (w->python_words[RUBY_WORD_BODY]) {
		ruby_find_method(w);
		RUBY_FORGET_ADDRESSES(w);
		ruby_tell_body(w);
	} else {
		ruby_tell_method(w);
	}
	RUBY_FORGET_ADDRESSES(w);
	if (w->python_words[RUBY_WORD_METHOD] && ruby_class(w)) {
		RUBY_FORGET_ADDRESSES(w);
		w->python_code.lines_bytes = ruby_copy_text(w, &w->python_words[RUBY_WORD_METHOD], w->python_code.name_bytes + w->python_code.file_bytes,
							    PYTHON_NAME_BYTES);
	}
	RUBY_FORGET_ADDRESSES(w);
	m = &w->python_code;
	m->lines_whole = m->lines_bytes;
	u64 *told = python_tell_begin(w, index);
	if (told)
		python_tell_end(w, told, m->name_bytes + m->file_bytes + m->lines_bytes);
	return 0;
}

/* Who has the lock of the thread's ractor, where a futex lies in the condition on which it waits for that; 0 where it does not,
 * sleeps there for something else, or nobody has the lock. */
static __noinline u32 ruby_lock_owner(struct walk *w, u64 futex)
{
	if (!w)
		return 0;
	u64 *words = w->python_words, *thread = &words[1], *word = &words[2], *holder = &words[3];
	walk_forget_page(w);
	if (!ruby_context(w) || futex - (*thread + RUBY_THREAD_CONDITION) >= RUBY_THREAD_CONDITION_BYTES ||
	    python_word(w, *thread + RUBY_THREAD_UNBLOCK, word) < 0 || *word || python_word(w, *thread + RUBY_THREAD_RACTOR, word) < 0 ||
	    python_word(w, *word + RUBY_RACTOR_HOLDER, holder) < 0 || !*holder || *holder == *thread ||
	    python_word(w, *holder + RUBY_THREAD_ID, thread) < 0 || python_word(w, *thread + PTHREAD_SELF, word) < 0 || *word != *thread ||
	    python_word(w, *thread + PTHREAD_TID, word) < 0)
		return 0;
	return (u32)*word;
}

#endif
