/* Reading JSON, see json_read.h. */
#include "base/json_read.h"

#include <stdint.h>
#include <string.h>

void json_reader_init(struct json_reader *reader, const char *text, size_t length)
{
	*reader = (struct json_reader){ .text = text, .length = length };
}

static bool fail(struct json_reader *reader)
{
	reader->failed = true;
	return false;
}

/* The next character that is no space, 0 at the end. */
static char peek(struct json_reader *reader)
{
	while (reader->at < reader->length && strchr(" \t\r\n", reader->text[reader->at]) && reader->text[reader->at])
		reader->at++;
	return reader->failed || reader->at == reader->length ? 0 : reader->text[reader->at];
}

static bool take(struct json_reader *reader, char wanted)
{
	if (peek(reader) != wanted || !wanted)
		return fail(reader);
	reader->at++;
	return true;
}

bool json_enter(struct json_reader *reader, char opener)
{
	if (peek(reader) != opener || reader->depth == JSON_READ_DEPTH)
		return reader->depth == JSON_READ_DEPTH ? fail(reader) : false;
	reader->at++;
	reader->closer[reader->depth] = opener == '{' ? '}' : ']';
	reader->begun[reader->depth++] = false;
	return true;
}

bool json_item(struct json_reader *reader)
{
	bool first;

	if (reader->failed || !reader->depth)
		return fail(reader);
	first = !reader->begun[reader->depth - 1];
	if (peek(reader) == reader->closer[reader->depth - 1]) {
		reader->at++;
		reader->depth--;
		return false;
	}
	reader->begun[reader->depth - 1] = true;
	if (!first && !take(reader, ','))
		return false;
	return peek(reader) ? true : fail(reader);
}

static unsigned hex_digit(char c)
{
	return c >= '0' && c <= '9' ? (unsigned)(c - '0') : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
	     : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10 : 16;
}

/* The character behind a backslash; those beyond ASCII come out as '?': nothing
 * that is looked at here has any. */
static int escaped(struct json_reader *reader)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	char c = reader->at < reader->length ? reader->text[reader->at++] : 0;
	const char *at = c ? strchr(from, c) : NULL;
	unsigned value = 0;

	if (at)
		return to[at - from];
	if (c != 'u' || reader->length - reader->at < 4)
		return -1;
	for (unsigned i = 0; i < 4; i++) {
		unsigned digit = hex_digit(reader->text[reader->at++]);

		if (digit > 15)
			return -1;
		value = value << 4 | digit;
	}
	return value && value < 128 ? (int)value : '?';
}

/* Takes the text in quotes; *ret_whole tells whether it fitted. `text` may be NULL. */
static bool take_text(struct json_reader *reader, char *text, size_t size, bool *ret_whole)
{
	size_t length = 0;

	*ret_whole = true;
	if (!take(reader, '"'))
		return false;
	while (reader->at < reader->length && reader->text[reader->at] != '"') {
		int c = (unsigned char)reader->text[reader->at++];

		if (c < ' ' || (c == '\\' && (c = escaped(reader)) < 0))
			return fail(reader);
		if (text && length + 1 < size)
			text[length++] = (char)c;
		else
			*ret_whole = false;
	}
	if (text && size)
		text[length] = 0;
	return take(reader, '"');
}

bool json_key(struct json_reader *reader, char *key, size_t size)
{
	bool whole;

	return json_item(reader) && take_text(reader, key, size, &whole) && take(reader, ':');
}

bool json_string(struct json_reader *reader, char *text, size_t size)
{
	bool whole;

	if (peek(reader) != '"')
		return false;
	return take_text(reader, text, size, &whole) && (whole || fail(reader));
}

/* A number, true, false or null: nothing here looks at which. */
static bool skip_word(struct json_reader *reader)
{
	size_t start = reader->at;

	while (reader->at < reader->length && reader->text[reader->at] &&
	       strchr("+-.0123456789abcdefghijklmnopqrstuvwxyzE", reader->text[reader->at]))
		reader->at++;
	return reader->at > start ? true : fail(reader);
}

bool json_skip(struct json_reader *reader)
{
	int outside = reader->depth;
	bool whole;

	do {
		char next = peek(reader);

		if (next == '{' || next == '[') {
			if (!json_enter(reader, next))
				return false;
		} else if (next == '"') {
			if (!take_text(reader, NULL, 0, &whole))
				return false;
		} else if (!skip_word(reader)) {
			return false;
		}
		/* To the next value inside what was entered, or out of it. */
		while (reader->depth > outside) {
			bool object = reader->closer[reader->depth - 1] == '}';

			if (!json_item(reader)) {
				if (reader->failed)
					return false;
				continue;
			}
			if (object && (!take_text(reader, NULL, 0, &whole) || !take(reader, ':')))
				return false;
			break;
		}
	} while (reader->depth > outside);
	return true;
}

bool json_end_of_text(struct json_reader *reader)
{
	return !reader->failed && !reader->depth && !peek(reader) && reader->at == reader->length;
}

size_t json_error(const struct json_reader *reader)
{
	size_t line = 1;

	if (!reader->failed)
		return 0;
	for (size_t i = 0; i < reader->at && i < reader->length; i++)
		line += reader->text[i] == '\n';
	return line;
}
