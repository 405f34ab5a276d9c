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

static void equal_tables_are_kept_once(void **state)
{
	static const char lines[] = { 6, 1, 50, 2 }, others[] = { 6, 1, 50, 3 };
	struct python_texts texts = { 0 };
	struct told told;
	(void)state;

	for (uint64_t code = 0x1000; code < 0x5000; code += 0x1000) {
		size_t bytes = tell(&told, code, "name", "file", code == 0x3000 ? others : lines, sizeof(lines));
		assert_true(python_texts_take(&texts, &told.head, bytes, reserve, NULL));
	}
	assert_ptr_equal(texts.known.items[0].lines, texts.known.items[1].lines);
	assert_ptr_equal(texts.known.items[0].lines, texts.known.items[3].lines);
	assert_memory_equal(texts.known.items[2].lines, others, sizeof(others));
	assert_memory_equal(texts.known.items[3].lines, lines, sizeof(lines));
	assert_int_equal(texts.codes_bytes, 4 * PYTHON_CODE_BYTES + sizeof(lines) + sizeof(others));
	python_texts_forget(&texts);
	size_t bytes = tell(&told, 0x1000, "name", "file", lines, sizeof(lines));
	assert_true(python_texts_take(&texts, &told.head, bytes, reserve, NULL));
	assert_memory_equal(texts.known.items[0].lines, lines, sizeof(lines));
	python_texts_done(&texts);
}

/* What stands for the table of lines is the class; a file's own code has no name, and places are lines. */
static void frames_of_php_get_their_class(void **state)
{
	struct python_texts texts = { 0 };
	struct told told;
	uint32_t module;
	uint64_t address;
	(void)state;

	next_module = 40;
	size_t bytes = tell(&told, 0x1000, "run", "/srv/page.php", "Handler", 7);
	told.head.language = SCRIPT_PHP;
	assert_true(python_texts_take(&texts, &told.head, bytes, reserve, NULL));
	bytes = tell(&told, 0x2000, "", "/srv/page.php", "", 0);
	assert_false(python_texts_take(&texts, &told.head, bytes, reserve, NULL));
	told.head.language = SCRIPT_PHP;
	assert_true(python_texts_take(&texts, &told.head, bytes, reserve, NULL));
	assert_string_equal(texts.functions.items[0].name, "Handler::run");
	assert_string_equal(texts.functions.items[1].name, "{main}");

	struct python_frame frame = { .code = 0x1000 | PYTHON_ENTRY, .place = 17, .check = 0x1000 ^ 5 };
	assert_true(python_texts_frame(&texts, version("PHP 8.2"), 7, &frame, &module, &address));
	assert_int_equal(address, 1u << PYTHON_LINE_BITS | 17);
	python_texts_done(&texts);
}

/* A method stands behind its class, and what it is a part of before that; one that is written in C has no file. Texts are bytes. */
static void frames_of_ruby_get_their_class(void **state)
{
	struct python_texts texts = { 0 };
	struct told told;
	uint32_t module;
	uint64_t address;
	(void)state;

	next_module = 40;
	size_t bytes = tell(&told, 0x1000, "block in gr\xc3\xb6\xc3\x9f", "/srv/app.rb", "App::Part", 9);
	told.head.language = SCRIPT_RUBY;
	told.head.prefix_bytes = 9;
	assert_true(python_texts_take(&texts, &told.head, bytes, reserve, NULL));
	bytes = tell(&told, 0x2000, "sleep", "", "Kernel", 6);
	told.head.language = SCRIPT_RUBY;
	told.head.prefix_bytes = 0;
	told.head.singleton = 1;
	assert_true(python_texts_take(&texts, &told.head, bytes, reserve, NULL));
	/* more before the name than there is */
	bytes = tell(&told, 0x3000, "run", "/srv/app.rb", "Part", 4);
	told.head.language = SCRIPT_RUBY;
	told.head.prefix_bytes = 400;
	told.head.singleton = 0;
	assert_true(python_texts_take(&texts, &told.head, bytes, reserve, NULL));
	bytes = tell(&told, 0x4000, "<main>", "/srv/app.rb", "", 0);
	told.head.language = SCRIPT_RUBY;
	told.head.prefix_bytes = 0;
	assert_true(python_texts_take(&texts, &told.head, bytes, reserve, NULL));
	assert_string_equal(texts.functions.items[0].name, "block in App::Part#gr\xc3\xb6\xc3\x9f");
	assert_string_equal(texts.functions.items[1].name, "Kernel.sleep");
	assert_string_equal(texts.functions.items[2].name, "Part#run");
	assert_string_equal(texts.functions.items[3].name, "<main>");
	assert_string_equal(texts.files.items[1].path, "<cfunc>");

	struct python_frame frame = { .code = 0x1000 | PYTHON_ENTRY, .place = 17, .check = 0x1000 ^ 5 };
	assert_true(python_texts_frame(&texts, version("Ruby 3.1"), 7, &frame, &module, &address));
	assert_int_equal(address, 1u << PYTHON_LINE_BITS | 17);
	python_texts_done(&texts);
}

/* A statement has one line; its file's name is told with what follows it, its function has no line of its own. */
static void frames_of_perl_get_their_statement(void **state)
{
	struct python_texts texts = { 0 };
	struct told told;
	uint32_t module;
	uint64_t address;
	(void)state;

	next_module = 40;
	for (uint64_t code = 0x1000; code <= 0x2000; code += 0x1000) {
		size_t bytes = tell(&told, code, "run", "/srv/job.pl#more", "Handler", 7);
		told.texts[3 + 11] = 0;
		told.head.language = SCRIPT_PERL;
		told.head.line = (u32)(code >> 8);
		assert_true(python_texts_take(&texts, &told.head, bytes, reserve, NULL));
	}
	assert_int_equal(texts.files.length, 1);
	assert_string_equal(texts.files.items[0].path, "/srv/job.pl");
	assert_int_equal(texts.functions.length, 1);
	assert_string_equal(texts.functions.items[0].name, "Handler::run");

	struct python_frame frame = { .code = 0x2000 | PYTHON_ENTRY, .place = 0x7000, .check = 0x2000 ^ 5 };
	assert_true(python_texts_frame(&texts, version("Perl 5.36"), 7, &frame, &module, &address));
	assert_int_equal(address, 1u << PYTHON_LINE_BITS | 0x20);
	python_texts_done(&texts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_of_perl_get_their_statement),
		cmocka_unit_test(frames_of_php_get_their_class),
		cmocka_unit_test(frames_of_ruby_get_their_class),
		cmocka_unit_test(frames_get_file_function_and_line),
		cmocka_unit_test(wide_characters_become_utf8),
		cmocka_unit_test(messages_that_lie_are_refused),
		cmocka_unit_test(what_grows_too_large_is_forgotten), cmocka_unit_test(equal_tables_are_kept_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
