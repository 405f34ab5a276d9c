/* Addresses to names: sizes and function bounds decide, never nearness. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "symbols/demangle.h"
#include "symbols/symbol_index.h"
#include "symbols/symbol_table.h"

static void test_bounds(void **state)
{
	(void)state;
	struct symbol_table t = { 0 };
	bool guessed;
	static const struct unwind_function functions[] = { { 0x100, 0x40 }, { 0x140, 0x40 }, { 0x180, 0x20 } };
	struct unwind_table unwind = { .base = 0x1000, .functions = functions, .function_count = 3 };

	symbol_table_add_name(&t, 0x1100, 0x40, "first", 0);
	symbol_table_add_name(&t, 0x1180, 0, "assembler", 0);
	symbol_table_add_name(&t, 0x2000, 0x100, "outer", 0);
	symbol_table_add_name(&t, 0x2010, 0x10, "inner", 0);
	symbol_table_add_name(&t, 0x1100, 0x40, "_alias", 5);
	symbol_table_add_kept(&t, 0x3000, 0x10, "kept");
	symbol_table_sort(&t);

	assert_string_equal(symbol_table_find(&t, &unwind, 0x300f, &guessed)->name, "kept");
	assert_null(symbol_table_find(&t, &unwind, 0x10ff, &guessed));
	assert_string_equal(symbol_table_find(&t, &unwind, 0x1100, &guessed)->name, "first");
	assert_string_equal(symbol_table_find(&t, &unwind, 0x113f, &guessed)->name, "first");
	/* the stripped static function behind `first` */
	assert_null(symbol_table_find(&t, &unwind, 0x1140, &guessed));
	assert_null(symbol_table_find(&t, NULL, 0x1140, &guessed));
	/* a symbol without size: the function's bounds tell */
	assert_string_equal(symbol_table_find(&t, &unwind, 0x1190, &guessed)->name, "assembler");
	assert_false(guessed);
	assert_null(symbol_table_find(&t, &unwind, 0x11a0, &guessed));
	/* without them it is a guess, and says so */
	assert_string_equal(symbol_table_find(&t, NULL, 0x11a0, &guessed)->name, "assembler");
	assert_true(guessed);
	assert_string_equal(symbol_table_find(&t, NULL, 0x2018, &guessed)->name, "inner");
	assert_string_equal(symbol_table_find(&t, NULL, 0x2080, &guessed)->name, "outer");
	assert_null(symbol_table_find(&t, NULL, 0x2100, &guessed));
	symbol_table_done(&t);
}

static void test_file(void **state)
{
	(void)state;
	struct elf_file file;
	struct symbol_table t = { 0 };
	bool guessed;
	assert_int_equal(elf_file_open("/proc/self/exe", &file, NULL), 0);
	symbol_table_add(&t, &file);
	symbol_table_sort(&t);
	size_t found = 0;
	for (size_t i = 0; i < t.symbols.length; i++)
		if (strcmp(t.symbols.items[i].name, "test_file") == 0) {
			const struct symbol *s = &t.symbols.items[i];
			assert_ptr_equal(symbol_table_find(&t, NULL, s->start + 3, &guessed), s);
			found++;
		}
	assert_int_equal(found, 1);
	symbol_table_done(&t);
	elf_file_close(&file);
}

/* What stays in the file is found as what is held. */
static void assert_index_agrees(const char *path)
{
	struct elf_file file;
	struct symbol_table t = { 0 };
	struct symbol_index index = { 0 };
	struct arena arena = { 0 };

	assert_int_equal(elf_file_open(path, &file, NULL), 0);
	symbol_table_add(&t, &file);
	symbol_table_sort(&t);
	assert_true(symbol_index_read(&index, &file));
	assert_int_equal(index.symbols.length, t.symbols.length);
	assert_true(t.symbols.length > 100);
	for (size_t i = 0; i < t.symbols.length; i++)
		for (uint64_t address = t.symbols.items[i].start; address <= t.symbols.items[i].start + 8; address += 4) {
			bool guessed, told_guessed;
			const struct symbol *told = symbol_table_find(&t, NULL, address, &told_guessed);
			const char *name = NULL;
			uint64_t start = 0;

			assert_int_equal(symbol_index_find(&index, &file, &arena, NULL, address, &start, &name, &guessed), told != NULL);
			if (!told)
				continue;
			assert_string_equal(name, told->name);
			assert_int_equal(start, told->start);
			assert_int_equal(guessed, told_guessed);
		}
	arena_done(&arena);
	symbol_index_done(&index);
	symbol_table_done(&t);
	elf_file_close(&file);
}

static void test_index(void **state)
{
	Dl_info libc;

	(void)state;
	assert_index_agrees("/proc/self/exe");
	assert_int_not_equal(dladdr((void *)(uintptr_t)printf, &libc), 0);
	assert_index_agrees(libc.dli_fname);
}

static void test_demangle(void **state)
{
	(void)state;
	struct arena arena = { 0 };
	assert_string_equal(demangle(&arena, "_ZNSt6vectorIiSaIiEE9push_backERKi"),
			    "std::vector<int, std::allocator<int> >::push_back(int const&)");
	assert_string_equal(demangle(&arena, "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"), "core::fmt::Write::write_fmt");
	assert_string_equal(demangle(&arena, "_RNvNtCs1234_7mycrate3foo3bar"), "mycrate::foo::bar");
	assert_null(demangle(&arena, "main"));
	assert_null(demangle(&arena, "_Z"));
	assert_null(demangle(&arena, ""));
	/* each step doubles the text */
	char bomb[600] = "_Z1fI";
	strcat(bomb, "1aIiiE");
	for (int i = 0; i < 60; i++) {
		char step[16];
		snprintf(step, sizeof(step), "1bIS%c_S%c_E", "0123456789"[i % 10], "0123456789"[i % 10]);
		if (strlen(bomb) + sizeof(step) + 3 < sizeof(bomb))
			strcat(bomb, step);
	}
	strcat(bomb, "Evv");
	demangle(&arena, bomb);
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_index),
		cmocka_unit_test(test_demangle),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
