/* See json.h. */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void json_init(struct json *json, struct buf *buf)
{
	*json = (struct json){ .buf = buf };
}

/* Bytes of the UTF-8 sequence at text, 0 when it is none. */
static size_t utf8_bytes(const unsigned char *text, size_t left, unsigned *ret_point)
{
	size_t n = text[0] < 0x80 ? 1 : text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
	unsigned point;

	*ret_point = text[0];
	if (n == 1)
		return 1;
	if (text[0] < 0xc2 || text[0] > 0xf4 || n > left)
		return 0;
	point = text[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (text[i] & 0x3fu);
	}
	if ((n == 3 && (point < 0x800 || (point >= 0xd800 && point < 0xe000))) ||
	    (n == 4 && (point < 0x10000 || point > 0x10ffff)))
		return 0;
	*ret_point = point;
	return n;
}

/* What a terminal that shows the document would obey, or that turns the reading direction:
 * the same as buf_escaped keeps from it. */
static bool is_control(unsigned point)
{
	return point < 0x20 || (point >= 0x7f && point < 0xa0) || (point >= 0x2028 && point <= 0x202e) ||
	       (point >= 0x2066 && point <= 0x2069) || point == 0x200e || point == 0x200f || point == 0xfeff;
}

static void quoted(struct buf *buf, const char *text, size_t length)
{
	const unsigned char *bytes = (const unsigned char *)text;

	buf_char(buf, '"');
	for (size_t i = 0; i < length;) {
		unsigned point;
		size_t n = utf8_bytes(bytes + i, length - i, &point);

		if (n == 0) {
			buf_text(buf, "\xef\xbf\xbd");
			i++;
			continue;
		}
		if (bytes[i] == '"' || bytes[i] == '\\')
			buf_char(buf, '\\'), buf_char(buf, text[i]);
		else if (bytes[i] == '\n')
			buf_text(buf, "\\n");
		else if (is_control(point))
			buf_printf(buf, "\\u%04x", point);
		else
			buf_add(buf, bytes + i, n);
		i += n;
	}
	buf_char(buf, '"');
}

static void new_line(struct json *json)
{
	if (!json->pretty)
		return;
	buf_char(json->buf, '\n');
	for (int i = 0; i < json->depth; i++)
		buf_text(json->buf, "  ");
}

static void begin_value(struct json *json, const char *key)
{
	if (json->depth) {
		if (json->filled[json->depth - 1])
			buf_char(json->buf, ',');
		json->filled[json->depth - 1] = true;
		new_line(json);
	}
	if (key) {
		quoted(json->buf, key, strlen(key));
		buf_text(json->buf, json->pretty ? ": " : ":");
	}
}

static void open_value(struct json *json, const char *key, char opener, char closer)
{
	begin_value(json, key);
	if (json->depth == JSON_MAX_DEPTH)
		abort();
	buf_char(json->buf, opener);
	json->closer[json->depth] = closer;
	json->filled[json->depth++] = false;
}

void json_object(struct json *json, const char *key)
{
	open_value(json, key, '{', '}');
}

void json_array(struct json *json, const char *key)
{
	open_value(json, key, '[', ']');
}

void json_end(struct json *json)
{
	if (!json->depth)
		abort();
	json->depth--;
	if (json->filled[json->depth])
		new_line(json);
	buf_char(json->buf, json->closer[json->depth]);
	if (!json->depth)
		buf_char(json->buf, '\n');
}

void json_text_length(struct json *json, const char *key, const char *text, size_t length)
{
	begin_value(json, key);
	quoted(json->buf, text, length);
}

void json_text(struct json *json, const char *key, const char *text)
{
	if (text)
		json_text_length(json, key, text, strlen(text));
	else
		json_null(json, key);
}

void json_u64(struct json *json, const char *key, uint64_t number)
{
	begin_value(json, key);
	buf_printf(json->buf, "%" PRIu64, number);
}

void json_i64(struct json *json, const char *key, int64_t number)
{
	begin_value(json, key);
	buf_printf(json->buf, "%" PRId64, number);
}

void json_double(struct json *json, const char *key, double number)
{
	if (!isfinite(number)) {
		json_null(json, key);
		return;
	}
	begin_value(json, key);
	buf_printf(json->buf, "%.6g", number);
}

void json_bool(struct json *json, const char *key, bool value)
{
	begin_value(json, key);
	buf_text(json->buf, value ? "true" : "false");
}

void json_null(struct json *json, const char *key)
{
	begin_value(json, key);
	buf_text(json->buf, "null");
}
