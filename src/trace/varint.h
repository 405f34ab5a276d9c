/* Varints: seven bits a byte, lowest first, the top bit set on all but the last. */
#ifndef TRACE_VARINT_H
#define TRACE_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VARINT_MAX 10

static inline unsigned char *varint_put(unsigned char *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (unsigned char)(value | 0x80);
	*at++ = (unsigned char)value;
	return at;
}

static inline unsigned varint_size(uint64_t value)
{
	return (unsigned)(70 - __builtin_clzll(value | 1)) / 7;
}

/* NULL when the bytes end too early or the number is longer than 64 bits. */
static inline const unsigned char *varint_get(const unsigned char *at, const unsigned char *end, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (unsigned shift = 0; at < end && shift < 70; shift += 7) {
		unsigned char byte = *at++;

		value |= (uint64_t)(byte & 0x7f) << (shift < 64 ? shift : 63);
		if (byte < 0x80) {
			if (shift == 63 && byte > 1)
				return NULL;
			*ret_value = value;
			return at;
		}
	}
	return NULL;
}

static inline uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ (0 - (difference >> 63));
}

static inline uint64_t unzigzag(uint64_t code)
{
	return code >> 1 ^ (0 - (code & 1));
}

#endif
