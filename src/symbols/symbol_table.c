#include "symbols/symbol_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"

void symbol_table_add_name(struct symbol_table *table, uint64_t start, uint64_t bytes, const char *name, uint8_t rank)
{
	struct symbol symbol = { .start = start, .bytes = bytes, .rank = rank,
				 .name = arena_strndup(&table->arena, name, strnlen(name, SYMBOL_TABLE_NAME_MOST)) };
	vec_push(&table->symbols, symbol);
}

void symbol_table_add_kept(struct symbol_table *table, uint64_t start, uint64_t bytes, const char *name)
{
	vec_push(&table->symbols, ((struct symbol){ .start = start, .bytes = bytes, .name = name }));
}

static uint8_t symbol_rank(const Elf64_Sym *symbol, const char *name)
{
	uint8_t rank = ELF64_ST_BIND(symbol->st_info) == STB_GLOBAL ? 0 : ELF64_ST_BIND(symbol->st_info) == STB_WEAK ? 1 : 2;
	/* of aliases such as __libc_read, __read and read the plainest */
	for (const char *c = name; *c == '_' && rank < 8; c++)
		rank += 3;
	return rank;
}

bool symbol_table_wants(const struct elf_file *file, const Elf64_Sym *symbol, const char *names, size_t names_bytes, uint8_t *ret_rank)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	const char *name;

	if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) || symbol->st_shndx == SHN_UNDEF ||
	    symbol->st_shndx == SHN_ABS || symbol->st_name >= names_bytes)
		return false;
	name = names + symbol->st_name;
	/* labels of data and of assemblers */
	if (!name[0] || (type == STT_NOTYPE && (name[0] == '.' || name[0] == '$')))
		return false;
	if (symbol->st_shndx < file->section_count && !(file->sections[symbol->st_shndx].sh_flags & SHF_EXECINSTR))
		return false;
	*ret_rank = (uint8_t)(symbol_rank(symbol, name) + (type == STT_NOTYPE));
	return true;
}

static void add_section(struct symbol_table *table, const struct elf_file *file, const Elf64_Shdr *section)
{
	void *symbols, *names;
	size_t symbols_bytes, names_bytes;
	if (section->sh_link == 0 || section->sh_link >= file->section_count || section->sh_entsize != sizeof(Elf64_Sym))
		return;
	if (elf_file_copy_section(file, section, &symbols, &symbols_bytes, NULL) < 0)
		return;
	if (elf_file_copy_section(file, &file->sections[section->sh_link], &names, &names_bytes, NULL) < 0) {
		free(symbols);
		return;
	}
	for (size_t i = 1; i < symbols_bytes / sizeof(Elf64_Sym) && table->symbols.length < SYMBOL_TABLE_MOST; i++) {
		Elf64_Sym s;
		memcpy(&s, (char *)symbols + i * sizeof(s), sizeof(s));
		unsigned type = ELF64_ST_TYPE(s.st_info);
		uint8_t rank;

		if (!symbol_table_wants(file, &s, names, names_bytes, &rank))
			continue;
		symbol_table_add_name(table, s.st_value, s.st_size, (char *)names + s.st_name, rank);
		table->symbols.items[table->symbols.length - 1].kind =
			type == STT_FUNC ? SYMBOL_function : type == STT_GNU_IFUNC ? SYMBOL_indirect : SYMBOL_label;
	}
	free(symbols);
	free(names);
}

void symbol_table_add(struct symbol_table *table, const struct elf_file *file)
{
	bool have_symtab = false;
	for (uint32_t i = 1; i < file->section_count; i++)
		if (file->sections[i].sh_type == SHT_SYMTAB) {
			add_section(table, file, &file->sections[i]);
			have_symtab = true;
		}
	/* .symtab has all that .dynsym has */
	for (uint32_t i = 1; i < file->section_count && !have_symtab; i++)
		if (file->sections[i].sh_type == SHT_DYNSYM)
			add_section(table, file, &file->sections[i]);
}

int symbol_table_order(const struct symbol *x, const struct symbol *y)
{
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (!x->bytes != !y->bytes)
		return x->bytes ? 1 : -1;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(y->name, x->name);
}

static int by_start(const void *a, const void *b)
{
	return symbol_table_order(a, b);
}

/* Of symbols at one address the last is the one to show. */
void symbol_table_sort(struct symbol_table *table)
{
	uint64_t end = 0;
	if (table->symbols.length)
		qsort(table->symbols.items, table->symbols.length, sizeof(table->symbols.items[0]), by_start);
	free(table->ends);
	table->ends = mem_alloc((table->symbols.length + 1) * sizeof(uint64_t));
	for (size_t i = 0; i < table->symbols.length; i++) {
		const struct symbol *s = &table->symbols.items[i];
		if (s->bytes <= UINT64_MAX - s->start && s->start + s->bytes > end)
			end = s->start + s->bytes;
		table->ends[i] = end;
	}
}

void symbol_table_done(struct symbol_table *table)
{
	arena_done(&table->arena);
	vec_done(&table->symbols);
	free(table->ends);
	table->ends = NULL;
}

bool symbol_table_reaches(uint64_t start, const struct unwind_table *unwind, uint64_t address, bool *ret_guessed)
{
	const struct unwind_function *f = unwind ? unwind_table_function(unwind, address) : NULL;

	if (f)
		return start >= unwind->base + f->start;
	if (unwind && unwind_table_function(unwind, start))
		return false;
	*ret_guessed = true;
	return true;
}

const struct symbol *symbol_table_find(const struct symbol_table *table, const struct unwind_table *unwind, uint64_t address,
				       bool *ret_guessed)
{
	size_t low = 0, high = table->symbols.length;
	*ret_guessed = false;
	SEARCH(low, high, middle, table->symbols.items[middle].start <= address);
	if (low == 0)
		return NULL;
	for (size_t i = low, steps = 0; i-- > 0 && steps < SYMBOL_TABLE_STEPS_BACK && table->ends[i] > address; steps++)
		if (address - table->symbols.items[i].start < table->symbols.items[i].bytes)
			return &table->symbols.items[i];

	/* no size holds it; a symbol without one may reach up to here */
	const struct symbol *nearest = &table->symbols.items[low - 1];
	return !nearest->bytes && symbol_table_reaches(nearest->start, unwind, address, ret_guessed) ? nearest : NULL;
}
