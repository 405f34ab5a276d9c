/* Where functions of this file are left: returns and calls at their end, not the parts of them that
 * lie elsewhere; and none of one that jumps anywhere. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "probe/leaves.h"

__asm__(".text\n"
	".type leaves_other,@function\nleaves_other:\n.cfi_startproc\n ret\n.cfi_endproc\n.size leaves_other,.-leaves_other\n"
	/* begins in the midst of the frame of the one below, and goes back there */
	".type leaves_cold,@function\nleaves_cold:\n.cfi_startproc\n.cfi_def_cfa_offset 16\n"
	" nop\n test %eax, %eax\n jne leaves_back\n pop %rbx\n.cfi_def_cfa_offset 8\n"
	".globl leaves_cold_end\nleaves_cold_end:\n ret\n.cfi_endproc\n.size leaves_cold,.-leaves_cold\n"
	".type leaves_many,@function\nleaves_many:\n.cfi_startproc\n"
	" test %edi, %edi\n je 1f\n push %rbx\n.cfi_def_cfa_offset 16\n jmp leaves_cold\n"
	"leaves_back:\n pop %rbx\n.cfi_def_cfa_offset 8\n"
	".globl leaves_first\nleaves_first:\n ret\n"
	"1: cmp $3, %edi\n jne 2f\n"
	".globl leaves_second\nleaves_second:\n jmp leaves_other\n"
	"2: sub $8, %rsp\n.cfi_def_cfa_offset 16\n cmp $5, %edi\n jne 3f\n jmp *%rax\n" /* a switch's */
	"3: add $8, %rsp\n.cfi_def_cfa_offset 8\n"
	".globl leaves_third\nleaves_third:\n ret\n.cfi_endproc\n.size leaves_many,.-leaves_many\n"
	".type leaves_anywhere,@function\nleaves_anywhere:\n.cfi_startproc\n test %edi, %edi\n je 1f\n jmp *%rax\n1: ret\n"
	".cfi_endproc\n.size leaves_anywhere,.-leaves_anywhere\n");

extern const char leaves_cold_end[], leaves_first[], leaves_second[], leaves_third[];

static void open_self(struct code *code)
{
	static char path[512];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	struct elf_file elf;

	assert_true(length > 0);
	assert_int_equal(elf_file_open(path, &elf, NULL), 0);
	code_open(code, elf, path);
}

static void finds_all_ways_out(void **state)
{
	uint64_t leaves[LEAVES_MOST], start, first;
	struct code code;

	(void)state;
	open_self(&code);
	assert_int_equal(code_find(&code, "leaves_many", &start, NULL), 0);
	assert_int_equal(code_find(&code, "leaves_first", &first, NULL), 0);
	assert_int_equal(leaves_find(&code, start, leaves), 4);
	/* the file may lie anywhere: distances */
	assert_int_equal(leaves[0] - first, (uint64_t)(leaves_cold_end - leaves_first));
	assert_int_equal(leaves[1], first);
	assert_int_equal(leaves[2] - first, (uint64_t)(leaves_second - leaves_first));
	assert_int_equal(leaves[3] - first, (uint64_t)(leaves_third - leaves_first));
	code_close(&code);
}

static void is_sure_or_says_nothing(void **state)
{
	uint64_t leaves[LEAVES_MOST], start;
	struct code code;

	(void)state;
	open_self(&code);
	assert_int_equal(code_find(&code, "leaves_anywhere", &start, NULL), 0);
	assert_int_equal(leaves_find(&code, start, leaves), 0);
	assert_int_equal(leaves_find(&code, 1, leaves), 0);
	code_close(&code);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(finds_all_ways_out), cmocka_unit_test(is_sure_or_says_nothing) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
