/* Calls back between two named calls, in code of this file: found, with their arguments' places. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "probe/call_shape.h"

/* The shapes of real compilers: copies of arguments from kept registers and the stack, a jump and
 * another call on the way; and what is none: no call back, one that stands behind the second call. */
__asm__(".text\n"
	".type shape_unlock,@function\nshape_unlock:\n.cfi_startproc\n ret\n.cfi_endproc\n.size shape_unlock,.-shape_unlock\n"
	".type shape_lock,@function\nshape_lock:\n.cfi_startproc\n ret\n.cfi_endproc\n.size shape_lock,.-shape_lock\n"
	".type shape_other,@function\nshape_other:\n.cfi_startproc\n ret\n.cfi_endproc\n.size shape_other,.-shape_other\n"
	".type shape_inner,@function\nshape_inner:\n.cfi_startproc\n"
	"shape_before:\n call shape_unlock\n"
	" mov 8(%rbp), %rcx\n addl $1, (%rbp)\n mov %r15, %rdi\n mov 0x28(%rsp), %rdx\n mov 0x30(%rsp), %rsi\n mov %rcx, 8(%rsp)\n"
	" call *%r14\n mov %eax, %r14d\n jmp 1f\n nop\n"
	"1: mov %rbx, %rdi\n call shape_other\n"
	"shape_behind:\n call shape_lock\n ret\n"
	".cfi_endproc\n.size shape_inner,.-shape_inner\n"
	".type shape_pool,@function\nshape_pool:\n.cfi_startproc\n"
	"shape_pool_before:\n call shape_unlock\n mov 8(%rbx), %rsi\n mov %rbp, %rdi\n call *(%rbx)\n"
	"shape_pool_behind:\n call shape_lock\n"
	" call shape_unlock\n call shape_lock\n call *%rax\n"
	" call shape_unlock\n mov %r12, 0x10(%rsp)\n mov 0x10(%rsp), %rdi\n call *%rax\n call shape_lock\n ret\n"
	".cfi_endproc\n.size shape_pool,.-shape_pool\n"
	".type shape_last,@function\nshape_last:\n.cfi_startproc\n"
	"shape_last_before:\n call getpid@PLT\n mov %rbx, %rdi\n mov %r13, %r8\n mov 8(%rsp), %r9\n call *%rbp\n"
	"shape_last_directly:\n mov %rbx, %rdi\n"
	"shape_last_behind:\n jmp getppid@PLT\n"
	".cfi_endproc\n.size shape_last,.-shape_last\n"
	".type shape_outer,@function\nshape_outer:\n.cfi_startproc\n call shape_inner\n ret\n.cfi_endproc\n.size shape_outer,.-shape_outer\n");

struct opened {
	struct code code;
	struct arena arena;
	uint64_t unlock, lock;
};

static int set_up(void **state)
{
	static struct opened opened;
	static char path[512];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	struct elf_file elf;

	assert_true(length > 0);
	assert_int_equal(elf_file_open(path, &elf, NULL), 0);
	code_open(&opened.code, elf, path);
	arena_init(&opened.arena);
	assert_int_equal(code_find(&opened.code, "shape_unlock", &opened.unlock, NULL), 0);
	assert_int_equal(code_find(&opened.code, "shape_lock", &opened.lock, NULL), 0);
	*state = &opened;
	return 0;
}

static int tear_down(void **state)
{
	struct opened *o = *state;

	code_close(&o->code);
	arena_done(&o->arena);
	return 0;
}

static uint64_t find(struct opened *o, const char *name)
{
	uint64_t start;

	assert_int_equal(code_find(&o->code, name, &start, NULL), 0);
	return start;
}

static void says(struct opened *o, const struct shape_value *value, bool behind, const char *expected)
{
	const char *text = shape_value_text(&o->arena, value, behind);

	if (expected)
		assert_string_equal(text, expected);
	else
		assert_null(text);
}

