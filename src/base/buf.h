/* A growing byte buffer that is always NUL-terminated, for building text. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>

struct buf {
	char *data;        /* never NULL after the first add; data[length] is 0 */
	size_t length;
	size_t capacity;
};

void buf_init(struct buf *buf);
void buf_done(struct buf *buf);
void buf_clear(struct buf *buf);
void buf_add(struct buf *buf, const void *data, size_t size);
void buf_char(struct buf *buf, char c);
void buf_text(struct buf *buf, const char *text);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *buf, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
/* Text from a foreign source: control characters, invalid UTF-8, backslash and
 * the characters in `also` (may be NULL) come out as \n, \t, \\ or \xNN. */
void buf_escaped(struct buf *buf, const char *text, size_t length, const char *also);
/* The text so far, "" when nothing was added. */
const char *buf_str(const struct buf *buf);

#endif
