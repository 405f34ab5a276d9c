/* See column.h: how a column is decoded. That runs in tight loops, one for each width, which the
 * compiler makes from one inline function. */
#include "trace/column.h"

#include <stdbool.h>
#include <string.h>

#include "trace/varint.h"

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
