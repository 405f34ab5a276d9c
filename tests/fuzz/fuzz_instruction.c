/* Code of foreign processes: any bytes. */
#include <stddef.h>
#include <stdint.h>

#include "probe/instruction.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct instruction instruction;
	char text[INSTRUCTION_TEXT];
	long before = instruction_before(data, size);

	if (before >= 0 && (!instruction_decode(data + before, size - (size_t)before, 0, &instruction) ||
			    (size_t)before + instruction.length != size))
		__builtin_trap();
	(void)instruction_access(data, size / 2, size - size / 2);
	instruction_text(data, size, 0x1000, text);
	return 0;
}
