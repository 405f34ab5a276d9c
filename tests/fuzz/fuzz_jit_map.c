/* Texts that name code: JIT maps, the kernel's list, mangled names. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "symbols/demangle.h"
#include "symbols/jit_map.h"
#include "symbols/kallsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbol_table symbols = { 0 };
	struct kernel_symbol symbol;
	struct kallsyms kernel;
	struct arena arena = { 0 };
	bool guessed;

	jit_map_parse((const char *)data, size, &symbols);
	symbol_table_find(&symbols, NULL, size, &guessed);
	symbol_table_done(&symbols);
	kallsyms_parse((const char *)data, size, &kernel);
	if (kallsyms_find(&kernel, 0xffffffff81000000ull + size, &symbol) && !symbol.name[0])
		kernel.count = 0;
	kallsyms_done(&kernel);
	demangle(&arena, arena_strndup(&arena, (const char *)data, size));
	arena_done(&arena);
	return 0;
}
