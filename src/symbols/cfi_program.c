#include "symbols/cfi_program.h"

#include <dwarf.h>

enum { REG_RDI = 5, REG_RBP = 6, REG_RSP = 7, REG_RA = 16, MAX_REMEMBERED = 32 };

uint64_t cfi_pointer(struct bytes *b, uint8_t encoding, const struct cfi_pointers *pointers)
{
	uint64_t place = pointers->address + (uint64_t)(b->at - pointers->data), value;

	if (encoding == DW_EH_PE_omit)
		return 0;
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		value = bytes_u64(b);
		break;
	case DW_EH_PE_uleb128:
		value = bytes_uleb(b);
		break;
	case DW_EH_PE_sleb128:
		value = (uint64_t)bytes_sleb(b);
		break;
	case DW_EH_PE_udata2:
		value = bytes_u16(b);
		break;
	case DW_EH_PE_sdata2:
		value = (uint64_t)(int16_t)bytes_u16(b);
		break;
	case DW_EH_PE_udata4:
		value = bytes_u32(b);
		break;
	case DW_EH_PE_sdata4:
		value = (uint64_t)(int32_t)bytes_u32(b);
		break;
	default:
		b->bad = true;
		return 0;
	}
	switch (encoding & 0x70) {
	case DW_EH_PE_absptr:
		break;
	case DW_EH_PE_pcrel:
		value += place;
		break;
	case DW_EH_PE_textrel:
		value += pointers->text_address;
		break;
	case DW_EH_PE_datarel:
		value += pointers->data_address;
		break;
	case DW_EH_PE_funcrel:
		value += pointers->function;
		break;
	default:
		b->bad = true;
	}
	if (encoding & DW_EH_PE_indirect)
		b->bad = true;
	return value;
}

static struct unwind_rule rule_of_offset(uint8_t kind, int64_t offset)
{
	if (offset < INT32_MIN || offset > INT32_MAX)
		return (struct unwind_rule){ .kind = UNWIND_BAD };
	return (struct unwind_rule){ .kind = kind, .offset = (int)offset };
}

/* A pointer plus a constant, DW_OP_bregN c [plus_uconst c | litN plus]. */
static bool expression_base(struct bytes *e, uint64_t *ret_register, int64_t *ret_offset)
{
	uint8_t op = bytes_u8(e);
	if (op < DW_OP_breg0 || op > DW_OP_breg31)
		return false;
	*ret_register = op - DW_OP_breg0;
	*ret_offset = bytes_sleb(e);
	return !e->bad;
}

static int64_t expression_plus(struct bytes *e)
{
	if (e->at < e->end && *e->at == DW_OP_plus_uconst) {
		e->at++;
		return (int64_t)bytes_uleb(e);
	}
	if (e->end - e->at >= 2 && e->at[0] >= DW_OP_lit0 && e->at[0] <= DW_OP_lit31 && e->at[1] == DW_OP_plus) {
		e->at += 2;
		return e->at[-2] - DW_OP_lit0;
	}
	return 0;
}

/* What linkers write for the procedure linkage table:
 * rsp + 8 + ((rip & 15) >= N) << 3. */
static bool expression_plt(struct bytes e, int *ret_from)
{
	static const uint8_t before[] = { DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and },
			     behind[] = { DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus };
	size_t bytes = (size_t)(e.end - e.at);
	if (bytes != sizeof(before) + 1 + sizeof(behind) || memcmp(e.at, before, sizeof(before)) != 0 ||
	    memcmp(e.at + sizeof(before) + 1, behind, sizeof(behind)) != 0)
		return false;
	uint8_t lit = e.at[sizeof(before)];
	if (lit < DW_OP_lit0 || lit > DW_OP_lit0 + 15)
		return false;
	*ret_from = lit - DW_OP_lit0;
	return true;
}

static struct unwind_rule rule_of_expression(const struct cfi_state *state, bool signal_frame)
{
	struct unwind_rule bad = { .kind = UNWIND_BAD };
	struct bytes e = state->cfa_expression;
	uint64_t reg;
	int64_t offset, plus;
	int plt;

	if (expression_plt(e, &plt))
		return (struct unwind_rule){ .kind = UNWIND_PLT, .offset = plt };
	if (!expression_base(&e, &reg, &offset))
		return bad;
	offset += expression_plus(&e);
	if (e.at == e.end)
		return reg == REG_RSP ? rule_of_offset(UNWIND_RSP, offset) :
		       reg == REG_RBP ? rule_of_offset(UNWIND_RBP, offset) :
					(struct unwind_rule){ .kind = UNWIND_OTHER_REG };
	if (bytes_u8(&e) != DW_OP_deref)
		return bad;
	plus = expression_plus(&e);
	if (e.at != e.end || e.bad || offset < INT16_MIN || offset > INT16_MAX || plus < INT16_MIN || plus > INT16_MAX)
		return bad;
	if (signal_frame && reg == REG_RSP && offset == UNWIND_SIGNAL_RSP && plus == 0)
		return (struct unwind_rule){ .kind = UNWIND_SIGNAL };
	if (reg != REG_RSP && reg != REG_RBP)
		return (struct unwind_rule){ .kind = UNWIND_OTHER_REG };
	return (struct unwind_rule){ .kind = reg == REG_RSP ? UNWIND_DEREF_RSP : UNWIND_DEREF_RBP,
				     .deref_offset = (short)offset, .plus = (short)plus };
}

