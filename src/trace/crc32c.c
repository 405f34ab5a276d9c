/* See crc32c.h. The instruction has a latency of three cycles, so long data is
 * summed as three interleaved stretches whose sums are then combined by moving
 * each over the zero bytes that follow it (two table look-ups a nibble). */
#include "trace/crc32c.h"

#include <pthread.h>
#include <string.h>

#define POLYNOMIAL 0x82f63b78u  /* reflected */
#define STRETCH 1024u           /* bytes in each of the three */

static uint32_t table[8][256];
static uint32_t shift_one[4][256], shift_two[4][256]; /* over STRETCH and 2 * STRETCH zero bytes */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint32_t over_zeros(uint32_t crc, size_t bytes)
{
	while (bytes--)
		crc = crc >> 8 ^ table[0][crc & 0xff];
	return crc;
}

static void make_tables(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ POLYNOMIAL : crc >> 1;
		table[0][i] = crc;
	}
	for (uint32_t i = 0; i < 256; i++)
		for (int k = 1; k < 8; k++)
			table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 0xff];
	for (int k = 0; k < 4; k++) {
		uint32_t bits_one[8], bits_two[8];

		for (int bit = 0; bit < 8; bit++) {
			bits_one[bit] = over_zeros(1u << (8 * k + bit), STRETCH);
			bits_two[bit] = over_zeros(bits_one[bit], STRETCH);
		}
		for (uint32_t i = 0; i < 256; i++)
			for (int bit = 0; bit < 8; bit++)
				if (i >> bit & 1) {
					shift_one[k][i] ^= bits_one[bit];
					shift_two[k][i] ^= bits_two[bit];
				}
	}
}

static uint32_t by_table(uint32_t crc, const unsigned char *data, size_t size)
{
	for (; size >= 8; data += 8, size -= 8) {
		uint64_t word;

		memcpy(&word, data, 8);
		word ^= crc;
		crc = table[7][word & 0xff] ^ table[6][word >> 8 & 0xff] ^ table[5][word >> 16 & 0xff] ^
		      table[4][word >> 24 & 0xff] ^ table[3][word >> 32 & 0xff] ^ table[2][word >> 40 & 0xff] ^
		      table[1][word >> 48 & 0xff] ^ table[0][word >> 56];
	}
	while (size--)
		crc = crc >> 8 ^ table[0][(crc ^ *data++) & 0xff];
	return crc;
}

#ifdef __x86_64__
static uint32_t shift(uint32_t (*by)[256], uint32_t crc)
{
	return by[0][crc & 0xff] ^ by[1][crc >> 8 & 0xff] ^ by[2][crc >> 16 & 0xff] ^ by[3][crc >> 24];
}

__attribute__((target("sse4.2")))
static uint32_t by_instruction(uint32_t crc, const unsigned char *data, size_t size)
{
	uint64_t word, sum = crc;

	for (; size >= 3 * STRETCH; data += 3 * STRETCH, size -= 3 * STRETCH) {
		uint64_t second = 0, third = 0;

		for (size_t i = 0; i < STRETCH; i += 8) {
			memcpy(&word, data + i, 8);
			sum = __builtin_ia32_crc32di(sum, word);
			memcpy(&word, data + STRETCH + i, 8);
			second = __builtin_ia32_crc32di(second, word);
			memcpy(&word, data + 2 * STRETCH + i, 8);
			third = __builtin_ia32_crc32di(third, word);
		}
		sum = shift(shift_two, (uint32_t)sum) ^ shift(shift_one, (uint32_t)second) ^ (uint32_t)third;
	}
	for (; size >= 8; data += 8, size -= 8) {
		memcpy(&word, data, 8);
		sum = __builtin_ia32_crc32di(sum, word);
	}
	crc = (uint32_t)sum;
	while (size--)
		crc = __builtin_ia32_crc32qi(crc, *data++);
	return crc;
}
#endif

uint32_t crc32c(uint32_t crc, const void *data, size_t size)
{
	pthread_once(&once, make_tables);
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return ~by_instruction(~crc, data, size);
#endif
	return ~by_table(~crc, data, size);
}
