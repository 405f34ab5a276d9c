/* Columns: all values of one field in a chunk, coded one behind the other.
 *
 * Of the codings in format.h the writer takes the smallest by estimate; which
 * is known before a byte is written, so that nothing is coded twice. */
#ifndef TRACE_COLUMN_H
#define TRACE_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"

#define COLUMN_DICTIONARY 4096u   /* distinct values at most */

/* Scratch for coding; zeroed before the first use. A slot holds the place of a
 * value; it counts only when that place is in use and names the slot, so that
 * nothing is cleared between columns, and little memory is touched. */
struct column_coder {
	uint64_t values[COLUMN_DICTIONARY];
	uint16_t slot_of[COLUMN_DICTIONARY];
	uint16_t slots[4 * COLUMN_DICTIONARY];
	uint16_t places[FORMAT_COUNT_LIMIT];
};

/* Bytes that a column of n values can take at most. */
#define COLUMN_ROOM(n) (8 * (size_t)(n) + 64)

unsigned char *column_put_constant(unsigned char *at, uint64_t value);
unsigned char *column_put(struct column_coder *coder, unsigned char *at, const uint64_t *values, size_t n);

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
