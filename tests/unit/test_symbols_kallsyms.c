/* The kernel's list of functions: which one holds an address. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "symbols/kallsyms.h"

static void parse(const char *text, struct kallsyms *ret_kallsyms)
{
	kallsyms_parse(text, strlen(text), ret_kallsyms);
}

static void expect(const struct kallsyms *k, uint64_t address, uint64_t start, uint64_t bytes, const char *name)
{
	struct kernel_symbol symbol;

	assert_true(kallsyms_find(k, address, &symbol));
	assert_int_equal(symbol.start, start);
	assert_int_equal(symbol.bytes, bytes);
	assert_string_equal(symbol.name, name);
}

static void test_find(void **state)
{
	struct kernel_symbol symbol;
	struct kallsyms k;
	(void)state;

	parse("0000000000000000 A fixed_percpu_data\n"
	      "ffffffff81000000 T _text\n"
	      "ffffffff81000010 t first\n"
	      "ffffffff81000030 T second\n"
	      "ffffffff81000040 d data\n"
	      "ffffffff81000050 W third\n"
	      "ffffffffc0000000 t in_module\t[fuse]\n", &k);
	assert_int_equal(k.text, 0xffffffff81000000);
	expect(&k, 0xffffffff81000010, 0xffffffff81000010, 0x20, "first");
	expect(&k, 0xffffffff8100002f, 0xffffffff81000010, 0x20, "first");
	expect(&k, 0xffffffff81000048, 0xffffffff81000030, 0x20, "second");
	expect(&k, 0xffffffff81000050, 0xffffffff81000050, 0xffffffffc0000000 - 0xffffffff81000050, "third");
	expect(&k, 0xffffffffc0000020, 0xffffffffc0000000, 0, "in_module [fuse]");
	assert_false(kallsyms_find(&k, 0xffffffff80ffffff, &symbol));
	assert_false(kallsyms_find(&k, 0xffffffffc0100000, &symbol));
	assert_false(kallsyms_find(&k, 0, &symbol));
	kallsyms_done(&k);
}

static void test_unsorted_and_aliases(void **state)
{
	struct kallsyms k;
	(void)state;

	parse("ffffffff81000030 T zebra\nffffffff81000030 T ant\nffffffff81000030 T bee\nffffffff81000010 t first", &k);
	assert_int_equal(k.count, 2);
	expect(&k, 0xffffffff81000012, 0xffffffff81000010, 0x20, "first");
	expect(&k, 0xffffffff81000031, 0xffffffff81000030, 0, "ant");
	kallsyms_done(&k);
}

static void test_hidden_or_damaged(void **state)
{
	static const char *const texts[] = {
		"", "\n\n", "0000000000000000 T _text\n0000000000000000 t first\n", "ffffffff81000000", "ffffffff81000000 ",
		"ffffffff81000000 t", "ffffffff81000000 t ", "zz t name\n", "11111111111111111 t long\n", " t \t\n",
	};
	struct kernel_symbol symbol;
	(void)state;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct kallsyms k;

		parse(texts[i], &k);
		assert_int_equal(k.text, 0);
		assert_int_equal(k.count, 0);
		assert_false(kallsyms_find(&k, 0xffffffff81000000, &symbol));
		kallsyms_done(&k);
	}
}

/* What lies further apart than the kernel's functions do is left out. */
static void test_far(void **state)
{
	struct kallsyms k;
	(void)state;

	parse("ffffffff81000000 t near\nffff888000000000 t far\n", &k);
	assert_int_equal(k.count, 1);
	expect(&k, 0xffff888000000010, 0xffff888000000000, 0, "far");
	kallsyms_done(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_unsorted_and_aliases),
		cmocka_unit_test(test_hidden_or_damaged),
		cmocka_unit_test(test_far),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
