/* See probe_value.h. */
#include "probe/probe_value.h"

#include <ctype.h>
#include <dwarf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "symbols/unwind_table.h"

#define WORD 8u
#define LOCAL_BYTES 16u   /* structures up to this size may be passed in registers */

struct finding {
	struct arena *arena;
	struct variable_file *file;
	struct code *code;
	uint64_t address;
	bool entry;
	const char *text;
	struct variable type;      /* of what has been reached */
	bool in_memory;            /* ... else it is the value itself */
	int64_t behind;            /* of the last read's result, or of the register */
	struct probe_value value;
};

static const uint8_t argument_registers[] = { REGISTER_rdi, REGISTER_rsi, REGISTER_rdx, REGISTER_rcx, 8, 9 };

/* ---- where a name is ---- */

static bool type_strip(Dwarf_Die *type)
{
	Dwarf_Attribute attribute;

	for (int i = 0; i < 32; i++) {
		int tag = dwarf_tag(type);

		if (tag != DW_TAG_typedef && tag != DW_TAG_const_type && tag != DW_TAG_volatile_type && tag != DW_TAG_atomic_type &&
		    tag != DW_TAG_restrict_type)
			return tag != DW_TAG_invalid;
		if (!dwarf_formref_die(dwarf_attr_integrate(type, DW_AT_type, &attribute), type))
			return false;
	}
	return false;
}

static bool type_of(Dwarf_Die *die, Dwarf_Die *ret_type)
{
	Dwarf_Attribute attribute;

	return dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), ret_type) != NULL;
}

static bool is_aggregate(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type || tag == DW_TAG_array_type;
}

/* How many registers of integers a parameter of the type takes; -1: not known. */
static int registers_of(Dwarf_Die type)
{
	Dwarf_Attribute attribute;
	Dwarf_Word encoding = 0, bytes = 0;

	if (!type_strip(&type))
		return -1;
	if (dwarf_aggregate_size(&type, &bytes))
		bytes = WORD;
	if (is_aggregate(dwarf_tag(&type)))
		return bytes > LOCAL_BYTES ? 0 : -1;
	if (dwarf_tag(&type) == DW_TAG_base_type && dwarf_attr(&type, DW_AT_encoding, &attribute) && !dwarf_formudata(&attribute, &encoding) &&
	    (encoding == DW_ATE_float || encoding == DW_ATE_complex_float || encoding == DW_ATE_decimal_float))
		return 0;
	return bytes > WORD ? (int)(bytes / WORD) : 1;
}

/* A large structure is returned to where a hidden first argument says. */
static int hidden_arguments(Dwarf_Die *function)
{
	Dwarf_Die type;
	Dwarf_Word bytes;

	if (!type_of(function, &type) || !type_strip(&type) || !is_aggregate(dwarf_tag(&type)) || dwarf_aggregate_size(&type, &bytes))
		return 0;
	return bytes > LOCAL_BYTES;
}

static int take_parameter(struct finding *f, Dwarf_Die *function, const char *name, struct err *err)
{
	int used = hidden_arguments(function);
	Dwarf_Die die, type;

	if (!dwarf_child(function, &die))
		do {
			const char *own = dwarf_diename(&die);
			int needs;

			if (dwarf_tag(&die) != DW_TAG_formal_parameter)
				continue;
			if (!type_of(&die, &type))
				return -ENOENT;
			needs = registers_of(type);
			if (own && !strcmp(own, name)) {
				if (needs != 1)
					return err_set(err, -ENOTSUP, "the parameter '%s' is passed in no register of its own: probe an instruction behind "
						       "it (FUNCTION+N), or name registers", name);
				if (used >= (int)sizeof(argument_registers))
					return err_set(err, -ENOTSUP, "the parameter '%s' is passed on the stack: write rsp->%d", name,
						       8 * (used - (int)sizeof(argument_registers) + 1));
				f->value.base = argument_registers[used];
				f->type.typed = true;
				f->type.type = type;
				return 0;
			}
			if (needs < 0)
				return err_set(err, -ENOTSUP, "where '%s' is passed cannot be told: a structure is passed before it; name registers", name);
			used += needs;
		} while (!dwarf_siblingof(&die, &die));
	return -ENOENT;
}

/* From rsp or rbp to the frame that debug information counts from. */
static bool frame_base(struct finding *f, uint8_t *ret_base, int64_t *ret_behind)
{
	struct unwind_rule rule = f->code->has_unwind ? unwind_table_rule(&f->code->unwind, f->address) : (struct unwind_rule){ 0 };

	*ret_base = rule.kind == UNWIND_RBP ? REGISTER_rbp : REGISTER_rsp;
	*ret_behind = rule.offset;
	return rule.kind == UNWIND_RSP || rule.kind == UNWIND_RBP;
}

