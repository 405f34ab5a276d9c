/* One instruction of x86-64 code, as far as watchpoints, instrumentation, stepping
 * and the comparison of two runs ask: how long it is, where it leads, what memory it
 * reads or writes, which condition flags it sets or asks.
 *
 * Zydis decodes: it names every operand's direction, hidden ones and flags too,
 * and allocates nothing. (Capstone, the other packaged decoder, has no directions
 * for a good part of the vector instructions and allocates for each instruction.) */
#ifndef PROBE_INSTRUCTION_H
#define PROBE_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INSTRUCTION_MOST 15        /* bytes of one */
#define INSTRUCTION_TEXT 128       /* room for one in words */

enum instruction_kind {
	INSTRUCTION_plain,
	INSTRUCTION_branch,        /* conditional */
	INSTRUCTION_jump,
	INSTRUCTION_call,
	INSTRUCTION_return,
	INSTRUCTION_system         /* system call, interrupt, halt */
};

/* Registers as they are numbered in code: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15. */
enum {
	REGISTER_rax, REGISTER_rcx, REGISTER_rdx, REGISTER_rbx, REGISTER_rsp, REGISTER_rbp, REGISTER_rsi, REGISTER_rdi,
	REGISTER_count = 16, REGISTER_ip = 16, REGISTER_none = 255
};
enum { SEGMENT_none, SEGMENT_fs, SEGMENT_gs };

struct instruction_memory {
	uint8_t base, index;       /* REGISTER_ */
	uint8_t scale;             /* 0, 1, 2, 4, 8 */
	uint8_t segment;           /* SEGMENT_ */
	uint8_t bytes;             /* 0: more than 255 */
	bool read, written;
	int64_t displacement;
};

struct instruction {
	uint8_t length;
	uint8_t kind;              /* enum instruction_kind */
	uint8_t condition;         /* of conditional branches, as in their code, 0 to 15; 16: a counting one */
	bool repeated;             /* a string instruction with a rep prefix */
	bool emulated;             /* at a uprobe the kernel carries it out itself, without a single-step */
	bool direct;               /* of branches, jumps and calls: `target` is known */
	uint64_t target;
	uint32_t flags_read, flags_written; /* condition flags, a bit each as in rflags */
	uint16_t mnemonic;
	uint16_t written;          /* general registers that it changes, a bit each */
	uint16_t read;             /* ... and asks, those of addresses too */
	uint8_t memory_count;      /* operands in memory, the stack's hidden ones not counted */
	struct instruction_memory memory[2];
	bool stack_read, stack_written;
};

/* Decodes what lies at `address`; false when the bytes are no whole instruction. */
bool instruction_decode(const void *code, size_t bytes, uint64_t address, struct instruction *ret_instruction);
/* In words, Intel's order: "mov eax, [rdi+0x10]". */
void instruction_text(const void *code, size_t bytes, uint64_t address, char text[INSTRUCTION_TEXT]);
/* Where the instruction begins that ends with the last of these bytes, whose first
 * need not be a beginning: most ways into the bytes meet on the true instructions
 * soon. Its place in the bytes, or -1. */
long instruction_before(const void *code, size_t bytes);

/* What an instruction did to watched memory. */
enum instruction_access { ACCESS_unknown, ACCESS_read, ACCESS_write };
/* Of the thread that was stopped behind it: `code` holds `before` bytes that end
 * where the thread goes on, and `after` bytes from there on (a repeated string
 * instruction is not over yet). */
enum instruction_access instruction_access(const void *code, size_t before, size_t after);

/* "rax"; "?" of none. */
const char *register_name(unsigned number);

#endif
