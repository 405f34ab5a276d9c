/* See instruction.h. */
#include "probe/instruction.h"

#include <stdio.h>
#include <string.h>

#include <Zydis/Zydis.h>

static const char *const names[REGISTER_count] = { "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
						   "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15" };

const char *register_name(unsigned number)
{
	return number < REGISTER_count ? names[number] : number == REGISTER_ip ? "rip" : "?";
}

static uint8_t number_of(ZydisRegister given)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, given);

	if (given == ZYDIS_REGISTER_RIP)
		return REGISTER_ip;
	if (whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15)
		return (uint8_t)(whole - ZYDIS_REGISTER_RAX);
	return REGISTER_none;
}

static uint8_t segment_of(ZydisRegister given)
{
	return given == ZYDIS_REGISTER_FS ? SEGMENT_fs : given == ZYDIS_REGISTER_GS ? SEGMENT_gs : SEGMENT_none;
}

static uint8_t kind_of(const ZydisDecodedInstruction *decoded)
{
	switch (decoded->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return INSTRUCTION_branch;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return INSTRUCTION_jump;
	case ZYDIS_CATEGORY_CALL:
		return INSTRUCTION_call;
	case ZYDIS_CATEGORY_RET:
		return INSTRUCTION_return;
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_SYSRET:
		return INSTRUCTION_system;
	default:
		return decoded->mnemonic == ZYDIS_MNEMONIC_HLT ? INSTRUCTION_system : INSTRUCTION_plain;
	}
}

/* The condition that the low bits of a branch's code tell. */
static uint8_t condition_of(const ZydisDecodedInstruction *decoded)
{
	bool near = decoded->opcode_map == ZYDIS_OPCODE_MAP_0F && decoded->opcode >= 0x80 && decoded->opcode <= 0x8f;
	bool close = decoded->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && decoded->opcode >= 0x70 && decoded->opcode <= 0x7f;

	return near || close ? decoded->opcode & 15 : 16;
}

static void take_memory(const ZydisDecodedOperand *operand, struct instruction *instruction)
{
	bool read = operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ, written = operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
	struct instruction_memory *memory;
	unsigned bytes = operand->size / 8u;

	/* an address that is only computed, and hints */
	if (operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN || operand->mem.type == ZYDIS_MEMOP_TYPE_MIB || (!read && !written))
		return;
	if (operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && number_of(operand->mem.base) == REGISTER_rsp) {
		instruction->stack_read |= read;
		instruction->stack_written |= written;
		return;
	}
	if (instruction->memory_count == 2)
		return;
	memory = &instruction->memory[instruction->memory_count++];
	*memory = (struct instruction_memory){
		.base = number_of(operand->mem.base), .index = number_of(operand->mem.index), .scale = operand->mem.scale,
		.segment = segment_of(operand->mem.segment), .bytes = bytes > 255 ? 0 : (uint8_t)bytes, .read = read, .written = written,
		.displacement = operand->mem.disp.has_displacement ? operand->mem.disp.value : 0
	};
}

static void take_register(const ZydisDecodedOperand *operand, struct instruction *instruction)
{
	uint8_t number = number_of(operand->reg.value);

	if (number >= REGISTER_count)
		return;
	if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
		instruction->read |= (uint16_t)(1u << number);
	if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		instruction->written |= (uint16_t)(1u << number);
}

static uint16_t register_bit(uint8_t number)
{
	return number < REGISTER_count ? (uint16_t)(1u << number) : 0;
}

static bool decode(const void *code, size_t bytes, ZydisDecodedInstruction *ret_decoded, ZydisDecodedOperand *ret_operands)
{
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, bytes, ret_decoded, ret_operands));
}