static void finds_within_called_functions(void **state)
{
	struct opened *o = *state;
	struct call_shapes shapes;

	call_shapes_find(&o->code, find(o, "shape_outer"), o->unlock, o->lock, &shapes);
	assert_int_equal(shapes.length, 1);
	assert_int_equal(shapes.items[0].before, find(o, "shape_inner"));
	says(o, &shapes.items[0].arguments[0], false, "r15");
	says(o, &shapes.items[0].arguments[1], false, "[rsp+48]");
	says(o, &shapes.items[0].arguments[2], false, "[rsp+40]");
	says(o, &shapes.items[0].target, false, "r14");
	says(o, &shapes.items[0].arguments[0], true, "r15");
	says(o, &shapes.items[0].arguments[1], true, NULL); /* the stack may have changed */
	says(o, &shapes.items[0].target, true, NULL);       /* r14 has */
	vec_done(&shapes);
}

/* What was written since is no longer what lay there at the first call. */
static void does_not_read_what_changed(void **state)
{
	struct opened *o = *state;
	struct call_shapes shapes;

	call_shapes_find(&o->code, find(o, "shape_pool"), o->unlock, o->lock, &shapes);
	assert_int_equal(shapes.length, 2);
	assert_int_equal(shapes.items[0].before, find(o, "shape_pool"));
	says(o, &shapes.items[0].arguments[0], false, "rbp");
	says(o, &shapes.items[0].target, false, "[rbx+0]");
	says(o, &shapes.items[0].object, false, "rbx");
	says(o, &shapes.items[0].object, true, "rbx");
	says(o, &shapes.items[1].arguments[0], false, NULL);
	says(o, &shapes.items[1].target, false, NULL);
	vec_done(&shapes);
}

static void finds_in_all_functions(void **state)
{
	struct opened *o = *state;
	struct call_shapes shapes;

	call_shapes_find(&o->code, 0, o->unlock, o->lock, &shapes);
	assert_int_equal(shapes.length, 3);
	vec_done(&shapes);
	call_shapes_find(&o->code, 0, o->lock, o->lock, &shapes);
	assert_int_equal(shapes.length, 0);
	vec_done(&shapes);
}

/* Functions of other libraries, of which the second is jumped to; no second at all. */
static void finds_by_stubs(void **state)
{
	struct opened *o = *state;
	uint64_t last = find(o, "shape_last"), first = call_shape_function(&o->code, "getpid"), second = call_shape_function(&o->code, "getppid");
	struct call_shapes shapes;

	assert_true(first && second && first != second);
	assert_int_equal(call_shape_function(&o->code, "no_such_function"), 0);
	call_shapes_find(&o->code, 0, first, second, &shapes);
	assert_int_equal(shapes.length, 1);
	assert_int_equal(shapes.items[0].before, last);
	assert_int_equal(shapes.items[0].behind, find(o, "shape_last_behind"));
	says(o, &shapes.items[0].arguments[4], false, "r13");
	says(o, &shapes.items[0].arguments[5], false, "[rsp+8]");
	says(o, &shapes.items[0].arguments[1], false, NULL);
	vec_done(&shapes);
	call_shapes_find(&o->code, last, first, 0, &shapes);
	assert_int_equal(shapes.length, 1);
	assert_int_equal(shapes.items[0].behind, find(o, "shape_last_directly"));
	vec_done(&shapes);
	/* each call by an address in the function */
	call_shapes_find(&o->code, find(o, "shape_pool"), 0, 0, &shapes);
	assert_int_equal(shapes.length, 3);
	says(o, &shapes.items[0].target, false, "[rbx+0]");
	says(o, &shapes.items[0].object, true, "rbx");
	says(o, &shapes.items[1].target, false, "rax");
	vec_done(&shapes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(finds_within_called_functions, set_up, tear_down),
		cmocka_unit_test_setup_teardown(does_not_read_what_changed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(finds_in_all_functions, set_up, tear_down),
		cmocka_unit_test_setup_teardown(finds_by_stubs, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
