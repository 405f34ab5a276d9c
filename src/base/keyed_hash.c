/* See keyed_hash.h. */
#include "base/keyed_hash.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

int hash_key_make(struct hash_key *ret_key)
{
	struct hash_key key;
	if (getrandom(&key, sizeof(key), GRND_NONBLOCK) != sizeof(key))
		return errno == EAGAIN || errno == ENOSYS ? -errno : -EIO;
	*ret_key = key;
	return 0;
}

static uint64_t rotate(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

static void rounds(uint64_t v[4], int count)
{
	for (int i = 0; i < count; i++) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] = rotate(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] = rotate(v[2], 32);
	}
}

static void take(struct keyed_hash *h, uint64_t word)
{
	h->v[3] ^= word;
	rounds(h->v, 2);
	h->v[0] ^= word;
}

void keyed_hash_begin(struct keyed_hash *h, const struct hash_key *key)
{
	*h = (struct keyed_hash){ .v = { key->words[0] ^ 0x736f6d6570736575u, key->words[1] ^ 0x646f72616e646f6du,
					 key->words[0] ^ 0x6c7967656e657261u, key->words[1] ^ 0x7465646279746573u } };
}

void keyed_hash_add(struct keyed_hash *h, const void *data, size_t size)
{
	const uint8_t *at = data;
	uint64_t word;

	for (; size > 0 && h->bytes % 8; size--)
		h->rest[h->bytes++ % 8] = *at++;
	/* a word that has just become whole is still in the rest */
	if (h->bytes && h->bytes % 8 == 0 && at != (const uint8_t *)data) {
		memcpy(&word, h->rest, 8);
		take(h, word);
	}
	for (; size >= 8; at += 8, size -= 8, h->bytes += 8) {
		memcpy(&word, at, 8);
		take(h, word);
	}
	for (; size > 0; size--)
		h->rest[h->bytes++ % 8] = *at++;
}

uint64_t keyed_hash_end(struct keyed_hash *h)
{
	uint64_t last = 0;
	memcpy(&last, h->rest, h->bytes % 8);
	take(h, last | h->bytes << 56);
	h->v[2] ^= 0xff;
	rounds(h->v, 4);
	return h->v[0] ^ h->v[1] ^ h->v[2] ^ h->v[3];
}
