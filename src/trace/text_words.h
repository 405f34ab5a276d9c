/* Words of the text form: parts of a line, parted by blanks, and the numbers
 * they can be. For the text form's own files. */
#ifndef TRACE_TEXT_WORDS_H
#define TRACE_TEXT_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct word {
	const char *text;
	size_t length;
};

bool word_is(struct word word, const char *text);
void word_skip_blanks(struct word *rest);
/* Cuts the next word off the rest; length 0 at the end or before a comment. */
struct word word_take(struct word *rest);

/* All of the word must be the number; 0, -EINVAL or -ERANGE. */
int word_number(struct word word, uint64_t *ret_number);   /* decimal or 0x */
int word_hex(struct word word, uint64_t *ret_number);      /* hexadecimal, without 0x */
/* Seconds with a fraction, or a number with ns, us, ms or s; in ns. */
int word_time(struct word word, uint64_t *ret_ns);

#endif
