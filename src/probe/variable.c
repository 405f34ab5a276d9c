/* See variable.h. */
#include "probe/variable.h"

#include <dwarf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/suggest.h"
#include "symbols/debug_file.h"
#include "symbols/demangle.h"

enum {
	MAX_DIES = 8000000,    /* looked at for one variable */
	MAX_DEPTH = 32,        /* of scopes, of types in types */
	MAX_FOUND = 4,         /* of one name, that are told apart */
	NAME_MOST = 80,        /* letters of names that are */
	NEAR_MOST = 3,         /* names that are proposed */
};

int variable_file_open(struct variable_file *file, struct elf_file elf, const char *path, const char *shown, struct err *err)
{
	char debug[4200] = "";

	(void)err;
	*file = (struct variable_file){ .path = shown, .elf = elf };
	if (debug_file_find(&(struct debug_places){ 0 }, &elf, shown, false, debug, sizeof(debug)))
		file->has_debug = !elf_file_open(debug, &file->debug, NULL);
	file->has_info = debug_info_open(&file->info, NULL, path, file->has_debug ? debug : "");
	return 0;
}

void variable_file_close(struct variable_file *file)
{
	elf_file_close(&file->elf);
	if (file->has_debug)
		elf_file_close(&file->debug);
	if (file->has_info)
		debug_info_close(&file->info);
	file->has_debug = file->has_info = false;
}

/* ---- symbols ---- */

struct found {
	struct arena *arena;
	const char *name;
	struct variable items[MAX_FOUND];
	size_t count;               /* may be larger than what is kept */
	const char *near[NEAR_MOST];
	unsigned far[NEAR_MOST];
	size_t near_count;
	bool is_function, is_local, is_gone;
};

static void add_found(struct found *found, const struct variable *variable)
{
	for (size_t i = 0; i < found->count && i < MAX_FOUND; i++)
		if (found->items[i].address == variable->address && found->items[i].is_thread_local == variable->is_thread_local)
			return;
	if (found->count < MAX_FOUND)
		found->items[found->count] = *variable;
	found->count++;
}

static bool is_called(struct found *found, const char *symbol)
{
	size_t length = strcspn(symbol, "@");
	const char *plain;
	bool called;

	if (strlen(found->name) == length && !memcmp(symbol, found->name, length))
		return true;
	/* "name.0": a static one of a function; gcc numbers them */
	if (!strncmp(symbol, found->name, strlen(found->name)) && symbol[strlen(found->name)] == '.')
		return true;
	if (symbol[0] != '_' || symbol[1] != 'Z')
		return false;
	struct arena_mark mark = arena_mark(found->arena);
	plain = demangle(found->arena, symbol);
	called = plain && !strcmp(plain, found->name);
	arena_rewind(found->arena, mark);
	return called;
}

/* How far the name is from the one that was asked for; UINT_MAX: too far to be meant. */
static unsigned near_distance(const char *symbol, const char *name)
{
	size_t length = strlen(name);
	unsigned letters;

	if (strlen(symbol) > NAME_MOST)
		return UINT_MAX;
	letters = suggest_distance(symbol, strlen(symbol), name, length);
	if (letters <= (length + 1) / 3)
		return letters;
	return strcasestr(symbol, name) ? (unsigned)(strlen(symbol) - length) + NAME_MOST : UINT_MAX;
}

static void add_near(struct found *found, const char *symbol)
{
	unsigned far = near_distance(symbol, found->name);
	size_t at = found->near_count;

	if (far == UINT_MAX || (at == NEAR_MOST && far >= found->far[at - 1]))
		return;
	for (size_t i = 0; i < found->near_count; i++)
		if (!strcmp(found->near[i], symbol))
			return;
	/* the nearest first; the last one makes room */
	at = at < NEAR_MOST ? found->near_count++ : at - 1;
	for (; at && found->far[at - 1] > far; at--) {
		found->near[at] = found->near[at - 1];
		found->far[at] = found->far[at - 1];
	}
	found->near[at] = arena_strdup(found->arena, symbol);
	found->far[at] = far;
}

