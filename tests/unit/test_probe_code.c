/* Code of this very program: its functions, and where in them a way is decided. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "probe/code.h"
#include "probe/step_run.h"

int __attribute__((noinline)) code_leaf(int a);
int __attribute__((noinline)) code_loop(int a);

int code_leaf(int a)
{
	__asm__ volatile("" ::: "memory");
	return a > 3 ? a * 5 : a - 1;
}

int code_loop(int a)
{
	int sum = 0;

	for (int i = 0; i < a; i++) {
		__asm__ volatile("" ::: "memory");
		sum += code_leaf(i);
	}
	return sum;
}

static void open_self(struct code *code)
{
	struct elf_file elf;

	assert_int_equal(elf_file_open("/proc/self/exe", &elf, NULL), 0);
	code_open(code, elf, "/proc/self/exe");
}

static void sites(void **state)
{
	struct code_sites found;
	uint64_t loop, start, end;
	bool branch = false, call = false, returns = false;
	struct code code;

	(void)state;
	assert_true(code_loop(3) == -1 + 0 + 1);
	open_self(&code);
	assert_int_equal(code_find(&code, "code_loop", &loop, NULL), 0);
	assert_true(code_function(&code, loop + 1, &start, &end));
	assert_int_equal(start, loop);
	code_find_sites(&code, &loop, 1, 1, &found);
	/* itself and what it calls; of a sanitizer what that calls, too */
	assert_in_range(found.functions.length, 2, 8);
	for (size_t i = 0; i < found.addresses.length; i++) {
		const struct instruction *instruction = code_at(&code, found.addresses.items[i]);

		assert_non_null(instruction);
		branch |= instruction->kind == INSTRUCTION_branch;
		call |= instruction->kind == INSTRUCTION_call;
		returns |= instruction->kind == INSTRUCTION_return;
		assert_true(!i || found.addresses.items[i] > found.addresses.items[i - 1]);
	}
	assert_true(branch && call && returns);
	code_sites_done(&found);
	code_find_sites(&code, &loop, 1, 0, &found);
	assert_int_equal(found.functions.length, 1);
	code_sites_done(&found);
	code_close(&code);
}

static void names(void **state)
{
	struct err err = { 0 };
	struct arena arena;
	uint64_t leaf;
	struct code code;

	(void)state;
	arena_init(&arena);
	open_self(&code);
	assert_int_equal(code_find(&code, "code_leaf", &leaf, NULL), 0);
	assert_string_equal(code_name(&code, &arena, leaf), "code_leaf");
	assert_string_equal(code_name(&code, &arena, leaf + 1), "code_leaf+0x1");
	assert_string_equal(code_name(&code, &arena, 0x1), "0x1");
	assert_int_not_equal(code_find(&code, "code_lea", &leaf, &err), 0);
	assert_non_null(strstr(err.text, "code_leaf"));
	assert_null(code_at(&code, 0));
	code_close(&code);
	arena_done(&arena);
}

static void conditions(void **state)
{
	(void)state;
	assert_true(step_condition_holds(4, 0x40));   /* je, zero */
	assert_false(step_condition_holds(5, 0x40));  /* jne */
	assert_true(step_condition_holds(2, 1));      /* jb, carry */
	assert_true(step_condition_holds(7, 0));      /* ja */
	assert_false(step_condition_holds(7, 0x40));
	assert_true(step_condition_holds(12, 0x80));  /* jl: sign is not overflow */
	assert_false(step_condition_holds(12, 0x880));
	assert_true(step_condition_holds(14, 0x40));  /* jle */
	assert_true(step_condition_holds(15, 0));     /* jg */
	assert_true(step_condition_holds(10, 4));     /* jp */
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(sites), cmocka_unit_test(names), cmocka_unit_test(conditions) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
