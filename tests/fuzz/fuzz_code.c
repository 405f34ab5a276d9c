/* A program's code, as a file: functions and the places where ways part. */
#include <stddef.h>
#include <stdint.h>

#include "probe/code.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct code_sites sites;
	struct arena arena;
	struct elf_file elf;
	struct code code;

	if (elf_file_open_memory(data, size, "input", &elf, NULL))
		return 0;
	arena_init(&arena);
	code_open(&code, elf, "input");
	for (uint64_t address = elf.header.e_entry; address < elf.header.e_entry + 64; address += 16) {
		code_find_sites(&code, &address, 1, 2, &sites);
		if (sites.addresses.length > CODE_SITES_MOST)
			__builtin_trap();
		code_sites_done(&sites);
		(void)code_name(&code, &arena, address);
	}
	code_close(&code);
	arena_done(&arena);
	return 0;
}
