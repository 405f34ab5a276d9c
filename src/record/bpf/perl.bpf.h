/* Perl's frames, walked as CPython's are (record/bpf/python.bpf.h): the contexts of the running interpreter, innermost
 * first, in stacks that lead to each other. The statement that runs, and of each subroutine the one that called
 * it, tell file and line. A frame's code is its statement, its place the subroutine. */
#ifndef RECORD_BPF_PERL_BPF_H
#define RECORD_BPF_PERL_BPF_H

#include "record/bpf/script.bpf.h"

/* Of perl 5.36 with threads. */
#define PERL_STATEMENT 208u         /* interpreter: the one that runs, the newest stack of contexts */
#define PERL_STACK 224u
#define PERL_STACK_CONTEXTS 8u
#define PERL_STACK_BEFORE 16u
#define PERL_STACK_LAST 32u         /* the lower half: number of the last context */
#define PERL_STACK_KIND 40u         /* the upper half */
#define PERL_STACK_MAIN 1u
#define PERL_CONTEXT_BYTES 104u
#define PERL_CONTEXT_KIND 15u
#define PERL_CONTEXT_SUB 9u
#define PERL_CONTEXT_FORMAT 10u
#define PERL_CONTEXT_EVAL 11u
#define PERL_CONTEXT_OPERATION(word) ((word) >> 23 & 0x1ff)
#define PERL_OPERATION_REQUIRE 342u
#define PERL_OPERATION_EVAL 345u
#define PERL_CONTEXT_STATEMENT 16u
#define PERL_CONTEXT_BACK 56u       /* where to go on behind the call; 0: C called */
#define PERL_CONTEXT_CODE 72u
#define PERL_STATEMENT_LINE 32u     /* the upper half */
#define PERL_STATEMENT_FILE 48u
#define PERL_STATEMENT_NUMBER 56u   /* with what it was compiled by */
#define PERL_CODE_FLAGS 88u         /* the upper half */
#define PERL_CODE_NAMED (0x8000ull << 32)
#define PERL_CODE_NAME 56u          /* its own text, or the symbol that has it */
#define PERL_CODE_PACKAGE 32u
#define PERL_SYMBOL_NAME 32u
#define PERL_SYMBOL_PACKAGE 40u
#define PERL_PACKAGE_NAME 32u
#define PERL_PACKAGE_NAMES 56u      /* the upper half: it has several, the first of a list */
#define PERL_TEXT 8u
#define PERL_FILE_BYTES 256u

/* What tells a statement from others that its memory was before: subroutine, file, line and the number that it got when it was
 * compiled; as they stand in the walk's words. The memory of one text of `eval` is the next one's. */
static __always_inline u64 perl_check(struct walk *w, u64 code)
{
	return stack_mix(stack_mix(stack_mix(code, w->python_words[4]), w->python_words[5] >> 32), w->python_words[0]);
}

static __always_inline bool perl_take(struct walk *w, u64 code, u64 entry)
{
	u64 *words = w->python_words, *statement = &words[7];
	if (python_code_word(w, *statement + PERL_STATEMENT_FILE, &words[4]) < 0 || python_code_word(w, *statement + PERL_STATEMENT_LINE, &words[5]) < 0 ||
	    python_code_word(w, *statement + PERL_STATEMENT_NUMBER, &words[0]) < 0)
		return false;
	struct python_frame *f = &w->python_frames[w->python_head.count++ & PYTHON_FRAMES_MAX];
	f->code = (*statement & ~PYTHON_ENTRY) | entry;
	f->place = code;
	f->check = perl_check(w, code);
	w->python_hash = stack_mix(stack_mix(w->python_hash, f->code), f->check);
	return true;
}

/* Goes to the end of a stack of contexts; remembers how many frames there were before it. */
static __always_inline bool perl_stack(struct walk *w)
{
	u64 *last = &w->python_words[6];
	if (python_word(w, w->python_at + PERL_STACK_LAST, last) < 0)
		return false;
	*last = (u64)w->python_head.count << 32 | (u32)*last;
	return true;
}

