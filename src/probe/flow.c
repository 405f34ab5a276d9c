/* See flow.h. */
#include "probe/flow.h"

#include <Zydis/Zydis.h>

static bool is_copy(ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_MOV: case ZYDIS_MNEMONIC_MOVZX: case ZYDIS_MNEMONIC_PUSH: case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_MOVSB: case ZYDIS_MNEMONIC_MOVSW: case ZYDIS_MNEMONIC_MOVSQ:
	case ZYDIS_MNEMONIC_STOSB: case ZYDIS_MNEMONIC_STOSW: case ZYDIS_MNEMONIC_STOSD: case ZYDIS_MNEMONIC_STOSQ:
	case ZYDIS_MNEMONIC_MOVD: case ZYDIS_MNEMONIC_MOVQ: case ZYDIS_MNEMONIC_MOVSS: case ZYDIS_MNEMONIC_MOVSD:
	case ZYDIS_MNEMONIC_MOVDQA: case ZYDIS_MNEMONIC_MOVDQU: case ZYDIS_MNEMONIC_MOVAPS: case ZYDIS_MNEMONIC_MOVAPD:
	case ZYDIS_MNEMONIC_MOVUPS: case ZYDIS_MNEMONIC_MOVUPD: case ZYDIS_MNEMONIC_LDDQU:
	case ZYDIS_MNEMONIC_VMOVD: case ZYDIS_MNEMONIC_VMOVQ: case ZYDIS_MNEMONIC_VMOVDQA: case ZYDIS_MNEMONIC_VMOVDQU:
	case ZYDIS_MNEMONIC_VMOVAPS: case ZYDIS_MNEMONIC_VMOVAPD: case ZYDIS_MNEMONIC_VMOVUPS: case ZYDIS_MNEMONIC_VMOVUPD:
		return true;
	default:
		return false;
	}
}

static bool is_extension(ZydisMnemonic mnemonic)
{
	return mnemonic == ZYDIS_MNEMONIC_MOVSX || mnemonic == ZYDIS_MNEMONIC_MOVSXD;
}

static bool is_bytewise(ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_AND: case ZYDIS_MNEMONIC_OR: case ZYDIS_MNEMONIC_XOR: case ZYDIS_MNEMONIC_NOT: case ZYDIS_MNEMONIC_XCHG:
	case ZYDIS_MNEMONIC_PAND: case ZYDIS_MNEMONIC_POR: case ZYDIS_MNEMONIC_PXOR:
		return true;
	default:
		return false;
	}
}

/* With the same register twice the result does not depend on it. */
static bool cancels(ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_XOR: case ZYDIS_MNEMONIC_SUB: case ZYDIS_MNEMONIC_PXOR: case ZYDIS_MNEMONIC_XORPS: case ZYDIS_MNEMONIC_XORPD:
	case ZYDIS_MNEMONIC_VPXOR: case ZYDIS_MNEMONIC_VXORPS: case ZYDIS_MNEMONIC_VXORPD:
	case ZYDIS_MNEMONIC_PCMPEQB: case ZYDIS_MNEMONIC_PCMPEQW: case ZYDIS_MNEMONIC_PCMPEQD:
		return true;
	default:
		return false;
	}
}

static uint8_t general(ZydisRegister given)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, given);

	if (given == ZYDIS_REGISTER_RIP)
		return REGISTER_ip;
	return whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15 ? (uint8_t)(whole - ZYDIS_REGISTER_RAX) : REGISTER_none;
}

/* Of a register whose values are followed. */
static bool take_register(const ZydisDecodedOperand *operand, struct flow_operand *ret_taken)
{
	ZydisRegister given = operand->reg.value, whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, given);

	if (given == ZYDIS_REGISTER_RFLAGS || given == ZYDIS_REGISTER_EFLAGS || given == ZYDIS_REGISTER_FLAGS)
		ret_taken->place = FLOW_FLAGS;
	else if (whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15)
		ret_taken->place = (uint8_t)(whole - ZYDIS_REGISTER_RAX);
	else if (whole >= ZYDIS_REGISTER_ZMM0 && whole <= ZYDIS_REGISTER_ZMM31)
		ret_taken->place = (uint8_t)(FLOW_VECTOR + (whole - ZYDIS_REGISTER_ZMM0));
	else
		return false;
	ret_taken->kind = FLOW_register;
	ret_taken->bytes = (uint16_t)(ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, given) / 8u);
	ret_taken->first = given >= ZYDIS_REGISTER_AH && given <= ZYDIS_REGISTER_BH;
	return true;
}

static void take_memory(const ZydisDecodedOperand *operand, struct flow_operand *ret_taken)
{
	ret_taken->kind = operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN || operand->mem.type == ZYDIS_MEMOP_TYPE_MIB ? FLOW_address : FLOW_memory;
	ret_taken->bytes = operand->size / 8u;
	ret_taken->base = general(operand->mem.base);
	ret_taken->index = general(operand->mem.index);
	ret_taken->scale = operand->mem.scale;
	ret_taken->segment = operand->mem.segment == ZYDIS_REGISTER_FS ? SEGMENT_fs : operand->mem.segment == ZYDIS_REGISTER_GS ? SEGMENT_gs : 0;
	ret_taken->displacement = operand->mem.disp.has_displacement ? operand->mem.disp.value : 0;
	if (operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && ret_taken->base == REGISTER_rsp) {
		ret_taken->pushed = ret_taken->written;
		ret_taken->popped = ret_taken->read;
	}
}

static uint8_t width_of(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER && general(operand->reg.value) < REGISTER_count ? (uint8_t)(operand->size / 8u) : 0;
}

static struct flow_value stack_moves(int64_t by)
{
	return (struct flow_value){ .to = REGISTER_rsp, .bytes = 8, .left = REGISTER_rsp, .right = REGISTER_none, .constant = by };
}