/* Calls `take` for each symbol of data. */
typedef void take_symbol(void *data, const Elf64_Sym *symbol, const char *name);

static void walk_section(const struct elf_file *file, const Elf64_Shdr *section, take_symbol *take, void *data)
{
	size_t symbols_bytes, names_bytes;
	void *symbols, *names;

	if (!section->sh_link || section->sh_link >= file->section_count || section->sh_entsize != sizeof(Elf64_Sym) ||
	    elf_file_copy_section(file, section, &symbols, &symbols_bytes, NULL) < 0)
		return;
	if (!elf_file_copy_section(file, &file->sections[section->sh_link], &names, &names_bytes, NULL)) {
		for (size_t i = 1; i < symbols_bytes / sizeof(Elf64_Sym); i++) {
			Elf64_Sym symbol;

			memcpy(&symbol, (char *)symbols + i * sizeof(symbol), sizeof(symbol));
			if (symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS && symbol.st_name < names_bytes &&
			    ((char *)names)[symbol.st_name])
				take(data, &symbol, (char *)names + symbol.st_name);
		}
		free(names);
	}
	free(symbols);
}

static void walk_symbols(const struct elf_file *file, take_symbol *take, void *data)
{
	for (uint32_t i = 1; i < file->section_count; i++)
		if (file->sections[i].sh_type == SHT_SYMTAB || file->sections[i].sh_type == SHT_DYNSYM)
			walk_section(file, &file->sections[i], take, data);
}

static bool is_data(const Elf64_Sym *symbol)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);

	return type == STT_OBJECT || type == STT_TLS || type == STT_COMMON;
}

static void take_found(void *data, const Elf64_Sym *symbol, const char *name)
{
	struct found *found = data;

	if (!is_data(symbol)) {
		if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && !strcmp(name, found->name))
			found->is_function = true;
		return;
	}
	if (is_called(found, name))
		add_found(found, &(struct variable){ .address = symbol->st_value, .bytes = symbol->st_size,
						     .is_thread_local = ELF64_ST_TYPE(symbol->st_info) == STT_TLS });
	else
		add_near(found, name);
}

/* ---- debug information ---- */

/* A static place; false for what lives in registers, on a stack, nowhere. */
static bool static_place(Dwarf_Die *die, struct variable *variable)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops;
	size_t count;

	if (!dwarf_attr(die, DW_AT_location, &attribute) || dwarf_getlocation(&attribute, &ops, &count) || !count)
		return false;
	if (ops[0].atom == DW_OP_addr && (count == 1 || (count == 2 && ops[1].atom == DW_OP_plus_uconst))) {
		variable->address = ops[0].number + (count == 2 ? ops[1].number : 0);
		return true;
	}
	if (count == 2 && (ops[1].atom == DW_OP_GNU_push_tls_address || ops[1].atom == DW_OP_form_tls_address) &&
	    (ops[0].atom == DW_OP_const8u || ops[0].atom == DW_OP_addr || ops[0].atom == DW_OP_const4u)) {
		variable->address = ops[0].number;
		variable->is_thread_local = true;
		return true;
	}
	return false;
}

static Dwarf_Die *type_of(Dwarf_Die *die, Dwarf_Die *ret_type)
{
	Dwarf_Attribute attribute;

	return dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), ret_type);
}

/* Without names for it and qualifiers. */
static bool type_strip(Dwarf_Die *type)
{
	for (int i = 0; i < MAX_DEPTH; i++) {
		switch (dwarf_tag(type)) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_atomic_type:
		case DW_TAG_restrict_type:
			if (!type_of(type, type))
				return false;
			break;
		default:
			return dwarf_tag(type) != DW_TAG_invalid;
		}
	}
	return false;
}

static void take_type(struct variable *variable, Dwarf_Die *die)
{
	Dwarf_Word bytes;

	variable->typed = type_of(die, &variable->type) != NULL;
	if (variable->typed && !dwarf_aggregate_size(&variable->type, &bytes))
		variable->bytes = bytes;
}

