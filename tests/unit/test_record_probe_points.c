/* What the person writes after --probe, found in this very program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/probe_points.h"
#include "trace/event.h"

struct fixture {
	struct arena arena;
	struct probe_points points;
	struct err err;
};

static int setup(void **state)
{
	static struct fixture fixture;

	memset(&fixture, 0, sizeof(fixture));
	arena_init(&fixture.arena);
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	probe_points_close(&((struct fixture *)*state)->points);
	arena_done(&((struct fixture *)*state)->arena);
	return 0;
}

static const struct probe_point *add(struct fixture *f, const char *text)
{
	if (probe_points_add(&f->arena, &f->points, text, &f->err))
		fail_msg("%s", f->err.text);
	return &f->points.items[f->points.count - 1];
}

static void refuse(struct fixture *f, const char *text, const char *words)
{
	size_t count = f->points.count;

	assert_true(probe_points_add(&f->arena, &f->points, text, &f->err) < 0);
	assert_int_equal(f->points.count, count);
	if (!strstr(f->err.text, words) || !strstr(f->err.text, text))
		fail_msg("'%s' has not '%s' and '%s'", f->err.text, words, text);
}

static void test_functions(void **state)
{
	struct fixture *f = *state;
	const struct probe_point *point = add(f, "/proc/self/exe:refuse");
	uint64_t offset = point->places[0].offset;

	assert_string_equal(point->name, "refuse");
	assert_int_equal(point->kind, PROBE_KIND_function);
	assert_int_equal(point->place_count, 1);
	assert_int_equal(point->pid, 0);
	point = add(f, "back=/proc/self/exe:refuse%return");
	assert_string_equal(point->name, "back");
	assert_string_equal(point->function, "refuse");
	assert_int_equal(point->kind, PROBE_KIND_return);
	assert_int_equal(point->places[0].offset, offset);
	assert_string_equal(add(f, "/proc/self/exe:refuse%return")->name, "refuse-return");
}

static void test_other_places(void **state)
{
	struct fixture *f = *state;
	const struct probe_point *point = add(f, "tracepoint:sched:sched_switch");

	assert_string_equal(point->name, "sched_switch");
	assert_string_equal(point->provider, "sched");
	assert_int_equal(point->kind, PROBE_KIND_tracepoint);
	point = add(f, "m=usdt:/proc/self/exe:pool:turn");
	assert_string_equal(point->function, "pool:turn");
	assert_string_equal(point->mark, "turn");
	assert_int_equal(point->kind, PROBE_KIND_usdt);
}

static void test_process(void **state)
{
	struct fixture *f = *state;
	char text[64];

	if (geteuid()) {
		print_message("needs root: others may not follow the links to mapped files\n");
		skip();
	}
	snprintf(text, sizeof(text), "%d:refuse", (int)getpid());
	assert_int_equal(add(f, text)->pid, getpid());
	assert_non_null(strstr(f->points.items[0].file, "test_record_probe_points"));
	refuse(f, "4194305:refuse", "no process");
}

static void test_fields(void **state)
{
	struct fixture *f = *state;
	const struct probe_fields *fields = &add(f, "x=/proc/self/exe:refuse%fields=r15,[rsp+0x30],[rbp-8]")->fields;

	assert_int_equal(fields->at[0].offset, 0);
	assert_int_equal(fields->at[0].bytes, 8);
	assert_int_equal(fields->at[0].steps, 0);
	assert_int_equal(fields->at[1].offset, 152);
	assert_int_equal(fields->at[1].steps, 1);
	assert_int_equal(fields->at[1].displacement[0], 0x30);
	assert_int_equal(fields->at[2].displacement[0], -8);
	assert_int_equal(add(f, "y=/proc/self/exe:refuse")->fields.at[0].bytes, 0);
	refuse(f, "z=/proc/self/exe:refuse%fields=", "%fields= takes");
	refuse(f, "z=/proc/self/exe:refuse%fields=r15,", "%fields= takes");
	refuse(f, "z=/proc/self/exe:refuse%fields=eax", "%fields= takes");
	refuse(f, "z=/proc/self/exe:refuse%fields=[rsp+8", "%fields= takes");
	refuse(f, "z=/proc/self/exe:refuse%fields=[rsp+99999]", "%fields= takes");
	refuse(f, "z=/proc/self/exe:refuse%fields=rax,rbx,rcx,rdx", "%fields= takes");
	refuse(f, "z=/proc/self/exe:refuse%return%fields=rax", "are for functions'");
	fields = &add(f, "v=/proc/self/exe:refuse%fields=[rdi:4],[rsi+16:2]%text=rcx")->fields;
	assert_int_equal(fields->at[0].bytes, 4);
	assert_int_equal(fields->at[1].bytes, 2);
	assert_int_equal(fields->at[1].steps, 1);
	assert_int_equal(fields->at[1].displacement[0], 16);
	assert_int_equal(fields->at[2].bytes, 0);
	assert_int_equal(fields->at[PROBE_TEXT].bytes, 8);
	assert_int_equal(fields->at[PROBE_TEXT].steps, 0);
	assert_int_equal(fields->at[PROBE_TEXT].text, 1);
	assert_int_equal(fields->at[PROBE_TEXT].offset, 88);
	fields = &add(f, "u=/proc/self/exe:refuse%text=[rsp+8]")->fields;
	assert_int_equal(fields->at[0].bytes, 0);
	assert_int_equal(fields->at[PROBE_TEXT].steps, 1);
	fields = &add(f, "nested=/proc/self/exe:refuse%fields=[[rdi]-8:4]%text=[[[rdi]-8]+8]")->fields;
	assert_int_equal(fields->at[0].steps, 2);
	assert_int_equal(fields->at[0].bytes, 4);
	assert_int_equal(fields->at[0].displacement[0], 0);
	assert_int_equal(fields->at[0].displacement[1], -8);
	assert_int_equal(fields->at[PROBE_TEXT].steps, 3);
	assert_int_equal(fields->at[PROBE_TEXT].displacement[1], -8);
	assert_int_equal(fields->at[PROBE_TEXT].displacement[2], 8);
	fields = &add(f, "moved=/proc/self/exe:refuse%fields=rsi+24,rdx")->fields;
	assert_int_equal(fields->at[0].steps, 0);
	assert_int_equal(fields->at[0].displacement[0], 24);
	assert_int_equal(fields->at[1].displacement[0], 0);
	refuse(f, "z=/proc/self/exe:refuse%fields=[[rdi:4]-8]", "%fields= takes");
	refuse(f, "z=/proc/self/exe:refuse%fields=[[[[[rdi]]]]]", "%fields= takes");
	refuse(f, "z=/proc/self/exe:refuse%fields=[[rdi]", "%fields= takes");
	fields = &add(f, "t=usdt:/proc/self/exe:pool:turn%fields=arg1,arg5%text=arg2")->fields;
	assert_int_equal(fields->at[0].argument, 1);
	assert_int_equal(fields->at[1].argument, 5);
	assert_int_equal(fields->at[1].bytes, 8);
	assert_int_equal(fields->at[2].bytes, 0);
	assert_int_equal(fields->at[PROBE_TEXT].argument, 2);
	assert_int_equal(fields->at[PROBE_TEXT].text, 1);
	refuse(f, "z=usdt:/proc/self/exe:pool:turn%fields=rdi", "at a mark");
	refuse(f, "z=usdt:/proc/self/exe:pool:turn%text=arg13", "at a mark");
	refuse(f, "z=/proc/self/exe:refuse(rdi)%text=rsi", "beside values");
	refuse(f, "z=/proc/self/exe:refuse%fields=[rdi:3]", "%fields= takes");
	refuse(f, "z=/proc/self/exe:refuse%text=", "%fields= takes");
	refuse(f, "z=/proc/self/exe:refuse%text=arg2", "%fields= takes");
	refuse(f, "z=/proc/self/exe:refuse%fields=arg1", "%fields= takes");
	assert_true(add(f, "w=/proc/self/exe:refuse%leave")->place_count > 0);
}

int probe_values_one(const int *count, int number);

int __attribute__((noinline)) probe_values_one(const int *count, int number)
{
	__asm__ volatile("" : : "r"(count) : "memory");
	return *count + number;
}

static void test_values(void **state)
{
	struct fixture *f = *state;
	const struct probe_point *point = add(f, "x=/proc/self/exe:probe_values_one(number, rdi->8, count:string)");

	assert_int_equal(point->place_count, 1);
	assert_string_equal(point->values[1], "rdi->8");
	assert_int_equal(point->fields.at[0].offset, 13 * 8);
	assert_int_equal(point->fields.at[0].bytes, 4);
	assert_int_equal(point->fields.at[1].offset, 14 * 8);
	assert_int_equal(point->fields.at[1].steps, 1);
	assert_int_equal(point->fields.at[1].displacement[0], 8);
	assert_true(point->fields.at[2].text);
	refuse(f, "z=/proc/self/exe:probe_values_one(nobody)", "is no parameter");
	refuse(f, "z=/proc/self/exe:probe_values_one()", "write values between");
	refuse(f, "z=/proc/self/exe:probe_values_one%return(number)", "values in () are for");
}

static void test_offsets(void **state)
{
	struct fixture *f = *state;
	uint64_t offset = add(f, "x=/proc/self/exe:probe_values_one")->places[0].offset;
	char text[100];

	snprintf(text, sizeof(text), "y=/proc/self/exe+0x%llx", (unsigned long long)offset);
	assert_int_equal(add(f, text)->places[0].offset, offset);
	refuse(f, "z=/proc/self/exe+0x7fffffff", "no code at offset");
	refuse(f, "z=/proc/self/exe+x", "the form is");
}

static void test_refused(void **state)
{
	struct fixture *f = *state;

	add(f, "/proc/self/exe:refuse");
	refuse(f, "/proc/self/exe:refuse", "there is a probe 'refuse' already");
	refuse(f, "", "the form is");
	refuse(f, ":", "the form is");
	refuse(f, "a=", "the form is");
	refuse(f, "x=/proc/self/exe", "the form is");
	refuse(f, "/proc/self/exe:", "the form is");
	refuse(f, "1x=/proc/self/exe:main", "a name begins with a letter");
	refuse(f, "-=/proc/self/exe:main", "a name begins with a letter");
	refuse(f, "/no/such/file:f", "No such file");
	refuse(f, "no*file:f", "is not the name of a program");
	refuse(f, "no-such-program:f", "neither a program");
	refuse(f, "/proc/self/exe:refus", "but 'refuse'");
	refuse(f, "/proc/self/exe:no_such_function_at_all%return", "has no function 'no_such_function_at_all'");
	refuse(f, "/etc/passwd:f", "ELF");
	refuse(f, "usdt:/proc/self/exe", "the form is");
	refuse(f, "usdt:/proc/self/exe:a:b:c", "the form is");
	refuse(f, "tracepoint:sched", "the form is");
	refuse(f, "0:f", "is not a process");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_functions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_places, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fields, setup, teardown),
		cmocka_unit_test_setup_teardown(test_process, setup, teardown),
		cmocka_unit_test_setup_teardown(test_values, setup, teardown),
		cmocka_unit_test_setup_teardown(test_offsets, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