/* DWARF numbers rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp. */
static uint8_t register_of(unsigned number)
{
	static const uint8_t first[] = { REGISTER_rax, REGISTER_rdx, REGISTER_rcx, REGISTER_rbx, REGISTER_rsi, REGISTER_rdi, REGISTER_rbp, REGISTER_rsp };

	return number < 8 ? first[number] : number < REGISTER_count ? (uint8_t)number : REGISTER_none;
}

static bool take_place(struct finding *f, Dwarf_Die *function, Dwarf_Die *die)
{
	Dwarf_Attribute attribute, frame;
	Dwarf_Op *ops, *base;
	size_t count, base_count;

	if (!dwarf_attr_integrate(die, DW_AT_location, &attribute) || dwarf_getlocation_addr(&attribute, f->address, &ops, &count, 1) != 1 ||
	    count != 1)
		return false;
	f->in_memory = true;
	if (ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg15) {
		f->value.base = register_of(ops[0].atom - DW_OP_reg0);
		f->in_memory = false;
	} else if (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg15) {
		f->value.base = register_of(ops[0].atom - DW_OP_breg0);
		f->behind = (int64_t)ops[0].number;
	} else if (ops[0].atom == DW_OP_fbreg && function && dwarf_attr_integrate(function, DW_AT_frame_base, &frame) &&
		   dwarf_getlocation_addr(&frame, f->address, &base, &base_count, 1) == 1 && base_count == 1) {
		if (base[0].atom == DW_OP_call_frame_cfa) {
			if (!frame_base(f, &f->value.base, &f->behind))
				return false;
		} else if (base[0].atom >= DW_OP_reg0 && base[0].atom <= DW_OP_reg15) {
			f->value.base = register_of(base[0].atom - DW_OP_reg0);
		} else {
			return false;
		}
		f->behind += (int64_t)ops[0].number;
	} else {
		return false;
	}
	return true;
}

static int take_local(struct finding *f, Dwarf_Die *scopes, int count, Dwarf_Die *function, const char *name, struct err *err)
{
	for (int i = 0; i < count; i++) {
		Dwarf_Die die, type;

		if (dwarf_child(&scopes[i], &die))
			continue;
		do {
			Dwarf_Attribute attribute;
			const char *own = dwarf_formstring(dwarf_attr_integrate(&die, DW_AT_name, &attribute));
			int tag = dwarf_tag(&die);

			if ((tag != DW_TAG_variable && tag != DW_TAG_formal_parameter) || !own || strcmp(own, name))
				continue;
			if (!take_place(f, function, &die) || !type_of(&die, &type))
				return err_set(err, -ENOTSUP, "'%s' is optimised out here, as far as debug information tells: another place of the "
					       "function may have it", name);
			f->type.typed = true;
			f->type.type = type;
			return 0;
		} while (!dwarf_siblingof(&die, &die));
	}
	return -ENOENT;
}

static int find_name(struct finding *f, const char *name, struct err *err)
{
	Dwarf_Die unit, *scopes = NULL, *function = NULL;
	int count = 0, r = -ENOENT;

	for (uint8_t i = 0; i < REGISTER_count; i++)
		if (!strcmp(register_name(i), name)) {
			f->value.base = i;
			return 0;
		}
	if (!f->file->has_info)
		return err_set(err, -ENOENT, "'%s' is no register, and %s has no debug information that tells of variables: install its debug "
			       "symbols, or name registers", name, f->file->path);
	if (debug_info_unit(&f->file->info, f->address, &unit))
		count = dwarf_getscopes(&unit, f->address, &scopes);
	for (int i = 0; i < count && !function; i++)
		if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram)
			function = &scopes[i];
	if (function && f->entry)
		r = take_parameter(f, function, name, err);
	else if (count > 0)
		r = take_local(f, scopes, count, function, name, err);
	free(scopes);
	if (r == -ENOENT && !err->code)
		return err_set(err, r, "'%s' is no %s of the function there, and no register", name, f->entry ? "parameter" : "variable");
	return r;
}

/* ---- the way from there ---- */

static int read_memory(struct finding *f, struct err *err)
{
	if (f->value.steps == PROBE_VALUE_STEPS)
		return err_set(err, -E2BIG, "more than %d reads of memory", PROBE_VALUE_STEPS);
	if (f->behind < INT32_MIN || f->behind > INT32_MAX)
		return err_set(err, -ERANGE, "too far away");
	f->value.displacement[f->value.steps++] = (int32_t)f->behind;
	f->behind = 0;
	return 0;
}

/* Through the pointer that has been reached. */
static int follow(struct finding *f, struct err *err)
{
	int r = f->type.typed ? variable_follow(&f->type, err) : 0;

	if (!r && f->in_memory)
		r = read_memory(f, err);
	f->in_memory = true;
	return r;
}