struct walk {
	struct found *found;        /* by name ... */
	struct variable *wanted;    /* ... or by place, whose type is asked for */
	const char *type;           /* ... or a type's name, whose definition is asked for */
	Dwarf_Die definition;
	bool done;
	uint32_t looked_at;
};

static bool has_name(Dwarf_Die *die, const char *name)
{
	Dwarf_Attribute attribute;
	const char *linkage, *own = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute)), *part = strrchr(name, ':');

	if (own && !strcmp(own, part ? part + 1 : name))
		return true;
	linkage = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
	return linkage && !strcmp(linkage, name);
}

static void take_variable(struct walk *walk, Dwarf_Die *die)
{
	struct variable variable = { 0 };

	const char *name = walk->found ? dwarf_diename(die) : NULL;

	if (walk->found && !has_name(die, walk->found->name)) {
		if (name && near_distance(name, walk->found->name) != UINT_MAX && static_place(die, &variable))
			add_near(walk->found, name);
		return;
	}
	if (!static_place(die, &variable)) {
		bool somewhere = dwarf_hasattr(die, DW_AT_location);

		if (walk->found && !dwarf_hasattr_integrate(die, DW_AT_declaration))
			*(somewhere ? &walk->found->is_local : &walk->found->is_gone) = true;
		return;
	}
	take_type(&variable, die);
	if (walk->found) {
		add_found(walk->found, &variable);
	} else if (variable.address == walk->wanted->address && variable.is_thread_local == walk->wanted->is_thread_local && variable.typed) {
		walk->wanted->type = variable.type;
		walk->wanted->typed = true;
		if (variable.bytes)
			walk->wanted->bytes = variable.bytes;
		walk->done = true;
	}
}

