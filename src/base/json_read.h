/* Reading JSON, hostile or not, one value after another.
 *
 *	struct json_reader reader;
 *	json_reader_init(&reader, text, length);
 *	if (json_enter(&reader, '{'))
 *		while (json_key(&reader, &key)) ... json_string(...) or json_skip(...)
 *
 * Nothing is allocated: texts are copied into the caller's buffer. After a
 * mistake every function says no; json_error tells where it was. */
#ifndef BASE_JSON_READ_H
#define BASE_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>

#define JSON_READ_DEPTH 64

struct json_reader {
	const char *text;
	size_t length, at;
	int depth;
	char closer[JSON_READ_DEPTH];
	bool begun[JSON_READ_DEPTH];   /* something stood at this depth */
	bool failed;
};

void json_reader_init(struct json_reader *reader, const char *text, size_t length);
/* The next value begins an object ('{') or an array ('['). False, and nothing is
 * read, when it is another one. */
bool json_enter(struct json_reader *reader, char opener);
/* The next member's key, cut to the buffer; false behind the last one, and the
 * object is then left. Its value must be read or skipped. */
bool json_key(struct json_reader *reader, char *key, size_t size);
/* True while the array has another item; false behind the last one, and the array
 * is then left. */
bool json_item(struct json_reader *reader);
/* The value is a text that fits. False, and nothing is read, when it is another one. */
bool json_string(struct json_reader *reader, char *text, size_t size);
bool json_skip(struct json_reader *reader);
/* Only space is left. */
bool json_end_of_text(struct json_reader *reader);
/* Line of the mistake, from 1; 0 when there was none. */
size_t json_error(const struct json_reader *reader);

#endif
