/* See map.h. Linear probing, rebuilt at three quarters. */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { SLOT_EMPTY, SLOT_FULL, SLOT_REMOVED };

void map_init(struct map *map)
{
	*map = (struct map){ 0 };
}

void map_done(struct map *map)
{
	free(map->slots);
	free(map->full);
	map_init(map);
}

void map_clear(struct map *map)
{
	if (map->capacity)
		memset(map->full, SLOT_EMPTY, map->capacity);
	map->length = map->occupied = 0;
}

uint64_t *map_find(const struct map *map, uint64_t key)
{
	if (!map->capacity)
		return NULL;
	for (size_t i = hash_u64(key) & (map->capacity - 1);; i = (i + 1) & (map->capacity - 1)) {
		if (map->full[i] == SLOT_EMPTY)
			return NULL;
		if (map->full[i] == SLOT_FULL && map->slots[i].key == key)
			return &map->slots[i].value;
	}
}

static void rebuild(struct map *map, size_t capacity)
{
	struct map old = *map;

	map->slots = mem_alloc(arena_array_bytes(sizeof(*map->slots), capacity));
	map->full = mem_zalloc(capacity);
	map->capacity = capacity;
	map->length = map->occupied = 0;
	for (size_t i = 0; i < old.capacity; i++)
		if (old.full[i] == SLOT_FULL)
			map_put(map, old.slots[i].key, old.slots[i].value);
	free(old.slots);
	free(old.full);
}

uint64_t *map_at(struct map *map, uint64_t key, bool *ret_new)
{
	uint64_t *found = map_find(map, key);
	size_t i;

	if (ret_new)
		*ret_new = !found;
	if (found)
		return found;
	if (map->occupied + 1 > map->capacity / 4 * 3)
		rebuild(map, map->length * 2 >= map->capacity ? (map->capacity ? map->capacity * 2 : 16) : map->capacity);
	for (i = hash_u64(key) & (map->capacity - 1); map->full[i] == SLOT_FULL; i = (i + 1) & (map->capacity - 1))
		;
	if (map->full[i] == SLOT_EMPTY)
		map->occupied++;
	map->full[i] = SLOT_FULL;
	map->length++;
	map->slots[i] = (struct map_slot){ key, 0 };
	return &map->slots[i].value;
}

void map_put(struct map *map, uint64_t key, uint64_t value)
{
	*map_at(map, key, NULL) = value;
}

bool map_remove(struct map *map, uint64_t key)
{
	uint64_t *value = map_find(map, key);

	if (!value)
		return false;
	map->full[(struct map_slot *)(void *)((char *)value - offsetof(struct map_slot, value)) - map->slots] = SLOT_REMOVED;
	map->length--;
	return true;
}

const struct map_slot *map_next(const struct map *map, size_t *at)
{
	while (*at < map->capacity) {
		size_t i = (*at)++;

		if (map->full[i] == SLOT_FULL)
			return &map->slots[i];
	}
	return NULL;
}

uint64_t hash_bytes(const void *data, size_t size)
{
	const unsigned char *bytes = data;
	uint64_t hash = size * 0x9e3779b97f4a7c15u, word;

	for (; size >= 8; bytes += 8, size -= 8) {
		memcpy(&word, bytes, 8);
		hash = hash_u64(hash ^ word) + 0x9e3779b97f4a7c15u;
	}
	word = 0;
	memcpy(&word, bytes, size);
	return hash_u64(hash ^ word);
}