static bool is_aggregate(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

static void walk_scope(struct walk *walk, Dwarf_Die *scope, int depth)
{
	Dwarf_Die die;

	if (depth > MAX_DEPTH || dwarf_child(scope, &die))
		return;
	do {
		int tag = dwarf_tag(&die);

		if (walk->done || ++walk->looked_at > MAX_DIES)
			return;
		if (walk->type && is_aggregate(tag) && has_name(&die, walk->type) && !dwarf_hasattr(&die, DW_AT_declaration)) {
			walk->definition = die;
			walk->done = true;
			return;
		}
		if (tag == DW_TAG_variable && !walk->type)
			take_variable(walk, &die);
		else if (tag == DW_TAG_namespace || (!walk->type && (tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block)) ||
			 (walk->type && is_aggregate(tag)))
			walk_scope(walk, &die, depth + 1);
	} while (!dwarf_siblingof(&die, &die));
}

static void walk_units(struct walk *walk, Dwarf *dwarf)
{
	Dwarf_Off at = 0, next;
	Dwarf_Die unit;
	size_t head;

	while (!walk->done && walk->looked_at <= MAX_DIES && !dwarf_nextcu(dwarf, at, &next, &head, NULL, NULL, NULL)) {
		if (dwarf_offdie(dwarf, at + head, &unit))
			walk_scope(walk, &unit, 0);
		at = next;
	}
}

/* ---- finding ---- */

static int explain_nothing(const struct variable_file *file, const struct found *found, struct err *err)
{
	struct buf near;
	int r;

	if (found->is_function)
		return err_set(err, -EINVAL, "'%s' of %s is a function, no variable", found->name, file->path);
	if (found->is_local)
		return err_set(err, -EINVAL, "'%s' of %s is a function's own variable, on its stack or in registers: probe the function with it "
			       "(--probe 'FILE:FUNCTION(%s)')", found->name, file->path, found->name);
	if (found->is_gone)
		return err_set(err, -ENOENT, "'%s' of %s is optimised out, as its debug information tells: it has no place in memory", found->name, file->path);
	buf_init(&near);
	for (size_t i = 0; i < found->near_count; i++)
		buf_printf(&near, "%s'%s'", i ? ", " : "", found->near[i]);
	if (near.length)
		r = err_set(err, -ENOENT, "%s has no variable '%s', but %s", file->path, found->name, buf_str(&near));
	else if (!file->has_info && !elf_file_section(&file->elf, ".symtab"))
		r = err_set(err, -ENOENT, "%s exports no variable '%s', and its other symbols are stripped: install its debug symbols, "
			    "or give the address (%s:0xADDRESS)", file->path, found->name, file->path);
	else
		r = err_set(err, -ENOENT, "%s has no variable '%s': it may be optimised out, or be in a library", file->path, found->name);
	buf_done(&near);
	return r;
}

static int explain_several(const struct variable_file *file, const struct found *found, struct err *err)
{
	struct buf list;
	int r;

	buf_init(&list);
	for (size_t i = 0; i < found->count && i < MAX_FOUND; i++)
		buf_printf(&list, "%s0x%" PRIx64, i ? ", " : "", found->items[i].address);
	r = err_set(err, -EINVAL, "%s has %zu variables '%s', at %s%s: say which (%s:0x%" PRIx64 ")", file->path, found->count, found->name,
		    buf_str(&list), found->count > MAX_FOUND ? ", ..." : "", file->path, found->items[0].address);
	buf_done(&list);
	return r;
}

int variable_find(struct arena *arena, struct variable_file *file, const char *name, struct variable *ret_variable, struct err *err)
{
	struct found found = { .arena = arena, .name = name };
	struct walk walk = { .found = &found };

	walk_symbols(&file->elf, take_found, &found);
	if (file->has_debug)
		walk_symbols(&file->debug, take_found, &found);
	if (!found.count && file->has_info)
		walk_units(&walk, file->info.dwarf);
	if (!found.count)
		return explain_nothing(file, &found, err);
	if (found.count > 1)
		return explain_several(file, &found, err);
	if (!found.items[0].typed && file->has_info) {
		walk = (struct walk){ .wanted = &found.items[0] };
		walk_units(&walk, file->info.dwarf);
	}
	*ret_variable = found.items[0];
	return 0;
}

struct holder {
	struct arena *arena;
	uint64_t address, start;
	const char *name;
};

static void take_holder(void *data, const Elf64_Sym *symbol, const char *name)
{
	struct holder *holder = data;
	unsigned type = ELF64_ST_TYPE(symbol->st_info);

	if ((type == STT_OBJECT || type == STT_COMMON) && holder->address >= symbol->st_value &&
	    holder->address - symbol->st_value < symbol->st_size && (!holder->name || symbol->st_value > holder->start)) {
		holder->name = arena_strdup(holder->arena, name);
		holder->start = symbol->st_value;
	}
}

const char *variable_at(struct arena *arena, struct variable_file *file, uint64_t address, uint64_t *ret_offset)
{
	struct holder holder = { .arena = arena, .address = address };

	walk_symbols(&file->elf, take_holder, &holder);
	if (!holder.name && file->has_debug)
		walk_symbols(&file->debug, take_holder, &holder);
	if (holder.name)
		*ret_offset = address - holder.start;
	return holder.name;
}

/* ---- types ---- */

static void set_type(struct variable *variable, const Dwarf_Die *type)
{
	Dwarf_Word bytes;

	variable->type = *type;
	variable->bytes = dwarf_aggregate_size(&variable->type, &bytes) ? 0 : bytes;
}

/* A type that is only named here, found where it is defined. */
static bool define(Dwarf_Die *type)
{
	const char *name = dwarf_diename(type);
	struct walk walk = { .type = name };

	if (!dwarf_hasattr(type, DW_AT_declaration))
		return true;
	if (!name)
		return false;
	walk_units(&walk, dwarf_cu_getdwarf(type->cu));
	if (walk.done)
		*type = walk.definition;
	return walk.done;
}

static bool find_field(Dwarf_Die *type, const char *field, uint64_t *offset, Dwarf_Die *ret_type, int depth)
{
	Dwarf_Die die;

	if (depth > MAX_DEPTH || dwarf_child(type, &die))
		return false;
	do {
		int tag = dwarf_tag(&die);
		const char *name = dwarf_diename(&die);
		Dwarf_Attribute attribute;
		Dwarf_Word place = 0;
		Dwarf_Die inner;

		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || dwarf_hasattr(&die, DW_AT_external) || !type_of(&die, &inner))
			continue;
		if (dwarf_attr(&die, DW_AT_data_member_location, &attribute) && dwarf_formudata(&attribute, &place))
			continue;
		if (tag == DW_TAG_member && name && !strcmp(name, field)) {
			*offset += place;
			*ret_type = inner;
			return true;
		}
		/* what has no name of its own, and what is inherited */
		if ((tag == DW_TAG_inheritance || !name) && type_strip(&inner) && find_field(&inner, field, offset, ret_type, depth + 1)) {
			*offset += place;
			return true;
		}
	} while (!dwarf_siblingof(&die, &die));
	return false;
}