/* Of "operation register, register or constant". */
static bool take_operation(ZydisMnemonic mnemonic, const ZydisDecodedOperand *second, struct flow_value *value)
{
	bool constant = second->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	if (!constant && width_of(second) != value->bytes)
		return false;
	value->right = constant ? REGISTER_none : general(second->reg.value);
	value->constant = constant ? second->imm.value.s : 0;
	value->scale = 1;
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		value->left = REGISTER_none;
		return true;
	case ZYDIS_MNEMONIC_ADD:
		return true;
	case ZYDIS_MNEMONIC_SUB:
		value->subtracted = true;
		value->constant = -value->constant;
		return true;
	case ZYDIS_MNEMONIC_AND:
		value->operation = FLOW_and;
		return true;
	case ZYDIS_MNEMONIC_OR:
		value->operation = FLOW_or;
		return true;
	case ZYDIS_MNEMONIC_XOR:
		value->operation = FLOW_xor;
		return true;
	case ZYDIS_MNEMONIC_SHL:
		value->operation = FLOW_left;
		return constant;
	case ZYDIS_MNEMONIC_SHR:
		value->operation = FLOW_right;
		return constant;
	default:
		return false;
	}
}

static bool take_address(const ZydisDecodedOperand *second, struct flow_value *value)
{
	value->left = general(second->mem.base);
	value->right = general(second->mem.index);
	value->scale = second->mem.scale;
	value->constant = second->mem.disp.has_displacement ? second->mem.disp.value : 0;
	return true;
}

static struct flow_value value_of(const ZydisDecodedInstruction *decoded, const ZydisDecodedOperand *operands)
{
	struct flow_value none = { .to = REGISTER_none }, value = none;
	unsigned count = decoded->operand_count_visible;
	bool simple = false;

	if (decoded->mnemonic == ZYDIS_MNEMONIC_PUSH || decoded->mnemonic == ZYDIS_MNEMONIC_CALL)
		return stack_moves(-8);
	if (decoded->mnemonic == ZYDIS_MNEMONIC_RET && !count)
		return stack_moves(8);
	if (decoded->mnemonic == ZYDIS_MNEMONIC_POP && width_of(&operands[0]) && general(operands[0].reg.value) != REGISTER_rsp)
		return stack_moves(8);
	if (!count || width_of(&operands[0]) < 4)
		return none;
	value = (struct flow_value){ .to = general(operands[0].reg.value), .bytes = width_of(&operands[0]), .left = general(operands[0].reg.value),
				     .right = REGISTER_none };
	if (decoded->mnemonic == ZYDIS_MNEMONIC_INC || decoded->mnemonic == ZYDIS_MNEMONIC_DEC) {
		value.constant = decoded->mnemonic == ZYDIS_MNEMONIC_INC ? 1 : -1;
		simple = true;
	} else if (count == 2) {
		simple = decoded->mnemonic == ZYDIS_MNEMONIC_LEA ? take_address(&operands[1], &value) :
								    take_operation(decoded->mnemonic, &operands[1], &value);
	}
	return simple ? value : none;
}

static bool same_register(const ZydisDecodedOperand *a, const ZydisDecodedOperand *b)
{
	return a->type == ZYDIS_OPERAND_TYPE_REGISTER && b->type == ZYDIS_OPERAND_TYPE_REGISTER && a->reg.value == b->reg.value;
}

static enum flow_how how_of(const ZydisDecodedInstruction *decoded, const ZydisDecodedOperand *operands)
{
	unsigned count = decoded->operand_count_visible;

	if (count >= 2 && cancels(decoded->mnemonic) && same_register(&operands[count - 2], &operands[count - 1]))
		return FLOW_cleared;
	return is_copy(decoded->mnemonic) ? FLOW_copied : is_extension(decoded->mnemonic) ? FLOW_extended :
	       is_bytewise(decoded->mnemonic) ? FLOW_bytewise : FLOW_mixed;
}

/* Its hidden operands overlap: rsp becomes rbp + 8, and rbp what rbp led to. */
static const struct flow leave = {
	.how = FLOW_copied, .count = 2,
	.value = { .to = REGISTER_rsp, .bytes = 8, .left = REGISTER_rbp, .right = REGISTER_none, .constant = 8 },
	.operands = {
		{ .kind = FLOW_memory, .base = REGISTER_rbp, .index = REGISTER_none, .bytes = 8, .read = true },
		{ .kind = FLOW_register, .place = REGISTER_rbp, .base = REGISTER_none, .index = REGISTER_none, .bytes = 8, .written = true },
	},
};

bool flow_decode(const void *code, size_t bytes, struct flow *ret_flow)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	struct flow flow = { 0 };
	ZydisDecodedInstruction decoded;
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!bytes || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, bytes, &decoded, operands)))
		return false;
	if (decoded.mnemonic == ZYDIS_MNEMONIC_LEAVE) {
		*ret_flow = leave;
		return true;
	}
	flow.how = (uint8_t)how_of(&decoded, operands);
	flow.repeated = decoded.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
	for (unsigned i = 0; i < decoded.operand_count && flow.count < FLOW_OPERANDS; i++) {
		const ZydisDecodedOperand *operand = &operands[i];
		struct flow_operand taken = {
			.base = REGISTER_none, .index = REGISTER_none,
			.read = operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ,
			.written = operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE,
			.kept = operand->actions & ZYDIS_OPERAND_ACTION_CONDWRITE,
		};

		if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY)
			take_memory(operand, &taken);
		else if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER || !take_register(operand, &taken))
			continue;
		flow.operands[flow.count++] = taken;
	}
	flow.value = value_of(&decoded, operands);
	*ret_flow = flow;
	return true;
}
