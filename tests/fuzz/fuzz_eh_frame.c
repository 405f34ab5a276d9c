/* Call frame information alone; the first byte chooses its kind. What comes
 * out must hold together: every look-up lies inside, every walk ends. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "symbols/unwind_table.h"
#include "symbols/unwind_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct unwind_rule rule_at(void *data, uint64_t address)
{
	return unwind_table_rule(data, address);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cfi cfi = { 0 };
	struct unwind_table table;
	static uint64_t stack[64];
	uint64_t addresses[127];
	uint32_t count;

	if (size < 1)
		return 0;
	struct cfi_section section = { .data = data + 1, .bytes = size - 1, .address = 0x10000, .debug_frame = data[0] & 1,
				       .text_address = 0x1000, .data_address = 0x2000 };
	cfi_parse(&section, &cfi);
	cfi_sort(&cfi);
	for (size_t i = 1; i < cfi.functions.length; i++)
		if (cfi.functions.items[i].start < cfi.functions.items[i - 1].end)
			abort();
	if (unwind_table_from(&cfi, &table, NULL) == 0) {
		for (size_t i = 0; i < 64; i++)
			stack[i] = i % 3 ? 0x7000 + i * 8 : table.base + i * 16;
		struct unwind_copy copy = { .start = 0x7000, .data = stack, .bytes = sizeof(stack) };
		struct unwind_registers registers = { .ip = table.base + 4, .sp = 0x7000, .bp = 0x7080, .exact = 1 };
		unwind_walk(&copy, registers, rule_at, &table, addresses, 127, &count);
		if (count > 127)
			abort();
		for (uint32_t i = 0; i < table.function_count && i < 256; i++)
			if (unwind_table_function(&table, table.base + table.functions[i].start) != &table.functions[i])
				abort();
		unwind_table_done(&table);
	}
	cfi_done(&cfi);
	return 0;
}