static int untyped(struct err *err, const char *what)
{
	return err_set(err, -EINVAL, "no debug information tells the type before %s: write the number of bytes instead (->16, +8)", what);
}

int variable_field(struct variable *variable, const char *field, uint64_t *ret_offset, struct err *err)
{
	uint64_t offset = 0;
	Dwarf_Die type;

	if (!variable->typed)
		return untyped(err, field);
	if (!type_strip(&variable->type) || !is_aggregate(dwarf_tag(&variable->type)) || !define(&variable->type))
		return err_set(err, -EINVAL, "what comes before '%s' has no fields, as far as debug information tells", field);
	if (!find_field(&variable->type, field, &offset, &type, 0)) {
		const char *name = dwarf_diename(&variable->type);

		return err_set(err, -ENOENT, "'%s' has no field '%s'", name ? name : "the structure", field);
	}
	set_type(variable, &type);
	*ret_offset = offset;
	return 0;
}

int variable_element(struct variable *variable, int64_t number, uint64_t *ret_offset, struct err *err)
{
	Dwarf_Die type;

	if (!variable->typed)
		return untyped(err, "the element");
	if (!type_strip(&variable->type) || dwarf_tag(&variable->type) != DW_TAG_array_type || !type_of(&variable->type, &type))
		return err_set(err, -EINVAL, "what stands before '[%" PRId64 "]' is not an array, as far as debug information tells", number);
	set_type(variable, &type);
	if (!variable->bytes || __builtin_mul_overflow((uint64_t)number, variable->bytes, ret_offset))
		return err_set(err, -EINVAL, "the elements before '[%" PRId64 "]' have no known size", number);
	return 0;
}

int variable_follow(struct variable *variable, struct err *err)
{
	Dwarf_Die type;
	int tag;

	variable->is_thread_local = false;
	if (!variable->typed)
		return 0;
	if (!type_strip(&variable->type))
		return untyped(err, "'->'");
	tag = dwarf_tag(&variable->type);
	/* a smart pointer's, an integer that holds an address */
	if (tag != DW_TAG_pointer_type && tag != DW_TAG_reference_type && tag != DW_TAG_rvalue_reference_type) {
		if (variable->bytes != sizeof(uint64_t))
			return err_set(err, -EINVAL, "what comes before '->' is not a pointer, as far as debug information tells");
		variable->typed = false;
		return 0;
	}
	variable->typed = type_of(&variable->type, &type) != NULL;
	variable->bytes = 0;
	if (variable->typed)
		set_type(variable, &type);
	return 0;
}

const char *variable_type_text(struct arena *arena, struct variable *variable)
{
	Dwarf_Die type = variable->type;
	const char *name, *behind = "";

	if (!variable->typed)
		return "";
	name = dwarf_diename(&type);
	if (!name && dwarf_tag(&type) == DW_TAG_pointer_type) {
		behind = " *";
		name = type_of(&type, &type) ? dwarf_diename(&type) : "void";
	}
	return name ? arena_printf(arena, "%s%s%s", dwarf_tag(&type) == DW_TAG_structure_type ? "struct " : "", name, behind) : "";
}
