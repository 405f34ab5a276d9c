/* The interpreter's build, found in a packaged one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/python_build.h"

#define INTERPRETER "/usr/bin/python3.11"

static void an_interpreter_is_found_in_its_file(void **state)
{
	struct python_build build;
	struct elf_file file;
	(void)state;

	if (elf_file_open(INTERPRETER, &file, NULL) < 0) {
		print_message("Python 3.11 is not installed\n");
		skip();
	}
	python_build_find(&file, "python3.11", &build);
	assert_string_equal(python_version_name(build.version), "3.11");
	assert_true(build.key != 0);
	assert_true(build.loop[0].end > build.loop[0].start);
	/* what is rare lies elsewhere */
	assert_true(build.loop[1].end > build.loop[1].start);
	assert_true(build.loop[1].end <= build.loop[0].start || build.loop[1].start >= build.loop[0].end);
	assert_true(python_build_runs(&build, build.loop[1].start));
	assert_false(python_build_runs(&build, build.loop[0].end));
	elf_file_close(&file);
}

static void php_is_found_in_its_file(void **state)
{
	struct python_build build;
	struct elf_file file;
	(void)state;

	if (elf_file_open("/usr/bin/php8.2", &file, NULL) < 0) {
		print_message("PHP 8.2 is not installed\n");
		skip();
	}
	python_build_find(&file, "php8.2", &build);
	assert_string_equal(python_version_name(build.version), "PHP 8.2");
	assert_true(build.key != 0);
	assert_true(build.loop[0].end > build.loop[0].start);
	assert_int_equal(python_version_offsets(build.version)->language, SCRIPT_PHP);
	elf_file_close(&file);
}

static void perl_is_found_in_its_file(void **state)
{
	struct python_build build;
	struct elf_file file;
	(void)state;

	if (access("/usr/bin/perl5.36.0", R_OK) < 0 || elf_file_open("/usr/bin/perl", &file, NULL) < 0) {
		print_message("Perl 5.36 is not installed\n");
		skip();
	}
	python_build_find(&file, "perl", &build);
	assert_string_equal(python_version_name(build.version), "Perl 5.36");
	assert_true(build.key != 0);
	assert_true(build.loop[0].end > build.loop[0].start);
	assert_int_equal(python_version_offsets(build.version)->language, SCRIPT_PERL);
	elf_file_close(&file);
}

static void ruby_is_found_in_its_file(void **state)
{
	struct python_build build;
	struct elf_file file;
	(void)state;

	if (elf_file_open("/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1", &file, NULL) < 0) {
		print_message("Ruby 3.1 is not installed\n");
		skip();
	}
	python_build_find(&file, "libruby-3.1.so.3.1.7", &build);
	assert_string_equal(python_version_name(build.version), "Ruby 3.1");
	assert_int_equal(python_version_offsets(build.version)->language, SCRIPT_RUBY);
	/* two words that the linker fills, and a table that begins in the file */
	assert_true(build.key != 0 && build.key % 8 == 0);
	assert_true(build.names != 0 && build.names % 8 == 0);
	assert_true(python_build_runs(&build, build.loop[0].start));
	/* the loop over instructions is a function by itself, and large */
	assert_true(build.inner.end - build.inner.start > 8192);
	assert_true(build.inner.start >= elf_file_section(&file, ".text")->sh_offset);
	assert_false(python_build_runs(&build, build.inner.start));
	elf_file_close(&file);
}

static void another_program_is_none(void **state)
{
	struct python_build build;
	struct elf_file file;
	(void)state;

	assert_int_equal(elf_file_open("/proc/self/exe", &file, NULL), 0);
	python_build_find(&file, "python3.11", &build);
	assert_int_equal(build.version, 0);
	elf_file_close(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_interpreter_is_found_in_its_file),
		cmocka_unit_test(php_is_found_in_its_file),
		cmocka_unit_test(perl_is_found_in_its_file),
		cmocka_unit_test(ruby_is_found_in_its_file),
		cmocka_unit_test(another_program_is_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
