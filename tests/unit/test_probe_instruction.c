/* Instructions: their kinds, their memory, and which one ends at a given place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "probe/instruction.h"

static struct instruction decode(const char *code, size_t bytes)
{
	struct instruction instruction;

	assert_true(instruction_decode(code, bytes, 0x1000, &instruction));
	assert_int_equal(instruction.length, bytes);
	return instruction;
}
#define DECODE(code) decode(code, sizeof(code) - 1)

static void kinds(void **state)
{
	(void)state;
	assert_int_equal(DECODE("\x90").kind, INSTRUCTION_plain);
	assert_int_equal(DECODE("\xc3").kind, INSTRUCTION_return);
	assert_int_equal(DECODE("\x0f\x05").kind, INSTRUCTION_system);
	assert_int_equal(DECODE("\xff\xd0").kind, INSTRUCTION_call);
	struct instruction branch = DECODE("\x74\x10"); /* je +16 */
	assert_int_equal(branch.kind, INSTRUCTION_branch);
	assert_true(branch.direct);
	assert_int_equal(branch.target, 0x1012);
	assert_int_equal(branch.flags_read, 1 << 6);
	struct instruction call = DECODE("\xe8\xfb\xff\xff\xff"); /* call to itself */
	assert_int_equal(call.target, 0x1000);
	assert_true(call.stack_written);
	assert_int_equal(call.memory_count, 0);
}

/* Measured with bench/probes.py: of nops only the one of a byte is cheap. */
static void carried_out_by_the_kernel(void **state)
{
	(void)state;
	assert_true(DECODE("\x90").emulated);
	assert_true(DECODE("\x55").emulated);
	assert_true(DECODE("\xe8\x00\x00\x00\x00").emulated);
	assert_false(DECODE("\x0f\x1f\x44\x00\x00").emulated);
	assert_false(DECODE("\x0f\x1f\x00").emulated);
	assert_false(DECODE("\x89\xf8").emulated);
	assert_false(DECODE("\xc3").emulated);
}

static void memory(void **state)
{
	(void)state;
	struct instruction load = DECODE("\x8b\x47\x10"); /* mov eax, [rdi+0x10] */
	assert_int_equal(load.memory_count, 1);
	assert_true(load.memory[0].read && !load.memory[0].written);
	assert_int_equal(load.memory[0].base, REGISTER_rdi);
	assert_int_equal(load.memory[0].displacement, 0x10);
	assert_int_equal(load.memory[0].bytes, 4);
	assert_int_equal(load.written, 1 << REGISTER_rax);
	assert_int_equal(load.read, 1 << REGISTER_rdi);
	struct instruction compare = DECODE("\x83\x3d\x00\x01\x00\x00\x00"); /* cmp dword [rip+0x100], 0 */
	assert_int_equal(compare.memory[0].base, REGISTER_ip);
	assert_true(compare.flags_written & 1 << 6);
	struct instruction address = DECODE("\x48\x8d\x47\x10"); /* lea touches no memory */
	assert_int_equal(address.memory_count, 0);
	struct instruction own = DECODE("\x64\x8b\x04\x25\x28\x00\x00\x00"); /* mov eax, fs:[0x28] */
	assert_int_equal(own.memory[0].segment, SEGMENT_fs);
}

static void text(void **state)
{
	char words[INSTRUCTION_TEXT];

	(void)state;
	instruction_text("\x8b\x47\x10", 3, 0, words);
	assert_string_equal(words, "mov eax, [rdi+0x10]");
	instruction_text("\x0f", 1, 0, words);
	assert_string_equal(words, "(no instruction)");
}

static void malformed(void **state)
{
	struct instruction instruction;

	(void)state;
	assert_false(instruction_decode("\x48", 1, 0, &instruction));
	assert_false(instruction_decode("", 0, 0, &instruction));
	assert_int_equal(instruction_before("", 0), -1);
}

/* Of a load and a store the kind is known, whatever stands before them, even where the
 * bytes before look like the beginning of a longer one. */
static void accesses(void **state)
{
	static const struct { const char *code; size_t bytes; enum instruction_access access; } cases[] = {
		{ "\x48\x89\x43\x10", 4, ACCESS_write },             /* mov [rbx+16], rax */
		{ "\x48\x8b\x43\x10", 4, ACCESS_read },              /* mov rax, [rbx+16] */
		{ "\x48\x8b\x00", 3, ACCESS_read },                  /* mov rax, [rax] */
		{ "\xf0\x48\x0f\xb1\x0f", 5, ACCESS_write },         /* lock cmpxchg [rdi], rcx */
		{ "\x87\x07", 2, ACCESS_write },                     /* xchg [rdi], eax */
		{ "\x83\x3d\x11\x22\x00\x00\x00", 7, ACCESS_read },  /* cmp dword [rip+..], 0 */
		{ "\xc7\x05\x11\x22\x00\x00\x05\x00\x00\x00", 10, ACCESS_write }, /* mov dword [rip+..], 5 */
		{ "\x66\x0f\x6f\x07", 4, ACCESS_read },              /* movdqa xmm0, [rdi] */
		{ "\x58", 1, ACCESS_read },                          /* pop rax */
		{ "\x50", 1, ACCESS_write },                         /* push rax */
	};
	/* push rbp; mov rbp, rsp; sub rsp, 32; xor eax, eax; test edi, edi; call +5; mov ecx, 0x89104589 */
	static const char before[] = "\x55\x48\x89\xe5\x48\x83\xec\x20\x31\xc0\x85\xff\xe8\x05\x00\x00\x00\xb9\x89\x45\x10\x89";
	char code[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t from = 0; from < 4; from++) {
			size_t length = sizeof(before) - 1 - from;

			memcpy(code, before + from, length);
			memcpy(code + length, cases[i].code, cases[i].bytes);
			assert_int_equal(instruction_before(code, length + cases[i].bytes), length);
			assert_int_equal(instruction_access(code, length + cases[i].bytes, 0), cases[i].access);
		}
}

static void repeated(void **state)
{
	static const char code[] = "\x31\xc0\xf3\xaa"; /* xor eax, eax; rep stosb: the trap comes within */

	(void)state;
	assert_int_equal(instruction_access(code, 2, 2), ACCESS_write);
	assert_int_equal(instruction_access(code, 4, 0), ACCESS_write);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds), cmocka_unit_test(carried_out_by_the_kernel), cmocka_unit_test(memory), cmocka_unit_test(text),
		cmocka_unit_test(malformed), cmocka_unit_test(accesses), cmocka_unit_test(repeated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
