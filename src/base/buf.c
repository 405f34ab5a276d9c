/* See buf.h. */
#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

void buf_init(struct buf *buf)
{
	*buf = (struct buf){ 0 };
}

void buf_done(struct buf *buf)
{
	free(buf->data);
	buf_init(buf);
}

void buf_clear(struct buf *buf)
{
	buf->length = 0;
	if (buf->data)
		buf->data[0] = 0;
}

static char *grow(struct buf *buf, size_t more)
{
	size_t want = buf->length + more + 1;

	if (want > buf->capacity) {
		buf->capacity = want < 2 * buf->capacity ? 2 * buf->capacity : want + 64;
		buf->data = mem_realloc(buf->data, buf->capacity);
	}
	return buf->data + buf->length;
}

void buf_add(struct buf *buf, const void *data, size_t size)
{
	char *at = grow(buf, size);

	if (size)
		memcpy(at, data, size);
	buf->length += size;
	buf->data[buf->length] = 0;
}

void buf_char(struct buf *buf, char c)
{
	buf_add(buf, &c, 1);
}

void buf_text(struct buf *buf, const char *text)
{
	buf_add(buf, text, strlen(text));
}

void buf_vprintf(struct buf *buf, const char *format, va_list args)
{
	va_list again;
	int length;

	va_copy(again, args);
	length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	vsnprintf(grow(buf, (size_t)length), (size_t)length + 1, format, args);
	buf->length += (size_t)length;
}

void buf_printf(struct buf *buf, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	buf_vprintf(buf, format, args);
	va_end(args);
}

/* Length of the valid UTF-8 sequence at text that is no control character, 0 if none. */
static size_t utf8_length(const unsigned char *text, size_t left)
{
	size_t n = text[0] >= 0xf0 && text[0] <= 0xf4 ? 4 : text[0] >= 0xe0 ? 3 : text[0] >= 0xc2 ? 2 : 0;
	unsigned point;

	if (text[0] >= 0xf5 || n < 2 || n > left)
		return 0;
	point = text[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (text[i] & 0x3f);
	}
	if ((n == 3 && point < 0x800) || (n == 4 && (point < 0x10000 || point > 0x10ffff)))
		return 0;
	/* C1 controls, surrogates, line and direction controls */
	if (point < 0xa0 || (point >= 0xd800 && point < 0xe000) || (point >= 0x2028 && point <= 0x202e) ||
	    (point >= 0x2066 && point <= 0x2069) || point == 0x200e || point == 0x200f || point == 0xfeff)
		return 0;
	return n;
}

void buf_escaped(struct buf *buf, const char *text, size_t length, const char *also)
{
	const unsigned char *bytes = (const unsigned char *)text;

	for (size_t i = 0; i < length;) {
		unsigned char c = bytes[i];
		size_t n;

		if (c >= 0x80 && (n = utf8_length(bytes + i, length - i))) {
			buf_add(buf, bytes + i, n);
			i += n;
			continue;
		}
		if (c == '\n')
			buf_text(buf, "\\n");
		else if (c == '\t')
			buf_text(buf, "\\t");
		else if (c == '\\')
			buf_text(buf, "\\\\");
		else if (c < 0x20 || c >= 0x7f || (also && c && strchr(also, c)))
			buf_printf(buf, "\\x%02x", c);
		else
			buf_char(buf, (char)c);
		i++;
	}
}

const char *buf_str(const struct buf *buf)
{
	return buf->data ? buf->data : "";
}