static __always_inline long perl_context(struct walk *w)
{
	if (w->python_head.count >= PYTHON_FRAMES_MAX)
		return 1;
	u64 *words = w->python_words, *last = &words[6], *context = &words[0];
	if ((int)*last < 0) {
		if (python_word(w, w->python_at + PERL_STACK_KIND, &words[0]) < 0 || python_word(w, w->python_at + PERL_STACK_BEFORE, &words[1]) < 0)
			return 1;
		if (words[0] >> 32 == PERL_STACK_MAIN || !words[1]) {
			if (perl_take(w, 0, PYTHON_ENTRY))
				w->python_at = 0;
			return 1;
		}
		/* what C had run in the stack that ends: with its outermost frame a call of the loop begins */
		if (w->python_head.count > *last >> 32)
			w->python_frames[(w->python_head.count - 1) & PYTHON_FRAMES_MAX].code |= PYTHON_ENTRY;
		w->python_at = words[1];
		return perl_stack(w) ? 0 : 1;
	}
	if (python_word(w, w->python_at + PERL_STACK_CONTEXTS, context) < 0)
		return 1;
	*context += (*last & 0x7fffffff) * PERL_CONTEXT_BYTES;
	*last = (*last & ~0xffffffffull) | (u32)(*last - 1);
	if (python_word(w, *context, &words[1]) < 0)
		return 1;
	switch (words[1] & PERL_CONTEXT_KIND) {
	case PERL_CONTEXT_SUB:
	case PERL_CONTEXT_FORMAT:
		if (python_word(w, *context + PERL_CONTEXT_CODE, &words[1]) < 0 || python_word(w, *context + PERL_CONTEXT_BACK, &words[2]) < 0)
			return 1;
		break;
	case PERL_CONTEXT_EVAL:
		/* of a text or file; a block belongs to what is around it */
		if (PERL_CONTEXT_OPERATION(words[1]) != PERL_OPERATION_EVAL && PERL_CONTEXT_OPERATION(words[1]) != PERL_OPERATION_REQUIRE)
			return 0;
		words[1] = 0;
		words[2] = 1;
		break;
	default:
		return 0;
	}
	if (python_word(w, *context + PERL_CONTEXT_STATEMENT, &words[3]) < 0 || !perl_take(w, words[1], words[2] ? 0 : PYTHON_ENTRY))
		return 1;
	words[7] = words[3];
	return 0;
}

/* Readies the walk; false where the thread runs no Perl. */
static __always_inline bool perl_begin(struct walk *w, u64 interpreter)
{
	u64 *words = w->python_words;
	return interpreter && python_word(w, interpreter + PERL_STACK, &w->python_at) == 0 && w->python_at &&
	       python_word(w, interpreter + PERL_STATEMENT, &words[7]) == 0 && words[7] && perl_stack(w);
}

/* A text with its length before it. */
static __always_inline u32 perl_copy_text(struct walk *w, u64 text, u32 to)
{
	u64 *length = &w->python_words[5];
	if (!text || python_tell_word(w, text, length) < 0)
		return 0;
	u32 bytes = *length >> 32 > PYTHON_NAME_BYTES ? PYTHON_NAME_BYTES : *length >> 32;
	return python_copy_out(w, text + PERL_TEXT, to, bytes) ? bytes : 0;
}

/* A text that ends with a NUL, and what follows it; to the end of its page where no more is there. */
static __always_inline u32 perl_copy_file(struct walk *w, u64 text, u32 to)
{
	u32 bytes = 4096 - (text & 4095);
	if (python_copy_out(w, text, to, PERL_FILE_BYTES))
		return PERL_FILE_BYTES;
	return bytes < PERL_FILE_BYTES && python_copy_out(w, text, to, bytes) ? bytes : 0;
}

static __always_inline long perl_tell_code(struct walk *w, u32 index)
{
	struct python_code_message *m = &w->python_code;
	u64 *words = w->python_words, *name = &words[1], *package = &words[2], *body = &words[3], *file = &words[4], *line = &words[5], *flags = &words[6];
	u64 *told = python_tell_begin(w, index), code = w->python_frames[index & PYTHON_FRAMES_MAX].place;
	if (!told)
		return 0;
	if (python_tell_word(w, m->code + PERL_STATEMENT_FILE, file) < 0 || python_tell_word(w, m->code + PERL_STATEMENT_LINE, line) < 0 ||
	    python_tell_word(w, m->code + PERL_STATEMENT_NUMBER, &words[0]) < 0 || perl_check(w, code) != m->check)
		return 0;
	m->line = *line >> 32;
	*name = *package = 0;
	if (code && python_tell_word(w, code, body) == 0 && python_tell_word(w, *body + PERL_CODE_FLAGS, flags) == 0 &&
	    python_tell_word(w, *body + PERL_CODE_NAME, name) == 0 && python_tell_word(w, *body + PERL_CODE_PACKAGE, package) == 0 &&
	    !(*flags & PERL_CODE_NAMED)) {
		if (python_tell_word(w, *name, body) < 0 || python_tell_word(w, *body + PERL_SYMBOL_NAME, name) < 0 ||
		    python_tell_word(w, *body + PERL_SYMBOL_PACKAGE, package) < 0)
			*name = 0;
	}
	if (*package && (python_tell_word(w, *package, body) < 0 || python_tell_word(w, *body + PERL_PACKAGE_NAME, package) < 0 ||
			 python_tell_word(w, *body + PERL_PACKAGE_NAMES, flags) < 0 ||
			 (*flags >> 32 && python_tell_word(w, *package, package) < 0)))
		*package = 0;
	m->name_unit = m->file_unit = 0;
	m->name_bytes = perl_copy_text(w, *name, 0);
	m->file_bytes = perl_copy_file(w, *file, m->name_bytes);
	m->lines_bytes = m->lines_whole = perl_copy_text(w, *package, m->name_bytes + m->file_bytes);
	python_tell_end(w, told, m->name_bytes + m->file_bytes + m->lines_bytes);
	return 0;
}

#endif
