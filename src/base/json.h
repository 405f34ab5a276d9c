/* Writing JSON, well-formed by construction.
 *
 *	struct json json;
 *	json_init(&json, &buf);
 *	json_object(&json, NULL);
 *	json_u64(&json, "events", n);
 *	json_array(&json, "lost"); ... json_end(&json);
 *	json_end(&json);
 *
 * `key` is NULL inside arrays and at the top. Foreign text comes out valid:
 * control characters as \u00NN, bytes that are not UTF-8 as U+FFFD. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define JSON_MAX_DEPTH 32

struct json {
	struct buf *buf;
	int depth;
	bool filled[JSON_MAX_DEPTH];   /* something stands at this depth */
	char closer[JSON_MAX_DEPTH];
	bool pretty;                   /* a line for each value, indented; set after json_init */
};

void json_init(struct json *json, struct buf *buf);
void json_object(struct json *json, const char *key);
void json_array(struct json *json, const char *key);
void json_end(struct json *json);
void json_text(struct json *json, const char *key, const char *text);  /* NULL: null */
void json_text_length(struct json *json, const char *key, const char *text, size_t length);
void json_u64(struct json *json, const char *key, uint64_t number);
void json_i64(struct json *json, const char *key, int64_t number);
void json_double(struct json *json, const char *key, double number);   /* not finite: null */
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);

#endif
