/* Names of run-time code are taken from the right user's file only. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/jit_map.h"

#define NOBODY 65534

static char path[64];

static void write_map(const char *to)
{
	FILE *file = fopen(to, "w");

	assert_non_null(file);
	fputs("1000 20 compiled\n", file);
	fclose(file);
}

static int read_map(uid_t user, size_t *ret_count)
{
	struct symbol_table names = { 0 };
	struct err err = { 0 };
	bool guessed;
	int r = jit_map_read(getpid(), user, &names, &err);

	*ret_count = symbol_table_find(&names, NULL, 0x1010, &guessed) ? 1 : 0;
	symbol_table_done(&names);
	return r;
}

static int remove_map(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
	return 0;
}

static void test_own(void **state)
{
	size_t count;

	(void)state;
	write_map(path);
	assert_int_equal(read_map(geteuid(), &count), 0);
	assert_int_equal(count, 1);
}

static void test_other_user(void **state)
{
	size_t count;

	(void)state;
	if (geteuid()) {
		print_message("needs root\n");
		skip();
	}
	write_map(path);
	assert_int_equal(chown(path, NOBODY, NOBODY), 0);
	assert_int_equal(read_map(0, &count), -EPERM);
	assert_int_equal(count, 0);
	assert_int_equal(read_map(NOBODY, &count), 0);
	assert_int_equal(count, 1);
}

static void test_no_file(void **state)
{
	char other[80];
	size_t count;

	(void)state;
	assert_int_equal(read_map(geteuid(), &count), -ENOENT);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(read_map(geteuid(), &count), -EINVAL);
	unlink(path);
	snprintf(other, sizeof(other), "%s.other", path);
	write_map(other);
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(read_map(geteuid(), &count), -ELOOP);
	unlink(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_own, remove_map, remove_map),
		cmocka_unit_test_setup_teardown(test_other_user, remove_map, remove_map),
		cmocka_unit_test_setup_teardown(test_no_file, remove_map, remove_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
