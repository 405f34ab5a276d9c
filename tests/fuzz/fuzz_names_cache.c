/* A file of kept names: what is accepted must be safe to use. The checksum is
 * made right, so that what lies behind it is reached. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "symbols/names_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct names_cache cache;
	struct arena arena = { 0 };
	uint64_t stamp = 7, checksum;
	volatile size_t used = 0;
	char *copy = mem_alloc(size + 1);

	memcpy(copy, data, size);
	if (size >= 104) {
		memcpy(copy, "argunm01", 8);
		memcpy(copy + 16, &stamp, 8);
		memcpy(copy + 24, "ab", 3);
		checksum = hash_bytes(copy + 16, size - 16);
		memcpy(copy + 8, &checksum, 8);
	}
	if (names_cache_read(copy, size, "ab", stamp, &cache))
		for (uint64_t address = 0; address < 256; address++) {
			struct name name = { 0 };
			if (!names_cache_find(&cache, &arena, address, &name))
				continue;
			used += strlen(name.function) + strlen(name.file);
			for (uint32_t i = 0; i < name.inline_count; i++)
				used += strlen(name.inlines[i].function) + strlen(name.inlines[i].file);
		}
	arena_done(&arena);
	free(copy);
	return 0;
}
