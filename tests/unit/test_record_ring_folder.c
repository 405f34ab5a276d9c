/* The folder of a ring: numbering goes on, only the ring's own files are
 * removed, and a folder that others may write to is refused. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/ring_folder.h"

static char folder_path[] = "/tmp/ring_folder.XXXXXX";

static void write_file(const char *name, size_t bytes)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder_path, name);
	file = fopen(path, "w");
	assert_non_null(file);
	for (size_t i = 0; i < bytes; i++)
		fputc('x', file);
	fclose(file);
}

static bool is_there(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder_path, name);
	return !access(path, F_OK);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder_path) ? 0 : -1;
}

static int remove_folder(void **state)
{
	static const char *const names[] = { "argus-0000000007.trace", "argus-0000000009.trace", "argus-notes.trace", "else" };
	char path[128];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder_path, names[i]);
		unlink(path);
	}
	return rmdir(folder_path);
}

static void test_others_may_not_write(void **state)
{
	struct ring_folder folder = { 0 };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(chmod(folder_path, 0777), 0);
	assert_int_equal(ring_folder_open(&folder, folder_path, &err), -EPERM);
	assert_non_null(strstr(err.text, folder_path));
	assert_int_equal(chmod(folder_path, 0700), 0);
	assert_int_equal(ring_folder_open(&folder, folder_path, &err), 0);
}

static void test_own_files_only(void **state)
{
	struct ring_folder folder = { 0 };
	struct ring_folder_size size;
	struct err err = { 0 };
	char path[128];

	(void)state;
	write_file("argus-0000000007.trace", 100);
	write_file("argus-0000000009.trace", 100);
	write_file("argus-notes.trace", 100);
	write_file("else", 100);
	assert_int_equal(ring_folder_open(&folder, folder_path, &err), 0);
	assert_int_equal(ring_folder_size(&folder, &size, &err), 0);
	assert_int_equal(size.files, 2);
	assert_int_equal(size.bytes, 200);
	assert_int_equal(size.oldest, 7);
	assert_int_equal(ring_folder_next(&folder, path, sizeof(path), &err), 0);
	assert_string_equal(path + strlen(folder_path), "/argus-0000000010.trace");
	assert_int_equal(ring_folder_trim(&folder, 0, 1, &err), 0);
	assert_false(is_there("argus-0000000007.trace"));
	assert_true(is_there("argus-0000000009.trace"));
	assert_true(is_there("argus-notes.trace"));
	assert_true(is_there("else"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_others_may_not_write),
		cmocka_unit_test(test_own_files_only),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
