/* What the kernel read of code objects becomes files, functions and lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "record/python_build.h"
#include "record/python_texts.h"

struct told {
	struct python_code_message head;
	char texts[1024];
};

static uint32_t next_module;

static uint32_t reserve(void *data)
{
	(void)data;
	return next_module++;
}

static size_t tell(struct told *told, uint64_t code, const char *name, const char *file, const char *lines, size_t lines_bytes)
{
	*told = (struct told){ .head = { .layout = 7, .code = code, .check = code ^ 5, .line = 10,
					 .name_bytes = (u16)strlen(name), .file_bytes = (u16)strlen(file), .lines_bytes = (u32)lines_bytes } };
	memcpy(told->texts, name, strlen(name));
	memcpy(told->texts + strlen(name), file, strlen(file));
	memcpy(told->texts + strlen(name) + strlen(file), lines, lines_bytes);
	return sizeof(told->head) + strlen(name) + strlen(file) + lines_bytes;
}

static uint32_t version(const char *name)
{
	for (uint32_t i = 1; python_version_offsets(i); i++)
		if (!strcmp(python_version_name(i), name))
			return i;
	return 0;
}

static void frames_get_file_function_and_line(void **state)
{
	static const char lines[] = { 6, 1, 50, 2 };
	struct python_texts texts = { 0 };
	struct told told;
	uint32_t module;
	uint64_t address;
	(void)state;

	next_module = 40;
	size_t bytes = tell(&told, 0x1000, "Handler.go", "/srv/handler.py", lines, sizeof(lines));
	assert_true(python_texts_take(&texts, &told.head, bytes, reserve, NULL));
	bytes = tell(&told, 0x2000, "main", "/srv/handler.py", lines, sizeof(lines));
	assert_true(python_texts_take(&texts, &told.head, bytes, reserve, NULL));
	/* the same in another process */
	told.head.layout = 8;
	assert_true(python_texts_take(&texts, &told.head, bytes, reserve, NULL));
	assert_int_equal(texts.files.length, 1);
	assert_int_equal(texts.functions.length, 2);

	struct python_frame frame = { .code = 0x1000 | PYTHON_ENTRY, .place = 8, .check = 0x1000 ^ 5 };
	assert_true(python_texts_frame(&texts, version("3.9"), 7, &frame, &module, &address));
	assert_int_equal(module, 40);
	assert_int_equal(address, 1u << PYTHON_LINE_BITS | 11);
	/* nobody told of it in that layout, or of what lies there by now */
	assert_false(python_texts_frame(&texts, version("3.9"), 8, &frame, &module, &address));
	frame.check++;
	assert_false(python_texts_frame(&texts, version("3.9"), 7, &frame, &module, &address));
	python_texts_done(&texts);
}

static void wide_characters_become_utf8(void **state)
{
	struct python_texts texts = { 0 };
	struct told told;
	(void)state;

	size_t bytes = tell(&told, 0x1000, "gr\xf6\xdf" "e", "f", "", 0);
	told.head.name_unit = 1;
	assert_true(python_texts_take(&texts, &told.head, bytes, reserve, NULL));
	assert_string_equal(texts.functions.items[0].name, "gr\xc3\xb6\xc3\x9f" "e");
	static const uint16_t half[] = { 'a', 0xd800, 0x20ac };
	bytes = tell(&told, 0x2000, "123456", "f", "", 0);
	memcpy(told.texts, half, sizeof(half));
	told.head.name_unit = 2;
	assert_true(python_texts_take(&texts, &told.head, bytes, reserve, NULL));
	assert_string_equal(texts.functions.items[1].name, "a?\xe2\x82\xac");
	python_texts_done(&texts);
}

static void messages_that_lie_are_refused(void **state)
{
	struct python_texts texts = { 0 };
	struct told told;
	(void)state;

	size_t bytes = tell(&told, 0x1000, "name", "file", "ab", 2);
	assert_false(python_texts_take(&texts, &told.head, bytes - 1, reserve, NULL));
	assert_false(python_texts_take(&texts, &told.head, 8, reserve, NULL));
	told.head.name_unit = 9;
	assert_false(python_texts_take(&texts, &told.head, bytes, reserve, NULL));
	told.head.name_unit = 0;
	told.head.lines_bytes = ~0u;
	assert_false(python_texts_take(&texts, &told.head, bytes, reserve, NULL));
	assert_int_equal(texts.files.length, 0);
	python_texts_done(&texts);
}

static void what_grows_too_large_is_forgotten(void **state)
{
	static const char lines[1000];
	struct python_texts texts = { 0 };
	struct told told;
	uint32_t module;
	uint64_t address;
	(void)state;

	for (uint64_t code = 0x1000; !python_texts_full(&texts); code += 16) {
		size_t bytes = tell(&told, code, "name", "file", lines, sizeof(lines));
		assert_true(python_texts_take(&texts, &told.head, bytes, reserve, NULL));
	}
	python_texts_forget(&texts);
	struct python_frame frame = { .code = 0x1000, .check = 0x1000 ^ 5 };
	assert_false(python_texts_frame(&texts, version("3.11"), 7, &frame, &module, &address));
	/* numbers in the trace stay */
	assert_int_equal(texts.functions.length, 1);
	python_texts_done(&texts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_get_file_function_and_line),
		cmocka_unit_test(wide_characters_become_utf8),
		cmocka_unit_test(messages_that_lie_are_refused),
		cmocka_unit_test(what_grows_too_large_is_forgotten),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
