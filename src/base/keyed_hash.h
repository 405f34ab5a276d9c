/* A hash that nobody can aim at who does not know its key (SipHash-2-4): for
 * what is recognised by its hash although others may have made it. */
#ifndef BASE_KEYED_HASH_H
#define BASE_KEYED_HASH_H

#include <stddef.h>
#include <stdint.h>

struct hash_key {
	uint64_t words[2];
};

/* From the kernel's random numbers; negative errno. */
int hash_key_make(struct hash_key *ret_key);

struct keyed_hash {
	uint64_t v[4];
	uint64_t bytes;            /* taken so far */
	uint8_t rest[8];           /* those of the last, unfinished word */
};

void keyed_hash_begin(struct keyed_hash *hash, const struct hash_key *key);
void keyed_hash_add(struct keyed_hash *hash, const void *data, size_t size);
uint64_t keyed_hash_end(struct keyed_hash *hash);

#endif
