/* PHP's frames, walked as CPython's are (record/bpf/python.bpf.h): a list from executor_globals outwards. A frame
 * names its function and its instruction, which has its line; functions that are written in C stand in
 * the list, too, and are left out: their frames of C are there. */
#ifndef RECORD_BPF_PHP_BPF_H
#define RECORD_BPF_PHP_BPF_H

#include "record/bpf/script.bpf.h"

/* Of all versions of PHP 8. */
#define PHP_FUNCTION_OF_C 1ull      /* a bit of a function's type */
#define PHP_FRAME_FIRST (1ull << 17) /* of a frame's marks: a call of the C function that runs code begins with it */
#define PHP_INSTRUCTION_LINE 24u
#define PHP_FUNCTION_NAME 8u
#define PHP_FUNCTION_CLASS 16u
#define PHP_CLASS_NAME 8u
#define PHP_TEXT_LENGTH 16u
#define PHP_TEXT 24u

static __always_inline long php_frame(struct walk *w)
{
	const struct python_offsets *o = &w->offsets;
	u64 *words = w->python_words, *place = &words[0], *function = &words[1], *marks = &words[2], *name = &words[3], *file = &words[4];
	if (python_word(w, w->python_at + o->frame_place, place) < 0 || python_word(w, w->python_at + o->frame_code, function) < 0 ||
	    python_word(w, w->python_at + o->frame_mark, marks) < 0 || python_word(w, w->python_at + o->frame_previous, &words[5]) < 0)
		return 1;
	/* what stands for a generator */
	if (!*function) {
		w->python_at = words[5];
		return 0;
	}
	*function &= ~PYTHON_ENTRY;
	if (python_code_word(w, *function, &words[6]) < 0)
		return 1;
	if (words[6] & PHP_FUNCTION_OF_C) {
		w->python_at = words[5];
		return 0;
	}
	if (python_code_word(w, *function + o->code_name, name) < 0 || python_code_word(w, *function + o->code_file, file) < 0 ||
	    python_code_word(w, *place + PHP_INSTRUCTION_LINE, &words[7]) < 0)
		return 1;
	w->python_at = words[5];
	struct python_frame *f = &w->python_frames[w->python_head.count++ & PYTHON_FRAMES_MAX];
	f->code = *function | (*marks & PHP_FRAME_FIRST ? PYTHON_ENTRY : 0);
	f->place = (u32)words[7];
	f->check = stack_mix(*name, *file);
	w->python_hash = stack_mix(stack_mix(stack_mix(w->python_hash, f->code), f->place), f->check);
	return 0;
}

static __always_inline u32 php_copy_text(struct walk *w, u64 text, u32 to, u32 most)
{
	u64 *length = &w->python_words[2];
	if (!text || python_tell_word(w, text + PHP_TEXT_LENGTH, length) < 0)
		return 0;
	u32 bytes = *length > most ? most : *length;
	return python_copy_out(w, text + PHP_TEXT, to, bytes) ? bytes : 0;
}

static __always_inline long php_tell_code(struct walk *w, u32 index)
{
	const struct python_offsets *o = &w->offsets;
	struct python_code_message *m = &w->python_code;
	u64 *name = &w->python_words[0], *file = &w->python_words[1], *class = &w->python_words[3], *line = &w->python_words[4];
	u64 *told = python_tell_begin(w, index);
	if (!told)
		return 0;
	if (python_tell_word(w, m->code + o->code_name, name) < 0 || python_tell_word(w, m->code + o->code_file, file) < 0 ||
	    stack_mix(*name, *file) != m->check || python_tell_word(w, m->code + PHP_FUNCTION_CLASS, class) < 0 ||
	    python_tell_word(w, m->code + o->code_line, line) < 0)
		return 0;
	if (*class && python_tell_word(w, *class + PHP_CLASS_NAME, class) < 0)
		*class = 0;
	m->line = *line;
	m->name_unit = m->file_unit = 0;
	m->name_bytes = php_copy_text(w, *name, 0, PYTHON_NAME_BYTES);
	m->file_bytes = php_copy_text(w, *file, m->name_bytes, PYTHON_FILE_BYTES);
	m->lines_bytes = m->lines_whole = php_copy_text(w, *class, m->name_bytes + m->file_bytes, PYTHON_NAME_BYTES);
	python_tell_end(w, told, m->name_bytes + m->file_bytes + m->lines_bytes);
	return 0;
}

#endif
