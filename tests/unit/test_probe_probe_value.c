/* What a probe is to record, from words of the source: registers, reads of memory, sizes. The code looked
 * into is this test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "probe/probe_value.h"

struct part {
	short left;
	char name[12];
};

struct job {
	int id;
	const char *label;
	struct job *next;
	struct part part;
	unsigned char flags[4];
};

struct large {
	long words[5];
};

__attribute__((noinline, used)) static long taken(struct job *job, double weight, int number, struct large copy)
{
	__asm__ volatile("" : : "r"(job), "x"(weight), "r"(number), "m"(copy) : "memory");
	return number;
}

struct looked {
	struct arena arena;
	struct variable_file file;
	struct code code;
	uint64_t address;
};

static void open_own(struct looked *l)
{
	struct elf_file for_code, for_types;
	struct err err;

	arena_init(&l->arena);
	assert_int_equal(elf_file_open("/proc/self/exe", &for_code, &err), 0);
	code_open(&l->code, for_code, "self");
	assert_int_equal(elf_file_open("/proc/self/exe", &for_types, &err), 0);
	assert_int_equal(variable_file_open(&l->file, for_types, "/proc/self/exe", "self", &err), 0);
	assert_int_equal(code_find(&l->code, "taken", &l->address, &err), 0);
	if (l->file.has_info)
		return;
	print_message("this program was built without debug information\n");
	skip();
}

static void close_own(struct looked *l)
{
	variable_file_close(&l->file);
	code_close(&l->code);
	arena_done(&l->arena);
}

static struct probe_value value_of(struct looked *l, const char *text)
{
	struct probe_value value = { 0 };
	struct err err = { 0 };

	if (probe_value_find(&l->arena, &l->file, &l->code, l->address, true, text, &value, &err))
		fail_msg("%s: %s", text, err.text);
	return value;
}

static void test_parameters(void **state)
{
	struct probe_value value;
	struct looked l;

	(void)state;
	open_own(&l);
	value = value_of(&l, "job");
	assert_int_equal(value.base, REGISTER_rdi);
	assert_int_equal(value.steps, 0);
	/* the double before it takes none of these registers */
	value = value_of(&l, "number");
	assert_int_equal(value.base, REGISTER_rsi);
	assert_int_equal(value.bytes, 4);
	assert_true(value.is_signed);
	close_own(&l);
}

static void test_fields(void **state)
{
	struct probe_value value;
	struct looked l;

	(void)state;
	open_own(&l);
	value = value_of(&l, "job->next->part.left");
	assert_int_equal(value.steps, 2);
	assert_int_equal(value.displacement[0], offsetof(struct job, next));
	assert_int_equal(value.displacement[1], offsetof(struct job, part.left));
	assert_int_equal(value.bytes, 2);
	assert_true(value.is_signed);
	value = value_of(&l, "job->flags[2]");
	assert_int_equal(value.steps, 1);
	assert_int_equal(value.displacement[0], offsetof(struct job, flags) + 2);
	assert_int_equal(value.bytes, 1);
	assert_false(value.is_signed);
	value = value_of(&l, "job[1].id");
	assert_int_equal(value.displacement[0], sizeof(struct job));
	value = value_of(&l, "rdx->8->16");
	assert_int_equal(value.base, REGISTER_rdx);
	assert_int_equal(value.steps, 2);
	assert_int_equal(value.displacement[1], 16);
	assert_int_equal(value.bytes, 8);
	close_own(&l);
}

static void test_texts(void **state)
{
	struct probe_value value;
	struct looked l;

	(void)state;
	open_own(&l);
	/* a pointer is read, an array lies there */
	value = value_of(&l, "job->label:string");
	assert_true(value.text);
	assert_int_equal(value.steps, 1);
	assert_int_equal(value.displacement[0], offsetof(struct job, label));
	assert_int_equal(value.text_behind, 0);
	value = value_of(&l, "job->part.name:string");
	assert_true(value.text);
	assert_int_equal(value.steps, 0);
	assert_int_equal(value.text_behind, offsetof(struct job, part.name));
	close_own(&l);
}

static void refused(struct looked *l, const char *text, const char *words)
{
	struct probe_value value;
	struct err err = { 0 };

	assert_true(probe_value_find(&l->arena, &l->file, &l->code, l->address, true, text, &value, &err) < 0);
	if (!strstr(err.text, words))
		fail_msg("%s: %s", text, err.text);
}

static void test_refusals(void **state)
{
	struct looked l;

	(void)state;
	open_own(&l);
	refused(&l, "jab", "is no parameter");
	refused(&l, "weight", "in no register of its own");
	refused(&l, "copy", "in no register of its own");
	refused(&l, "job->part", "it is no number");
	refused(&l, "job->none", "no field 'none'");
	refused(&l, "number->id", "not a pointer");
	refused(&l, "job->", "is missing");
	refused(&l, "job+1", "is not understood");
	refused(&l, "", "begins with no name");
	refused(&l, "job->next->next->next->next->id", "more than 4 reads");
	refused(&l, "job[x]", "write a number between");
	refused(&l, "rdi.id", "is not understood");
	close_own(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parameters),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_refusals),
	};

	taken(&(struct job){ 0 }, 1, 2, (struct large){ 0 });
	return cmocka_run_group_tests(tests, NULL, NULL);
}