bool instruction_decode(const void *code, size_t bytes, uint64_t address, struct instruction *ret_instruction)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	struct instruction instruction = { 0 };
	ZydisDecodedInstruction decoded;

	if (!bytes || !decode(code, bytes, &decoded, operands))
		return false;
	instruction.length = decoded.length;
	instruction.kind = kind_of(&decoded);
	instruction.condition = instruction.kind == INSTRUCTION_branch ? condition_of(&decoded) : 16;
	instruction.mnemonic = (uint16_t)decoded.mnemonic;
	instruction.repeated = decoded.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
	if (decoded.cpu_flags) {
		instruction.flags_read = decoded.cpu_flags->tested;
		instruction.flags_written = decoded.cpu_flags->modified | decoded.cpu_flags->set_0 | decoded.cpu_flags->set_1 |
					    decoded.cpu_flags->undefined;
	}
	for (unsigned i = 0; i < decoded.operand_count; i++) {
		const ZydisDecodedOperand *operand = &operands[i];

		if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY) {
			instruction.read |= register_bit(number_of(operand->mem.base)) | register_bit(number_of(operand->mem.index));
			take_memory(operand, &instruction);
		} else if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER) {
			take_register(operand, &instruction);
		} else if (operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operand->imm.is_relative) {
			instruction.direct = true;
			instruction.target = address + decoded.length + operand->imm.value.u;
		}
	}
	/* as arch/x86/kernel/uprobes.c has it: of nops the one of a byte */
	instruction.emulated = (instruction.direct && (instruction.kind != INSTRUCTION_branch || instruction.condition < 16)) ||
			       (instruction.mnemonic == ZYDIS_MNEMONIC_NOP && decoded.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT) ||
			       (instruction.mnemonic == ZYDIS_MNEMONIC_PUSH && !instruction.memory_count && instruction.read & ~(1u << REGISTER_rsp));
	*ret_instruction = instruction;
	return true;
}

void instruction_text(const void *code, size_t bytes, uint64_t address, char text[INSTRUCTION_TEXT])
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction decoded;
	ZydisFormatter formatter;

	snprintf(text, INSTRUCTION_TEXT, "(no instruction)");
	if (!bytes || !decode(code, bytes, &decoded, operands))
		return;
	ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
	ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_FORCE_RELATIVE_RIPREL, ZYAN_TRUE);
	ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
	ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_PADDING_DISABLED);
	ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_PADDING_DISABLED);
	ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED);
	ZydisFormatterFormatInstruction(&formatter, &decoded, operands, decoded.operand_count_visible, text, INSTRUCTION_TEXT, address, NULL);
}

#define BEFORE_MOST 256 /* more bytes make the vote no surer */

long instruction_before(const void *code, size_t bytes)
{
	const uint8_t *at = (const uint8_t *)code + (bytes > BEFORE_MOST ? bytes - BEFORE_MOST : 0);
	size_t skipped = bytes > BEFORE_MOST ? bytes - BEFORE_MOST : 0;
	uint16_t votes[BEFORE_MOST + 1] = { 0 }, last[BEFORE_MOST + 1];
	long best = -1;

	bytes -= skipped;
	/* from behind: of each byte, the last instruction's begin on the way from it; none leads there: itself */
	for (size_t i = bytes; i-- > 0;) {
		struct instruction instruction;
		size_t next;

		last[i] = BEFORE_MOST;
		if (!instruction_decode(at + i, bytes - i, 0, &instruction))
			continue;
		next = i + instruction.length;
		if (next == bytes)
			last[i] = (uint16_t)i;
		else if (next < bytes)
			last[i] = last[next];
		if (last[i] < BEFORE_MOST)
			votes[last[i]]++;
	}
	for (size_t i = 0; i < bytes; i++)
		if (votes[i] && (best < 0 || votes[i] > votes[best]))
			best = (long)i;
	return best < 0 ? -1 : best + (long)skipped;
}

static enum instruction_access access_of(const struct instruction *instruction)
{
	bool read = false, written = false;

	if (instruction->memory_count == 1) {
		read = instruction->memory[0].read;
		written = instruction->memory[0].written;
	} else if (!instruction->memory_count) {
		read = instruction->stack_read;
		written = instruction->stack_written;
	}
	/* what reads and writes the same place writes it; two places: which one is watched is not known */
	if (written)
		return ACCESS_write;
	return read ? ACCESS_read : ACCESS_unknown;
}

enum instruction_access instruction_access(const void *code, size_t before, size_t after)
{
	struct instruction instruction;
	long at = instruction_before(code, before);

	if (at >= 0 && instruction_decode((const char *)code + at, before - (size_t)at, 0, &instruction) &&
	    (instruction.memory_count || instruction.stack_read || instruction.stack_written))
		return access_of(&instruction);
	if (instruction_decode((const char *)code + before, after, 0, &instruction) && instruction.repeated)
		return access_of(&instruction);
	return ACCESS_unknown;
}
