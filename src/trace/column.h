/* Columns: all values of one field in a chunk, coded one behind the other.
 *
 * Of the codings in format.h the writer takes the smallest. */
#ifndef TRACE_COLUMN_H
#define TRACE_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"

#define COLUMN_DICTIONARY 4096u   /* distinct values at most */

/* Scratch for coding; zeroed before the first use. A slot counts only when it was
 * used for the column that is coded now, so that nothing is cleared between
 * columns, and little memory is touched. */
#define COLUMN_PLACE_BITS 13u

struct column_slot {
	uint64_t value;
	uint32_t use;            /* number of the column, and below it the value's place */
};

struct column_coder {
	uint32_t column;
	uint64_t values[COLUMN_DICTIONARY];
	uint16_t places[FORMAT_COUNT_LIMIT];
	struct column_slot slots[2 * COLUMN_DICTIONARY];
};

/* How the column of the same name was coded in the chunk before; zero at first. */
struct column_hint {
	uint8_t coding;
	uint8_t asked;           /* chunks until it is looked into anew */
};

/* Bytes that a column of n values can take at most. */
#define COLUMN_ROOM(n) (8 * (size_t)(n) + 64)

unsigned char *column_put_constant(unsigned char *at, uint64_t value);
unsigned char *column_put_bytes(unsigned char *at, const unsigned char *values, size_t n);
unsigned char *column_put(struct column_coder *coder, struct column_hint *hint, unsigned char *at, const uint64_t *values, size_t n);
/* A column whose length is told when it is known: where its data begins, and the end of it. */
unsigned char *column_begin_unknown(unsigned char *at, enum column_coding coding);
void column_end_unknown(unsigned char *begin, const unsigned char *end);

/* Where values go: the first at `to`, each next one `stride` bytes further,
 * `width` bytes of each (1, 2, 4 or 8). `to` is zeroed memory. */
struct column_target {
	void *to;
	size_t stride;
	unsigned width;
};

/* Returns the place behind the column, NULL when it is malformed. */
const unsigned char *column_get(const unsigned char *at, const unsigned char *end, struct column_target target, size_t n);
const unsigned char *column_skip(const unsigned char *at, const unsigned char *end);
/* Whether it is coded in a way that this version does not know. */
static inline bool column_unknown(const unsigned char *at, const unsigned char *end)
{
	return at < end && *at >= COLUMN_CODINGS;
}

#endif
