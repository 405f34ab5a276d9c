/* See column.h: how a column is coded. What a column held in the chunk before is
 * what it holds in this one, so the costly questions (is it of few values? which
 * coding is the smallest?) are asked of one chunk in sixteen, and in between only
 * when the answer shows to be wrong. */
#include "trace/column.h"

#include <string.h>

#include "trace/varint.h"

#define RESTRICT __restrict__
#define ASK_EVERY 16u
#define LENGTH_BYTES 3u /* of a length that is written before it is known */
#define NARROW_BYTES 4u /* values of so many bytes are never longer as varints than is room for */
#define FEW 256u        /* values whose places fit a byte each */
_Static_assert(FORMAT_COUNT_LIMIT * 5u + 16 < 1u << 7 * LENGTH_BYTES, "the longest narrow column has its length told");
_Static_assert(COLUMN_DICTIONARY <= 1u << COLUMN_PLACE_BITS, "a place fits its bits");

static unsigned char *put_head(unsigned char *at, enum column_coding coding, size_t bytes)
{
	*at++ = (unsigned char)coding;
	return varint_put(at, bytes);
}

unsigned char *column_put_constant(unsigned char *at, uint64_t value)
{
	if (!value) {
		*at++ = COLUMN_ZERO;
		return at;
	}
	return varint_put(put_head(at, COLUMN_CONSTANT, varint_size(value)), value);
}

unsigned char *column_begin_unknown(unsigned char *at, enum column_coding coding)
{
	*at = (unsigned char)coding;
	return at + 1 + LENGTH_BYTES;
}

