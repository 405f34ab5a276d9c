/* See imports.h. */
#include "probe/imports.h"

#include <stdlib.h>
#include <string.h>

struct import {
	uint64_t word;                /* as linked */
	const char *name;
	bool at_call;                 /* may be filled at the first call only */
};

struct imports {
	struct vec(struct import) items;
};

static void take_section(struct arena *arena, const struct elf_file *elf, const Elf64_Shdr *section, struct imports *imports)
{
	const Elf64_Shdr *symbols = section->sh_link && section->sh_link < elf->section_count ? &elf->sections[section->sh_link] : NULL;
	size_t bytes = 0, symbol_bytes = 0, name_bytes = 0;
	void *relas = NULL, *names = NULL, *found = NULL;

	if (section->sh_type != SHT_RELA || section->sh_entsize != sizeof(Elf64_Rela) || !symbols || symbols->sh_type != SHT_DYNSYM ||
	    !symbols->sh_link || symbols->sh_link >= elf->section_count)
		return;
	if (!elf_file_copy_section(elf, symbols, &found, &symbol_bytes, NULL) &&
	    !elf_file_copy_section(elf, &elf->sections[symbols->sh_link], &names, &name_bytes, NULL) &&
	    !elf_file_copy_section(elf, section, &relas, &bytes, NULL)) {
		for (size_t i = 0; i < bytes / sizeof(Elf64_Rela); i++) {
			Elf64_Rela rela;
			Elf64_Sym symbol;
			uint64_t type, number;

			memcpy(&rela, (const char *)relas + i * sizeof(rela), sizeof(rela));
			type = ELF64_R_TYPE(rela.r_info);
			number = ELF64_R_SYM(rela.r_info);
			if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) || !number || number >= symbol_bytes / sizeof(symbol))
				continue;
			memcpy(&symbol, (const char *)found + number * sizeof(symbol), sizeof(symbol));
			if (symbol.st_name < name_bytes)
				vec_push(&imports->items, ((struct import){ rela.r_offset, arena_strdup(arena, (const char *)names + symbol.st_name),
									    type == R_X86_64_JUMP_SLOT }));
		}
	}
	free(relas);
	free(names);
	free(found);
}

static void imports_read(struct arena *arena, const struct elf_file *elf, struct imports *ret_imports)
{
	*ret_imports = (struct imports){ 0 };
	for (uint32_t i = 0; i < elf->section_count; i++)
		take_section(arena, elf, &elf->sections[i], ret_imports);
}

static struct code *file_of(struct code *code, unsigned number)
{
	return number ? code->joined[number] : code;
}

/* The function of another file than this one that begins there. */
static bool by_value(struct code *code, const uint64_t *biases, unsigned number, uint64_t value, uint64_t *ret_function)
{
	for (unsigned i = 0; i < CODE_FILES; i++) {
		const struct code *file = file_of(code, i);
		uint64_t start, end, address = value - biases[i];

		if (i == number || !file || code_file_number(address) || !code_function(file, address, &start, &end) || start != address)
			continue;
		*ret_function = code_file_base(i) + address;
		return true;
	}
	return false;
}

static bool by_name(struct code *code, unsigned number, const char *name, uint64_t *ret_function)
{
	for (unsigned i = 0; i < CODE_FILES; i++) {
		const struct code *file = file_of(code, i);

		for (size_t j = 0; i != number && file && j < file->symbols.symbols.length; j++) {
			const struct symbol *symbol = &file->symbols.symbols.items[j];

			if (symbol->kind != SYMBOL_function || strcmp(symbol->name, name) != 0)
				continue;
			*ret_function = code_file_base(i) + symbol->start;
			return true;
		}
	}
	return false;
}

/* A word that is not filled yet leads back into its own file's table of stubs. */
static bool is_unfilled(const struct code *file, uint64_t address)
{
	uint64_t start, end;

	return !code_file_number(address) && code_function(file, address, &start, &end);
}

void imports_find(struct code *code, const struct process *process, const uint64_t biases[CODE_FILES])
{
	for (unsigned number = 0; number < CODE_FILES; number++) {
		struct code *file = file_of(code, number);
		struct imports imports;

		if (!file)
			continue;
		imports_read(&file->arena, &file->elf, &imports);
		for (size_t i = 0; i < imports.items.length; i++) {
			const struct import *import = &imports.items.items[i];
			uint64_t value, function;
			bool found;

			if (process && process_read(process->pid, biases[number] + import->word, &value, sizeof(value)))
				continue;
			found = process && by_value(code, biases, number, value, &function);
			if (!found && (!process || (import->at_call && is_unfilled(file, value - biases[number]))))
				found = by_name(code, number, import->name, &function);
			if (found)
				map_put(&code->imports, code_file_base(number) + import->word, function);
		}
		vec_done(&imports.items);
	}
}

const char *imports_name(struct code *code, uint64_t address)
{
	uint64_t word = code_import_word(code, address), linked;
	struct code *file = word ? (struct code *)code_file(code, word, &linked) : NULL;
	const uint64_t *name;

	if (!file)
		return NULL;
	if (!file->names_read) {
		struct imports imports;

		imports_read(&file->arena, &file->elf, &imports);
		for (size_t i = 0; i < imports.items.length; i++)
			map_put(&file->import_names, imports.items.items[i].word, (uintptr_t)imports.items.items[i].name);
		vec_done(&imports.items);
		file->names_read = true;
	}
	name = map_find(&file->import_names, linked);
	return name ? (const char *)(uintptr_t)*name : NULL;
}
