/* ELF files of other people's processes: headers, symbols, unwind tables,
 * packed debug symbols. */
#include <stddef.h>
#include <stdint.h>

#include "symbols/debug_file.h"
#include "symbols/symbol_table.h"
#include "symbols/unwind_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file file;
	struct unwind_table table = { 0 };
	struct symbol_table symbols = { 0 };
	uint64_t value;
	bool guessed;

	if (elf_file_open_memory(data, size, "fuzz", &file, NULL) < 0)
		return 0;
	if (unwind_table_make(&file, &table, NULL) == 0)
		for (uint32_t i = 0; i < table.page_count && i < 64; i++)
			unwind_table_rule(&table, table.base + i * 4096ull + i);
	symbol_table_add(&symbols, &file);
	debug_file_add_symbols(&(struct debug_places){ NULL, "/nonexistent" }, &file, "/nonexistent/fuzz", &symbols);
	symbol_table_sort(&symbols);
	for (size_t i = 0; i < symbols.symbols.length && i < 64; i++)
		symbol_table_find(&symbols, table.rows ? &table : NULL, symbols.symbols.items[i].start + i, &guessed);
	elf_file_address(&file, size / 2, &value);
	elf_file_offset(&file, table.base, &value);
	unwind_table_done(&table);
	symbol_table_done(&symbols);
	elf_file_close(&file);
	return 0;
}
