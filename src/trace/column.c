/* See column.h. Decoding runs in tight loops, one for each width, which the
 * compiler makes from one inline function. */
#include "trace/column.h"

#include <stdbool.h>
#include <string.h>

#include "trace/varint.h"

/* ---- coding ---- */

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

/* Place of the value among the first `count`; `count` when it is new, its slot then kept for it. */
static unsigned find_place(struct column_coder *coder, uint64_t value, unsigned count)
{
	const unsigned mask = sizeof(coder->slots) / sizeof(coder->slots[0]) - 1;
	unsigned slot = (unsigned)((value * 0x9e3779b97f4a7c15u) >> 40) & mask;

	for (;; slot = (slot + 1) & mask) {
		unsigned place = coder->slots[slot];

		if (place >= count || coder->slot_of[place] != slot)
			break;
		if (coder->values[place] == value)
			return place;
	}
	if (count < COLUMN_DICTIONARY) {
		coder->slots[slot] = (uint16_t)count;
		coder->slot_of[count] = (uint16_t)slot;
		coder->values[count] = value;
	}
	return count;
}

/* Fills values and places; the number of distinct values, 0 when there are too many. */
static unsigned make_dictionary(struct column_coder *coder, const uint64_t *values, size_t n)
{
	unsigned count = 0, place = 0, limit = n / 4 < 256 ? 256 : n / 4 < COLUMN_DICTIONARY ? (unsigned)(n / 4) : COLUMN_DICTIONARY;

	for (size_t i = 0; i < n; i++) {
		if (!i || values[i] != values[i - 1])
			place = find_place(coder, values[i], count);
		if (place == count && count++ == limit)
			return 0;
		coder->places[i] = (uint16_t)place;
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
	bool wide = count > 256;
	uint64_t before = 0;

	at = put_head(at, wide ? COLUMN_INDEX16 : COLUMN_INDEX8, size + (wide ? 2 * n : n));
	at = varint_put(at, count);
	for (unsigned i = 0; i < count; before = coder->values[i++])
		at = varint_put(at, zigzag(coder->values[i] - before));
	for (size_t i = 0; i < n; i++)
		*at++ = (unsigned char)coder->places[i];
	for (size_t i = 0; wide && i < n; i++)
		*at++ = (unsigned char)(coder->places[i] >> 8);
	return at;
}

static unsigned char *put_fixed(unsigned char *at, const uint64_t *values, size_t n, unsigned width)
{
	at = put_head(at, COLUMN_FIXED, 1 + n * width);
	*at++ = (unsigned char)width;
	for (unsigned byte = 0; byte < width; byte++)
		for (size_t i = 0; i < n; i++)
			*at++ = (unsigned char)(values[i] >> (8 * byte));
	return at;
}

/* Times between events, durations: the low byte is noise, what is above it is
 * small and of few kinds. Apart, the compressor sees that. */
static unsigned char *put_split(unsigned char *at, const uint64_t *values, size_t n)
{
	size_t size = n;

	for (size_t i = 0; i < n; i++)
		size += varint_size(values[i] >> 8);
	at = put_head(at, COLUMN_SPLIT, size);
	for (size_t i = 0; i < n; i++)
		*at++ = (unsigned char)values[i];
	for (size_t i = 0; i < n; i++)
		at = varint_put(at, values[i] >> 8);
	return at;
}

unsigned char *column_put(struct column_coder *coder, unsigned char *at, const uint64_t *values, size_t n)
{
	uint64_t all = 0, differ = 0, before = 0;
	size_t plain = 0, delta = 0, fixed, smallest, dictionary;
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
	distinct = make_dictionary(coder, values, n);
	dictionary = distinct ? dictionary_size(coder, distinct) : 0;
	if (distinct && dictionary <= n) /* two bytes at most for each value */
		return put_dictionary(coder, distinct, dictionary, at, n);
	for (size_t i = 0; i < n; before = values[i++]) {
		plain += varint_size(values[i]);
		delta += varint_size(zigzag(values[i] - before));
	}
	fixed = 1 + n * width;
	smallest = plain < delta ? plain : delta;
	smallest = fixed < smallest ? fixed : smallest;
	if (distinct && dictionary + (distinct > 256 ? 2 : 1) * n <= smallest)
		return put_dictionary(coder, distinct, dictionary, at, n);
	if (fixed == smallest)
		return put_fixed(at, values, n, width);
	if (plain == smallest && plain > n + n / 4)
		return put_split(at, values, n);
	at = put_head(at, delta < plain ? COLUMN_DELTA : COLUMN_VARINT, smallest);
	before = 0;
	for (size_t i = 0; i < n; before = values[i++])
		at = varint_put(at, delta < plain ? zigzag(values[i] - before) : values[i]);
	return at;
}

/* ---- decoding ---- */

static inline __attribute__((always_inline)) void store(unsigned char *to, unsigned width, uint64_t value)
{
	memcpy(to, &value, width);
}

static inline __attribute__((always_inline)) bool get_varints(const unsigned char *at, const unsigned char *end,
							       unsigned char *to, size_t stride, unsigned width, size_t n,
							       bool delta)
{
	uint64_t value = 0, code;

	for (size_t i = 0; i < n; i++, to += stride) {
		if (at < end && *at < 0x80)
			code = *at++;
		else if (!(at = varint_get(at, end, &code)))
			return false;
		value = delta ? value + unzigzag(code) : code;
		store(to, width, value);
	}
	return at == end;
}

static inline __attribute__((always_inline)) bool get_fixed(const unsigned char *at, const unsigned char *end,
							     unsigned char *to, size_t stride, unsigned width, size_t n)
{
	unsigned stored = at < end ? *at++ : 0;

	if (stored < 1 || stored > 8 || (size_t)(end - at) != n * stored)
		return false;
	if (stored == 1) {
		for (size_t i = 0; i < n; i++, to += stride)
			store(to, width, at[i]);
		return true;
	}
	if (stored == 2) {
		for (size_t i = 0; i < n; i++, to += stride)
			store(to, width, at[i] | (uint64_t)at[n + i] << 8);
		return true;
	}
	for (size_t i = 0; i < n; i++, to += stride) {
		uint64_t value = at[i];

		for (unsigned byte = 1; byte < stored; byte++)
			value |= (uint64_t)at[byte * n + i] << (8 * byte);
		store(to, width, value);
	}
	return true;
}

static inline __attribute__((always_inline)) bool get_split(const unsigned char *at, const unsigned char *end,
							     unsigned char *to, size_t stride, unsigned width, size_t n)
{
	const unsigned char *low = at;
	uint64_t high;

	if ((size_t)(end - at) < n)
		return false;
	at += n;
	for (size_t i = 0; i < n; i++, to += stride) {
		if (at < end && *at < 0x80)
			high = *at++;
		else if (!(at = varint_get(at, end, &high)))
			return false;
		store(to, width, high << 8 | low[i]);
	}
	return at == end;
}

static inline __attribute__((always_inline)) bool get_indexed(const unsigned char *at, const unsigned char *end,
							       unsigned char *to, size_t stride, unsigned width, size_t n,
							       bool wide)
{
	uint64_t values[COLUMN_DICTIONARY], count, code, value = 0;

	at = varint_get(at, end, &count);
	if (!at || !count || count > (wide ? COLUMN_DICTIONARY : 256))
		return false;
	for (uint64_t i = 0; i < count; i++) {
		at = varint_get(at, end, &code);
		if (!at)
			return false;
		value += unzigzag(code);
		values[i] = value;
	}
	if ((size_t)(end - at) != (wide ? 2 * n : n))
		return false;
	for (size_t i = 0; i < n; i++, to += stride) {
		unsigned place = at[i] | (wide ? (unsigned)at[n + i] << 8 : 0);

		if (place >= count)
			return false;
		store(to, width, values[place]);
	}
	return true;
}

static inline __attribute__((always_inline)) bool get_values(enum column_coding coding, const unsigned char *at,
							      const unsigned char *end, unsigned char *to, size_t stride,
							      unsigned width, size_t n)
{
	uint64_t value;

	switch (coding) {
	case COLUMN_ZERO:
		return at == end;
	case COLUMN_CONSTANT:
		if (varint_get(at, end, &value) != end)
			return false;
		for (size_t i = 0; i < n; i++, to += stride)
			store(to, width, value);
		return true;
	case COLUMN_FIXED:
		return get_fixed(at, end, to, stride, width, n);
	case COLUMN_VARINT:
		return get_varints(at, end, to, stride, width, n, false);
	case COLUMN_DELTA:
		return get_varints(at, end, to, stride, width, n, true);
	case COLUMN_INDEX8:
		return get_indexed(at, end, to, stride, width, n, false);
	case COLUMN_INDEX16:
		return get_indexed(at, end, to, stride, width, n, true);
	case COLUMN_SPLIT:
		return get_split(at, end, to, stride, width, n);
	case COLUMN_KEYED: /* decode.c: needs other columns */
	case COLUMN_CODINGS:
		break;
	}
	return false;
}

/* The head of a column: its coding, its data, the place behind it. */
static const unsigned char *get_head(const unsigned char *at, const unsigned char *end, enum column_coding *ret_coding,
				     const unsigned char **ret_data)
{
	uint64_t bytes = 0;

	if (at == end || column_unknown(at, end))
		return NULL;
	*ret_coding = *at++;
	if (*ret_coding != COLUMN_ZERO) {
		at = varint_get(at, end, &bytes);
		if (!at || bytes > (size_t)(end - at))
			return NULL;
	}
	*ret_data = at;
	return at + bytes;
}

const unsigned char *column_get(const unsigned char *at, const unsigned char *end, struct column_target target, size_t n)
{
	enum column_coding coding;
	bool good = false;

	end = get_head(at, end, &coding, &at);
	if (!end)
		return NULL;
	switch (target.width) {
	case 1:
		good = get_values(coding, at, end, target.to, target.stride, 1, n);
		break;
	case 2:
		good = get_values(coding, at, end, target.to, target.stride, 2, n);
		break;
	case 4:
		good = get_values(coding, at, end, target.to, target.stride, 4, n);
		break;
	case 8:
		good = get_values(coding, at, end, target.to, target.stride, 8, n);
		break;
	}
	return good ? end : NULL;
}

const unsigned char *column_skip(const unsigned char *at, const unsigned char *end)
{
	enum column_coding coding;

	return get_head(at, end, &coding, &at);
}
