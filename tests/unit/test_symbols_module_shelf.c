/* What was read of modules' files, kept from part to part. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "symbols/module_shelf.h"

/* This test itself, as a trace tells a module. */
static struct module own_module(char path[4096])
{
	ssize_t length = readlink("/proc/self/exe", path, 4095);

	assert_true(length > 0);
	path[length] = 0;
	return (struct module){ .number = 1, .kind = MODULE_KIND_file, .path = path, .build_id = "", .code = "" };
}

static void test_what_was_read_is_kept_for_the_next_part(void **state)
{
	struct module_shelf *shelf = module_shelf_new();
	const struct debug_places places = { module_shelf_opener(shelf), NULL };
	char path[4096], again_path[4096];
	struct module module = own_module(path), again = own_module(again_path);
	struct module_names *names = module_shelf_take(shelf, &module);

	(void)state;
	assert_ptr_equal(module_shelf_take(shelf, &module), names);
	module_names_load(names, &places);
	assert_true(names->loaded);
	module_shelf_put_back(shelf);
	/* the part's own tables are gone by now */
	memset(path, 'x', sizeof(path) - 1);
	assert_ptr_equal(module_shelf_take(shelf, &again), names);
	assert_string_equal(names->module->path, again_path);
	module_shelf_free(shelf);
}

static void test_another_build_is_another_module(void **state)
{
	struct module_shelf *shelf = module_shelf_new();
	char path[4096];
	struct module module = own_module(path), other = module;

	(void)state;
	other.build_id = "0123";
	assert_ptr_not_equal(module_shelf_take(shelf, &module), module_shelf_take(shelf, &other));
	module_shelf_free(shelf);
}

static void test_what_was_not_used_for_long_goes(void **state)
{
	struct module_shelf *shelf = module_shelf_new();
	const struct debug_places places = { module_shelf_opener(shelf), NULL };
	char path[4096], other_path[64];
	struct module module = own_module(path), other = module;

	(void)state;
	module_names_load(module_shelf_take(shelf, &module), &places);
	module_shelf_put_back(shelf);
	other.path = other_path;
	for (unsigned i = 0; i < 100; i++) {
		snprintf(other_path, sizeof(other_path), "/nowhere/%u", i);
		module_shelf_take(shelf, &other);
	}
	module_shelf_put_back(shelf);
	assert_false(module_shelf_take(shelf, &module)->loaded);
	module_shelf_free(shelf);
}

static void test_names_are_looked_for_without_being_loaded(void **state)
{
	struct module_shelf *shelf = module_shelf_new();
	const struct debug_places places = { module_shelf_opener(shelf), NULL };
	char path[4096], nowhere[64] = "no_function_";
	struct module module = own_module(path);
	struct module_names *names = module_shelf_take(shelf, &module);

	(void)state;
	/* put together here, so that it stands nowhere in the file */
	snprintf(nowhere + strlen(nowhere), sizeof(nowhere) - strlen(nowhere), "is_called_%d", (int)getpid());
	assert_true(module_names_may_hold(names, &places, "test_names_are_looked_for"));
	assert_false(module_names_may_hold(names, &places, nowhere));
	assert_false(module_names_may_hold(names, &places, nowhere));
	assert_false(names->loaded);
	module_shelf_free(shelf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_read_is_kept_for_the_next_part),
		cmocka_unit_test(test_another_build_is_another_module),
		cmocka_unit_test(test_what_was_not_used_for_long_goes),
		cmocka_unit_test(test_names_are_looked_for_without_being_loaded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