static struct unwind_rule rule_of(const struct cfi_state *state, bool signal_frame)
{
	struct unwind_rule rule;

	if (state->ra.how == CFI_UNDEFINED)
		return (struct unwind_rule){ .kind = UNWIND_END };
	if (state->cfa_register == CFI_CFA_EXPRESSION)
		rule = rule_of_expression(state, signal_frame);
	else if (state->cfa_register == REG_RSP)
		rule = rule_of_offset(UNWIND_RSP, state->cfa_offset);
	else if (state->cfa_register == REG_RBP)
		rule = rule_of_offset(UNWIND_RBP, state->cfa_offset);
	else
		rule = (struct unwind_rule){ .kind = UNWIND_OTHER_REG };
	if (rule.kind == UNWIND_SIGNAL || rule.kind == UNWIND_BAD || rule.kind == UNWIND_OTHER_REG)
		return rule;
	if (state->ra.how == CFI_REGISTER && state->ra.offset == REG_RDI && rule.kind == UNWIND_RSP &&
	    state->rbp.how == CFI_SAME)
		return (struct unwind_rule){ .kind = UNWIND_RA_RDI, .offset = rule.offset };
	if (state->ra.how != CFI_OFFSET || state->ra.offset != -8)
		return (struct unwind_rule){ .kind = UNWIND_BAD };

	struct bytes e = state->rbp.expression;
	uint64_t reg;
	int64_t offset = state->rbp.offset;
	switch (state->rbp.how) {
	case CFI_SAME:
		rule.rbp = UNWIND_RBP_SAME;
		return rule;
	case CFI_OFFSET:
		rule.rbp = UNWIND_RBP_AT_CFA;
		break;
	case CFI_EXPRESSION:
		rule.rbp = UNWIND_RBP_LOST;
		if (expression_base(&e, &reg, &offset)) {
			offset += expression_plus(&e);
			if (e.at == e.end && reg == REG_RBP)
				rule.rbp = UNWIND_RBP_AT_RBP;
			else if (e.at == e.end && reg == REG_RSP)
				rule.rbp = UNWIND_RBP_AT_RSP;
		}
		break;
	case CFI_UNDEFINED:
	case CFI_REGISTER:
	case CFI_OTHER:
		rule.rbp = UNWIND_RBP_LOST;
		return rule;
	}
	if (offset < INT16_MIN || offset > INT16_MAX || (offset & 7))
		rule.rbp = UNWIND_RBP_LOST;
	else if (rule.rbp != UNWIND_RBP_LOST)
		rule.rbp_offset = (short)offset;
	return rule;
}

static void rows_add(struct cfi *rows, uint64_t first, uint64_t offset, const struct cfi_state *state, bool signal_frame)
{
	struct cfi_row row = { .offset = (uint32_t)offset, .rule = rule_of(state, signal_frame) };
	if (rows->rows.length > first) {
		struct cfi_row *last = &rows->rows.items[rows->rows.length - 1];
		if (last->offset == row.offset) {
			last->rule = row.rule;
			return;
		}
		if (memcmp(&last->rule, &row.rule, sizeof(row.rule)) == 0)
			return;
	}
	vec_push(&rows->rows, row);
}

static struct bytes bytes_block(struct bytes *b)
{
	uint64_t length = bytes_uleb(b);
	struct bytes block = { .at = b->at, .end = b->at };
	bytes_skip(b, length);
	if (!b->bad)
		block.end = b->at;
	return block;
}

static void register_set(struct cfi_state *state, uint64_t reg, struct cfi_register how)
{
	if (reg == REG_RBP)
		state->rbp = how;
	else if (reg == REG_RA)
		state->ra = how;
}

static void register_restore(struct cfi_state *state, const struct cfi_state *initial, uint64_t reg)
{
	if (reg == REG_RBP)
		state->rbp = initial->rbp;
	else if (reg == REG_RA)
		state->ra = initial->ra;
}

