/* A jitdump by somebody else. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "symbols/jit_dump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data;
	size_t size;
};

static size_t read_input(void *data, void *to, size_t bytes, uint64_t at)
{
	const struct input *input = data;
	if (at >= input->size)
		return 0;
	if (bytes > input->size - at)
		bytes = input->size - (size_t)at;
	memcpy(to, input->data + at, bytes);
	return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, size };
	struct symbol_table table = { 0 };
	bool guessed;

	jit_dump_parse(read_input, &input, &table);
	symbol_table_find(&table, NULL, 0x1000, &guessed);
	symbol_table_done(&table);
	return 0;
}