void column_end_unknown(unsigned char *begin, const unsigned char *end)
{
	size_t bytes = (size_t)(end - begin) - 1 - LENGTH_BYTES;

	for (unsigned i = 0; i < LENGTH_BYTES; i++)
		begin[1 + i] = (unsigned char)((bytes >> (7 * i) & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
}

/* ---- dictionaries ---- */

/* Fills values and places; the number of distinct values, 0 when there are too many:
 * narrow values that are many take no more room as they are. */
static unsigned make_dictionary(struct column_coder *coder, const uint64_t *RESTRICT values, size_t n, unsigned width)
{
	const unsigned mask = sizeof(coder->slots) / sizeof(coder->slots[0]) - 1;
	unsigned count = 0, limit = width <= NARROW_BYTES || n / 4 < FEW ? FEW : n / 4 < COLUMN_DICTIONARY ? (unsigned)(n / 4) : COLUMN_DICTIONARY;
	uint32_t column;

	if (++coder->column >> (32 - COLUMN_PLACE_BITS)) {
		memset(coder->slots, 0, sizeof(coder->slots));
		coder->column = 1;
	}
	column = coder->column << COLUMN_PLACE_BITS;
	for (size_t i = 0; i < n; i++) {
		uint64_t value = values[i];
		unsigned at = (unsigned)((value * 0x9e3779b97f4a7c15u) >> 40) & mask;
		struct column_slot *slot = &coder->slots[at];

		while (__builtin_expect(slot->value != value || slot->use - column >= 1u << COLUMN_PLACE_BITS, 0)) {
			if (slot->use - column >= 1u << COLUMN_PLACE_BITS) {
				if (count == limit)
					return 0;
				*slot = (struct column_slot){ value, column | count };
				coder->values[count++] = value;
				break;
			}
			at = (at + 1) & mask;
			slot = &coder->slots[at];
		}
		coder->places[i] = (uint16_t)(slot->use - column);
	}
	return count;
}

static size_t dictionary_size(const struct column_coder *coder, unsigned count)
{
	uint64_t before = 0;
	size_t size = varint_size(count);

	for (unsigned i = 0; i < count; before = coder->values[i++])
		size += varint_size(zigzag(coder->values[i] - before));
	return size;
}

static unsigned char *put_dictionary(const struct column_coder *coder, unsigned count, size_t size, unsigned char *at, size_t n)
{
	const uint16_t *RESTRICT places = coder->places;
	unsigned char *RESTRICT to;
	bool wide = count > FEW;
	uint64_t before = 0;

	at = put_head(at, wide ? COLUMN_INDEX16 : COLUMN_INDEX8, size + (wide ? 2 * n : n));
	at = varint_put(at, count);
	for (unsigned i = 0; i < count; before = coder->values[i++])
		at = varint_put(at, zigzag(coder->values[i] - before));
	to = at;
	for (size_t i = 0; i < n; i++)
		to[i] = (unsigned char)places[i];
	if (!wide)
		return at + n;
	for (size_t i = 0; i < n; i++)
		to[n + i] = (unsigned char)(places[i] >> 8);
	return at + 2 * n;
}

/* ---- the other codings ---- */

static unsigned char *put_fixed(unsigned char *at, const uint64_t *RESTRICT values, size_t n, unsigned width)
{
	unsigned char *RESTRICT to;

	at = put_head(at, COLUMN_FIXED, 1 + n * width);
	*at++ = (unsigned char)width;
	to = at;
	for (unsigned byte = 0; byte < width; byte++, to += n)
		for (size_t i = 0; i < n; i++)
			to[i] = (unsigned char)(values[i] >> (8 * byte));
	return at + n * width;
}

unsigned char *column_put_bytes(unsigned char *at, const unsigned char *values, size_t n)
{
	at = put_head(at, COLUMN_FIXED, 1 + n);
	*at++ = 1;
	memcpy(at, values, n);
	return at + n;
}

static unsigned char *put_varints(unsigned char *at, const uint64_t *RESTRICT values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		at = varint_put(at, values[i]);
	return at;
}

static unsigned char *put_deltas(unsigned char *at, const uint64_t *RESTRICT values, size_t n)
{
	uint64_t before = 0;

	for (size_t i = 0; i < n; before = values[i++])
		at = varint_put(at, zigzag(values[i] - before));
	return at;
}

/* Times between events, durations: the low byte is noise, what is above it is
 * small and of few kinds. Apart, the compressor sees that. */
static unsigned char *put_splits(unsigned char *at, const uint64_t *RESTRICT values, size_t n)
{
	unsigned char *RESTRICT low = at;

	for (size_t i = 0; i < n; i++)
		low[i] = (unsigned char)values[i];
	at += n;
	for (size_t i = 0; i < n; i++)
		at = varint_put(at, values[i] >> 8);
	return at;
}

static unsigned char *put_coded(enum column_coding coding, unsigned char *at, const uint64_t *values, size_t n)
{
	switch (coding) {
	case COLUMN_VARINT:
		return put_varints(at, values, n);
	case COLUMN_DELTA:
		return put_deltas(at, values, n);
	default:
		return put_splits(at, values, n);
	}
}

/* The best coding without a dictionary, and its bytes but for the head. Narrow values
 * go by bytes, the lowest of all first, unless another way takes a third: the
 * upper ones are of few kinds, which the compressor sees when they stand together. */
static enum column_coding choose(const uint64_t *values, size_t n, unsigned width, size_t *ret_bytes)
{
	size_t plain = 0, delta = 0, fixed = 1 + n * width, smallest;
	uint64_t before = 0;

	for (size_t i = 0; i < n; before = values[i++]) {
		plain += varint_size(values[i]);
		delta += varint_size(zigzag(values[i] - before));
	}
	smallest = plain < delta ? plain : delta;
	if (fixed <= smallest || (width <= NARROW_BYTES && fixed < 3 * smallest)) {
		*ret_bytes = fixed;
		return COLUMN_FIXED;
	}
	*ret_bytes = smallest;
	if (delta < plain)
		return COLUMN_DELTA;
	return plain > n + n / 4 ? COLUMN_SPLIT : COLUMN_VARINT;
}

/* By what the column was in the chunk before; NULL when that shows to be wrong. */
static unsigned char *put_as_before(struct column_coder *coder, struct column_hint *hint, unsigned char *at,
				    const uint64_t *values, size_t n, unsigned width)
{
	unsigned char *begin = at;
	unsigned distinct;

	if (!hint->asked || !--hint->asked)
		return NULL;
	switch (hint->coding) {
	case COLUMN_INDEX8:
	case COLUMN_INDEX16:
		distinct = make_dictionary(coder, values, n, width);
		if (distinct && distinct <= (hint->coding == COLUMN_INDEX8 ? FEW : COLUMN_DICTIONARY) && n >= 8 * (size_t)distinct)
			return put_dictionary(coder, distinct, dictionary_size(coder, distinct), at, n);
		break;
	case COLUMN_FIXED:
		if (width > NARROW_BYTES)
			break;
		return put_fixed(at, values, n, width);
	case COLUMN_VARINT:
	case COLUMN_DELTA:
	case COLUMN_SPLIT:
		if (width > NARROW_BYTES)
			break;
		at = put_coded(hint->coding, column_begin_unknown(at, hint->coding), values, n);
		if ((size_t)(at - begin) > n * width + 2 + LENGTH_BYTES)
			break;
		column_end_unknown(begin, at);
		return at;
	}
	hint->asked = 0;
	return NULL;
}

unsigned char *column_put(struct column_coder *coder, struct column_hint *hint, unsigned char *at, const uint64_t *values, size_t n)
{
	uint64_t all = 0, differ = 0;
	unsigned char *end;
	size_t bytes, dictionary;
	enum column_coding coding;
	unsigned width, distinct;

	for (size_t i = 0; i < n; i++) {
		all |= values[i];
		differ |= values[i] ^ values[0];
	}
	if (!differ)
		return column_put_constant(at, n ? values[0] : 0);
	width = (unsigned)(71 - __builtin_clzll(all)) / 8;
	if (width == 1)
		return put_fixed(at, values, n, 1);
	end = put_as_before(coder, hint, at, values, n, width);
	if (end)
		return end;
	hint->asked = ASK_EVERY;
	distinct = make_dictionary(coder, values, n, width);
	dictionary = distinct ? dictionary_size(coder, distinct) : 0;
	if (distinct && dictionary <= n) { /* two bytes at most for each value */
		hint->coding = distinct > FEW ? COLUMN_INDEX16 : COLUMN_INDEX8;
		return put_dictionary(coder, distinct, dictionary, at, n);
	}
	coding = choose(values, n, width, &bytes);
	if (distinct && dictionary + (distinct > FEW ? 2 : 1) * n <= bytes) {
		hint->coding = distinct > FEW ? COLUMN_INDEX16 : COLUMN_INDEX8;
		return put_dictionary(coder, distinct, dictionary, at, n);
	}
	hint->coding = (uint8_t)coding;
	if (coding == COLUMN_FIXED)
		return put_fixed(at, values, n, width);
	if (coding != COLUMN_SPLIT)
		return put_coded(coding, put_head(at, coding, bytes), values, n);
	bytes = n;
	for (size_t i = 0; i < n; i++)
		bytes += varint_size(values[i] >> 8);
	return put_splits(put_head(at, coding, bytes), values, n);
}