/* Instructions that say where a register is; false when it is not one of them. */
static bool run_register(uint8_t op, struct bytes *b, const struct cfi_cie *cie, struct cfi_state *state)
{
	struct cfi_register how = { .how = CFI_OFFSET };
	uint64_t reg;

	if ((op & 0xc0) == DW_CFA_offset) {
		how.offset = (int64_t)(bytes_uleb(b) * (uint64_t)cie->data_align);
		register_set(state, op & 0x3f, how);
		return true;
	}
	if ((op & 0xc0) == DW_CFA_restore) {
		register_restore(state, &cie->initial, op & 0x3f);
		return true;
	}
	switch (op) {
	case DW_CFA_offset_extended:
		reg = bytes_uleb(b);
		how.offset = (int64_t)(bytes_uleb(b) * (uint64_t)cie->data_align);
		break;
	case DW_CFA_offset_extended_sf:
		reg = bytes_uleb(b);
		how.offset = (int64_t)((uint64_t)bytes_sleb(b) * (uint64_t)cie->data_align);
		break;
	case DW_CFA_GNU_negative_offset_extended:
		reg = bytes_uleb(b);
		how.offset = (int64_t)(0 - bytes_uleb(b) * (uint64_t)cie->data_align);
		break;
	case DW_CFA_restore_extended:
		register_restore(state, &cie->initial, bytes_uleb(b));
		return true;
	case DW_CFA_undefined:
		reg = bytes_uleb(b);
		how.how = CFI_UNDEFINED;
		break;
	case DW_CFA_same_value:
		reg = bytes_uleb(b);
		how.how = CFI_SAME;
		break;
	case DW_CFA_register:
	case DW_CFA_val_offset:
		reg = bytes_uleb(b);
		how.offset = (int64_t)bytes_uleb(b);
		how.how = op == DW_CFA_register ? CFI_REGISTER : CFI_OTHER;
		break;
	case DW_CFA_val_offset_sf:
		reg = bytes_uleb(b);
		bytes_sleb(b);
		how.how = CFI_OTHER;
		break;
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		reg = bytes_uleb(b);
		how.how = op == DW_CFA_expression ? CFI_EXPRESSION : CFI_OTHER;
		how.expression = bytes_block(b);
		break;
	default:
		return false;
	}
	register_set(state, reg, how);
	return true;
}

/* Instructions that say where the CFA is. */
static bool run_cfa(uint8_t op, struct bytes *b, const struct cfi_cie *cie, struct cfi_state *state)
{
	switch (op) {
	case DW_CFA_def_cfa:
		state->cfa_register = bytes_uleb(b);
		state->cfa_offset = (int64_t)bytes_uleb(b);
		return true;
	case DW_CFA_def_cfa_sf:
		state->cfa_register = bytes_uleb(b);
		state->cfa_offset = (int64_t)((uint64_t)bytes_sleb(b) * (uint64_t)cie->data_align);
		return true;
	case DW_CFA_def_cfa_register:
		state->cfa_register = bytes_uleb(b);
		return true;
	case DW_CFA_def_cfa_offset:
		state->cfa_offset = (int64_t)bytes_uleb(b);
		return true;
	case DW_CFA_def_cfa_offset_sf:
		state->cfa_offset = (int64_t)((uint64_t)bytes_sleb(b) * (uint64_t)cie->data_align);
		return true;
	case DW_CFA_def_cfa_expression:
		state->cfa_register = CFI_CFA_EXPRESSION;
		state->cfa_expression = bytes_block(b);
		return true;
	case DW_CFA_GNU_args_size:
		bytes_uleb(b);
		return true;
	case DW_CFA_nop:
		return true;
	}
	return false;
}

bool cfi_run(struct bytes b, const struct cfi_cie *cie, const struct cfi_pointers *pointers, struct cfi_state *state,
	     uint64_t length, struct cfi *rows)
{
	struct cfi_state remembered[MAX_REMEMBERED];
	unsigned depth = 0;
	uint64_t first = rows ? rows->rows.length : 0, offset = 0;

	while (b.at < b.end && !b.bad) {
		uint8_t op = bytes_u8(&b);
		uint64_t to = offset;
		if ((op & 0xc0) == DW_CFA_advance_loc)
			to += (op & 0x3f) * cie->code_align;
		else if (op == DW_CFA_advance_loc1)
			to += bytes_u8(&b) * cie->code_align;
		else if (op == DW_CFA_advance_loc2)
			to += bytes_u16(&b) * cie->code_align;
		else if (op == DW_CFA_advance_loc4)
			to += bytes_u32(&b) * cie->code_align;
		else if (op == DW_CFA_set_loc)
			to = cfi_pointer(&b, cie->pointer_encoding, pointers) - pointers->function;
		else if (op == DW_CFA_remember_state) {
			if (depth == MAX_REMEMBERED)
				return false;
			remembered[depth++] = *state;
		} else if (op == DW_CFA_restore_state) {
			if (depth == 0)
				return false;
			*state = remembered[--depth];
		} else if (!run_register(op, &b, cie, state) && !run_cfa(op, &b, cie, state)) {
			return false;
		}
		if (b.bad || to < offset)
			return false;
		if (to > offset && rows) {
			rows_add(rows, first, offset, state, cie->signal_frame);
			if (to >= length)
				return true;
		}
		offset = to;
	}
	if (rows && !b.bad)
		rows_add(rows, first, offset, state, cie->signal_frame);
	return !b.bad;
}
