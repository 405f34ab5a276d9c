/* Cheaper places near by, in functions of this file: only in the same straight line of code, only where what is
 * asked for stays as it is, and none where something may jump in between. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "probe/near.h"

#define BEGIN(name) ".type " #name ",@function\n" #name ":\n.cfi_startproc\n"
#define END(name) ".cfi_endproc\n.size " #name ",.-" #name "\n"

__asm__(".text\n"
	/* 0: mov (3 bytes) 3: push 4: mov 7: pop 8: ret */
	BEGIN(near_ahead) " mov %rsi, %rcx\n push %rbx\n mov %rdi, %rbx\n pop %rbx\n ret\n" END(near_ahead)
	/* 0: push 1: mov 4: xor 6: pop 7: ret */
	BEGIN(near_back) " push %rbx\n mov %rdi, %rbx\n xor %esi, %esi\n pop %rbx\n ret\n" END(near_back)
	/* 0: mov 3: nop, a loop's head; 4: dec 6: jne 8: ret */
	BEGIN(near_loop) " mov %rdi, %rcx\n1: nop\n dec %ecx\n jne 1b\n ret\n" END(near_loop)
	/* 0: mov to memory 3: nop 4: ret */
	BEGIN(near_writes) " mov %rsi, (%rdi)\n nop\n ret\n" END(near_writes)
	/* 0: test 2: je 4: jmp *%rax 6: mov 9: nop 10: ret */
	BEGIN(near_table) " test %edi, %edi\n je 1f\n jmp *%rax\n1: mov %rdi, %rcx\n nop\n ret\n" END(near_table)
	/* 0: mov 3: call 8: nop 9: ret */
	BEGIN(near_call) " mov %rdi, %rcx\n call near_writes\n mov %rdi, %rcx\n nop\n ret\n" END(near_call));

#define RDI (1u << REGISTER_rdi)
#define RSI (1u << REGISTER_rsi)
#define RSP (1u << REGISTER_rsp)
#define NONE UINT64_MAX

static struct code code;

static int open_self(void **state)
{
	static char path[512];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	struct elf_file elf;

	(void)state;
	if (length <= 0 || elf_file_open(path, &elf, NULL))
		return -1;
	code_open(&code, elf, path);
	return 0;
}

static int close_self(void **state)
{
	(void)state;
	code_close(&code);
	return 0;
}

/* From so many bytes behind the function's beginning: how many behind it the place near by is. */
static uint64_t near(const char *function, uint64_t behind, uint16_t registers, bool memory)
{
	uint64_t start, found;

	assert_int_equal(code_find(&code, function, &start, NULL), 0);
	found = near_find(&code, start + behind, registers, memory);
	return found ? found - start : NONE;
}

static void finds_in_both_directions(void **state)
{
	(void)state;
	assert_int_equal(near("near_ahead", 0, RDI | RSI, true), 3);
	assert_int_equal(near("near_ahead", 4, RDI, true), 3);
	assert_int_equal(near("near_back", 4, RDI, true), 0);
	assert_int_equal(near("near_call", 0, RDI, true), 3);
}

static void keeps_what_is_asked_for(void **state)
{
	(void)state;
	assert_int_equal(near("near_back", 6, RDI, false), 0);
	assert_int_equal(near("near_back", 6, RSI, false), NONE);
	assert_int_equal(near("near_back", 4, RSP, false), NONE);
	assert_int_equal(near("near_writes", 0, RDI, false), 3);
	assert_int_equal(near("near_writes", 0, RDI, true), NONE);
}

static void stays_in_the_straight_line(void **state)
{
	(void)state;
	assert_int_equal(near("near_loop", 0, RDI, false), NONE);
	assert_int_equal(near("near_loop", 4, RDI, false), 6);
	assert_int_equal(near("near_table", 6, RDI, false), NONE);
	assert_int_equal(near("near_call", 8, RDI, false), 11);
	assert_int_equal(near("near_call", 11 + 1, RDI, false), 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(finds_in_both_directions), cmocka_unit_test(keeps_what_is_asked_for),
					    cmocka_unit_test(stays_in_the_straight_line) };

	return cmocka_run_group_tests(tests, open_self, close_self);
}
