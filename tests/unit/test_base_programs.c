/* src/base/programs.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/programs.h"

static const char *made(struct arena *arena, const char *folder, const char *name, mode_t mode)
{
	const char *path = arena_printf(arena, "%s/%s", folder, name);
	int fd = open(path, O_CREAT | O_WRONLY, mode);

	assert_true(fd >= 0);
	close(fd);
	return path;
}

static void finds_the_first_that_can_be_run(void **state)
{
	char one[] = "/tmp/argus-programs-XXXXXX", two[] = "/tmp/argus-programs-XXXXXX";
	const char *text, *first, *second, *only;
	struct arena arena;

	(void)state;
	arena_init(&arena);
	assert_non_null(mkdtemp(one));
	assert_non_null(mkdtemp(two));
	text = made(&arena, one, "only", 0600);
	only = made(&arena, two, "only", 0700);
	first = made(&arena, one, "both", 0700);
	second = made(&arena, two, "both", 0700);
	setenv("PATH", arena_printf(&arena, ":%s::%s", one, two), 1);
	assert_string_equal(program_in_path(&arena, "both"), first);
	assert_string_equal(program_in_path(&arena, "only"), only);
	assert_null(program_in_path(&arena, "neither"));
	setenv("PATH", "", 1);
	assert_null(program_in_path(&arena, "both"));
	unlink(text);
	unlink(only);
	unlink(first);
	unlink(second);
	rmdir(one);
	rmdir(two);
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(finds_the_first_that_can_be_run) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
