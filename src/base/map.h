/* Hash map from u64 to u64, open addressing, no deletion of the storage until
 * map_done. Enough for every "number to index" table; keys may be any value. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot {
	uint64_t key;
	uint64_t value;
};

struct map {
	struct map_slot *slots;
	uint8_t *full;      /* one per slot: 0 empty, 1 full, 2 removed */
	size_t capacity;    /* power of two, 0 before the first put */
	size_t length;      /* live keys */
	size_t occupied;    /* full and removed slots */
};

void map_init(struct map *map);
void map_done(struct map *map);
void map_clear(struct map *map);

/* NULL when the key is not there; valid until the next map_put or map_at. */
uint64_t *map_find(const struct map *map, uint64_t key);
/* The key's value, 0 when new (and then *ret_new, which may be NULL, is true). */
uint64_t *map_at(struct map *map, uint64_t key, bool *ret_new);
void map_put(struct map *map, uint64_t key, uint64_t value);
bool map_remove(struct map *map, uint64_t key);
/* Walks all slots: start with *at = 0; NULL at the end. */
const struct map_slot *map_next(const struct map *map, size_t *at);

/* A well-mixing 64-bit hash, also for other tables. */
static inline uint64_t hash_u64(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	return x;
}

uint64_t hash_bytes(const void *data, size_t size);

#endif
