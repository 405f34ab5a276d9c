/* Reading DWARF's numbers from untrusted bytes: past the end everything is 0
 * and `bad` is set, so that callers check once. */
#ifndef SYMBOLS_CFI_BYTES_H
#define SYMBOLS_CFI_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct bytes {
	const uint8_t *at, *end;
	bool bad;
};

static inline void bytes_skip(struct bytes *b, uint64_t count)
{
	if (count > (uint64_t)(b->end - b->at)) {
		b->bad = true;
		b->at = b->end;
	} else {
		b->at += count;
	}
}

#define BYTES_READER(name, type)                          \
	static inline type name(struct bytes *b)          \
	{                                                 \
		type value;                               \
		if (b->end - b->at < (long)sizeof(value)) { \
			b->bad = true;                    \
			b->at = b->end;                   \
			return 0;                         \
		}                                         \
		memcpy(&value, b->at, sizeof(value));     \
		b->at += sizeof(value);                   \
		return value;                             \
	}
BYTES_READER(bytes_u8, uint8_t)
BYTES_READER(bytes_u16, uint16_t)
BYTES_READER(bytes_u32, uint32_t)
BYTES_READER(bytes_u64, uint64_t)
#undef BYTES_READER

static inline uint64_t bytes_uleb(struct bytes *b)
{
	uint64_t value = 0;
	for (unsigned shift = 0;; shift += 7) {
		uint8_t byte = bytes_u8(b);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
}

static inline int64_t bytes_sleb(struct bytes *b)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;
	do {
		byte = bytes_u8(b);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && (byte & 0x40))
		value |= ~0ull << shift;
	return (int64_t)value;
}

#endif
