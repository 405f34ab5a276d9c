/* Sparse arrays keep what is in them as they grow, wherever they lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/sparse.h"

#define STEP 70000u
#define STEPS 60u             /* over a megabyte, where it is laid aside, and on */

static void grow(bool aside, int *ret_file)
{
	struct sparse array = { .aside = aside };

	for (size_t i = 1; i <= STEPS; i++) {
		sparse_reach(&array, i * STEP);
		((unsigned char *)array.memory)[i * STEP - 1] = (unsigned char)i;
		for (size_t k = 1; k <= i; k++) {
			assert_int_equal(((unsigned char *)array.memory)[k * STEP - 1], k);
			assert_int_equal(((unsigned char *)array.memory)[k * STEP - 2], 0);
		}
	}
	*ret_file = array.file;
	sparse_done(&array);
	assert_null(array.memory);
	assert_int_equal(array.file, 0);
	assert_int_equal(array.aside, aside);
}

static void test_in_memory(void **state)
{
	int file;
	(void)state;

	grow(false, &file);
	assert_int_equal(file, 0);
	grow(true, &file); /* nowhere to lie */
	assert_int_equal(file, 0);
	sparse_lie_in("/nonexistent/folder");
	grow(true, &file);
	assert_int_equal(file, 0);
	sparse_lie_in(NULL);
}

static void test_aside(void **state)
{
	char folder[] = "/tmp/argus-test-XXXXXX";
	int file;
	(void)state;

	assert_non_null(mkdtemp(folder));
	sparse_lie_in(folder);
	grow(false, &file);
	assert_int_equal(file, 0);
	grow(true, &file);
	sparse_lie_in(NULL);
	assert_int_equal(rmdir(folder), 0); /* no name is left in it */
	if (!file) {
		print_message("the file system has no room, or no files without names\n");
		skip();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_memory),
		cmocka_unit_test(test_aside),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
