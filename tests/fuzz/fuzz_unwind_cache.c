/* A cached unwind table: what is accepted must be safe to search. The checksum
 * is made right, so that what lies behind it is reached. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "symbols/unwind_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_table table;
	uint64_t checksum, magic = UNWIND_CACHE_MAGIC;
	char *copy = mem_alloc(size + 1);

	memcpy(copy, data, size);
	if (size >= 16) {
		memcpy(copy, &magic, 8);
		checksum = hash_bytes(copy + 16, size - 16);
		memcpy(copy + 8, &checksum, 8);
	}
	if (unwind_cache_read(copy, size, "ab", &table))
		for (uint32_t page = 0; page <= table.page_count; page++) {
			unwind_table_rule(&table, table.base + page * 4096ull + page % 4096);
			unwind_table_function(&table, table.base + page * 4096ull);
		}
	free(copy);
	return 0;
}
