/* See imports.h. */
#include "probe/imports.h"

#include <stdlib.h>
#include <string.h>

struct search {
	struct code *code;
	const struct process *process;
	const uint64_t *biases;
	unsigned number;              /* of the file whose words are looked at */
	Elf64_Sym *symbols;
	size_t symbol_count;
	char *names;                  /* with a NUL behind them */
	size_t name_bytes;
};

static const struct code *file_of(const struct search *s, unsigned number)
{
	return number ? s->code->joined[number] : s->code;
}

/* The function of another file that begins there. */
static bool by_value(const struct search *s, uint64_t value, uint64_t *ret_function)
{
	for (unsigned i = 0; i < CODE_FILES; i++) {
		const struct code *file = file_of(s, i);
		uint64_t start, end, address = value - s->biases[i];

		if (i == s->number || !file || !code_function(file, address, &start, &end) || start != address)
			continue;
		*ret_function = code_file_base(i) + address;
		return true;
	}
	return false;
}

static bool by_name(const struct search *s, const char *name, uint64_t *ret_function)
{
	for (unsigned i = 0; i < CODE_FILES; i++) {
		const struct code *file = file_of(s, i);

		if (i == s->number || !file)
			continue;
		for (size_t j = 0; j < file->symbols.symbols.length; j++) {
			const struct symbol *symbol = &file->symbols.symbols.items[j];

			if (symbol->kind != SYMBOL_function || strcmp(symbol->name, name) != 0)
				continue;
			*ret_function = code_file_base(i) + symbol->start;
			return true;
		}
	}
	return false;
}

static void take_word(struct search *s, const Elf64_Rela *rela)
{
	uint32_t type = (uint32_t)ELF64_R_TYPE(rela->r_info);
	uint64_t symbol = ELF64_R_SYM(rela->r_info), bias = s->biases[s->number], value, function, start, end;
	size_t name;

	if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) || !symbol || symbol >= s->symbol_count ||
	    process_read(s->process->pid, bias + rela->r_offset, &value, sizeof(value)))
		return;
	name = s->symbols[symbol].st_name;
	if (by_value(s, value, &function))
		map_put(&s->code->imports, code_file_base(s->number) + rela->r_offset, function);
	/* not filled yet: it leads back into the table of stubs */
	else if (type == R_X86_64_JUMP_SLOT && code_function(file_of(s, s->number), value - bias, &start, &end) && name < s->name_bytes &&
		 by_name(s, s->names + name, &function))
		map_put(&s->code->imports, code_file_base(s->number) + rela->r_offset, function);
}

static void take_section(struct search *s, const struct elf_file *elf, const Elf64_Shdr *section)
{
	const Elf64_Shdr *symbols = section->sh_link && section->sh_link < elf->section_count ? &elf->sections[section->sh_link] : NULL;
	size_t bytes = 0, symbol_bytes = 0;
	void *relas = NULL, *names = NULL, *found = NULL;

	if (section->sh_type != SHT_RELA || section->sh_entsize != sizeof(Elf64_Rela) || !symbols || symbols->sh_type != SHT_DYNSYM ||
	    !symbols->sh_link || symbols->sh_link >= elf->section_count)
		return;
	if (!elf_file_copy_section(elf, symbols, &found, &symbol_bytes, NULL) &&
	    !elf_file_copy_section(elf, &elf->sections[symbols->sh_link], &names, &s->name_bytes, NULL) &&
	    !elf_file_copy_section(elf, section, &relas, &bytes, NULL)) {
		s->symbols = found;
		s->symbol_count = symbol_bytes / sizeof(Elf64_Sym);
		s->names = names;
		for (size_t i = 0; i < bytes / sizeof(Elf64_Rela); i++) {
			Elf64_Rela rela;

			memcpy(&rela, (const char *)relas + i * sizeof(rela), sizeof(rela));
			take_word(s, &rela);
		}
	}
	free(relas);
	free(names);
	free(found);
}

void imports_find(struct code *code, const struct process *process, const uint64_t biases[CODE_FILES])
{
	struct search search = { .code = code, .process = process, .biases = biases };

	for (; search.number < CODE_FILES; search.number++) {
		const struct code *file = file_of(&search, search.number);

		for (uint32_t i = 0; file && i < file->elf.section_count; i++)
			take_section(&search, &file->elf, &file->elf.sections[i]);
	}
}