/* The word at *text, cut off. */
static const char *cut_word(struct finding *f, const char **text)
{
	size_t length = 0;

	while (isalnum((unsigned char)(*text)[length]) || (*text)[length] == '_')
		length++;
	*text += length;
	return arena_strndup(f->arena, *text - length, length);
}

static int take_field(struct finding *f, const char **text, struct err *err)
{
	const char *word;
	uint64_t offset;
	int64_t number;
	int r;

	if (**text == '-' || isdigit((unsigned char)**text)) {
		char *end;

		number = strtoll(*text, &end, 0);
		*text = end;
		f->behind += number;
		f->type.typed = false;
		return 0;
	}
	word = cut_word(f, text);
	if (!word[0])
		return err_set(err, -EINVAL, "a field's name, or a number of bytes, is missing");
	r = variable_field(&f->type, word, &offset, err);
	f->behind += (int64_t)offset;
	return r;
}

static int take_element(struct finding *f, const char **text, struct err *err)
{
	char *end;
	long long number = strtoll(*text, &end, 0);
	uint64_t offset;
	Dwarf_Die type = f->type.type;
	int r = 0;

	if (end == *text || *end != ']')
		return err_set(err, -EINVAL, "write a number between '[' and ']'");
	*text = end + 1;
	/* what a pointer leads to is an array, too */
	if (f->type.typed && type_strip(&type) && dwarf_tag(&type) == DW_TAG_pointer_type) {
		r = follow(f, err);
		offset = (uint64_t)number * f->type.bytes;
		if (!r && !f->type.bytes)
			r = err_set(err, -EINVAL, "the elements have no known size");
	} else {
		r = variable_element(&f->type, number, &offset, err);
	}
	f->behind += (int64_t)offset;
	return r;
}

static int take_way(struct finding *f, const char *text, struct err *err)
{
	int r = 0;

	while (*text && !r) {
		if (!strncmp(text, "->", 2)) {
			text += 2;
			r = follow(f, err);
			r = r ? r : take_field(f, &text, err);
		} else if (*text == '.' && f->in_memory) {
			text++;
			r = take_field(f, &text, err);
		} else if (*text == '[') {
			text++;
			r = take_element(f, &text, err);
		} else if (!strcmp(text, ":string")) {
			f->value.text = true;
			return 0;
		} else {
			return err_set(err, -EINVAL, "'%s' is not understood: the forms are NAME->FIELD, NAME.FIELD, NAME[N], NAME:string", text);
		}
	}
	return r;
}

/* ---- what is recorded ---- */

static int take_text(struct finding *f, struct err *err)
{
	Dwarf_Die type = f->type.type;
	int r = 0;

	if (f->in_memory && (!f->type.typed || !type_strip(&type) || dwarf_tag(&type) != DW_TAG_array_type))
		r = read_memory(f, err);
	if (!r && (f->behind < INT32_MIN || f->behind > INT32_MAX))
		r = err_set(err, -ERANGE, "too far away");
	f->value.text_behind = (int32_t)f->behind;
	f->value.bytes = WORD;
	return r;
}

static int take_number(struct finding *f, struct err *err)
{
	Dwarf_Die type = f->type.type;
	Dwarf_Attribute attribute;
	Dwarf_Word encoding = 0, bytes = WORD;

	if (f->type.typed) {
		if (!type_strip(&type) || is_aggregate(dwarf_tag(&type)) || dwarf_aggregate_size(&type, &bytes) || !bytes || bytes > WORD ||
		    (bytes & (bytes - 1)))
			return err_set(err, -EINVAL, "it is no number: name a field of it, or write :string behind a text");
		if (dwarf_tag(&type) == DW_TAG_base_type && dwarf_attr(&type, DW_AT_encoding, &attribute))
			dwarf_formudata(&attribute, &encoding);
		f->value.is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
	}
	f->value.bytes = (uint8_t)bytes;
	return f->in_memory ? read_memory(f, err) : 0;
}

int probe_value_find(struct arena *arena, struct variable_file *file, struct code *code, uint64_t address, bool entry, const char *text,
		     struct probe_value *ret_value, struct err *err)
{
	struct finding f = { .arena = arena, .file = file, .code = code, .address = address, .entry = entry, .text = text };
	const char *at = text, *name = cut_word(&f, &at);
	struct err own = { 0 };
	int r;

	if (!name[0])
		return err_set(err, -EINVAL, "'%s' begins with no name", text);
	r = find_name(&f, name, &own);
	if (!r)
		r = take_way(&f, at, &own);
	if (!r)
		r = f.value.text ? take_text(&f, &own) : take_number(&f, &own);
	if (r)
		return err_set(err, r, "%s: %s", text, own.text);
	*ret_value = f.value;
	return 0;
}
