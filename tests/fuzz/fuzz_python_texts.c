/* What a program's memory says of its Python code: texts and tables of lines. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "record/python_build.h"
#include "record/python_texts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t reserve(void *data)
{
	uint32_t *next = data;
	return (*next)++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct python_texts texts = { 0 };
	uint32_t next = 1, module;
	uint64_t address;
	/* as the ring hands it over: aligned */
	struct python_code_message *m = mem_alloc(size + sizeof(*m));

	memcpy(m, data, size);
	if (size >= sizeof(*m) && python_texts_take(&texts, m, size, reserve, &next)) {
		struct python_frame frame = { .code = m->code & ~PYTHON_ENTRY, .place = m->lines, .check = m->check };
		for (uint32_t version = 1; python_version_offsets(version); version++)
			python_texts_frame(&texts, version, m->layout, &frame, &module, &address);
	}
	for (int form = PYTHON_LINES_STEPS; form <= PYTHON_LINES_FIRST; form++)
		for (uint64_t offset = 0; offset < 64; offset += 2)
			python_lines_find((enum python_lines_form)form, data, size, 10, offset);
	python_texts_done(&texts);
	free(m);
	return 0;
}
