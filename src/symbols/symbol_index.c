/* See symbol_index.h. Names are in memory only while the symbols are put in order. */
#include "symbols/symbol_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/sparse.h"
#include "symbols/symbol_table.h"

enum {
	PIECE = 4096,              /* symbols that are read at once */
	NAME_PIECE = 256,          /* bytes of a name that are read at once */
};

struct reading {
	struct symbol_index *index;
	const struct elf_file *file;
	struct sparse names[SYMBOL_INDEX_TABLES]; /* ended by a 0 */
	size_t names_bytes[SYMBOL_INDEX_TABLES];
};

static const char *names_of(const struct reading *r, uint8_t table)
{
	return r->names[table].memory;
}

static const char *name_of(const struct reading *r, const struct indexed_symbol *symbol)
{
	return names_of(r, symbol->table) + symbol->name;
}

static bool take_piece(struct reading *r, const Elf64_Sym *symbols, size_t count, uint8_t table)
{
	for (size_t i = 0; i < count && r->index->symbols.length < SYMBOL_TABLE_MOST; i++) {
		const Elf64_Sym *s = &symbols[i];
		uint8_t rank;

		if (!symbol_table_wants(r->file, s, names_of(r, table), r->names_bytes[table], &rank))
			continue;
		if (s->st_size > UINT32_MAX)
			return false;
		vec_push(&r->index->symbols, ((struct indexed_symbol){ .start = s->st_value, .bytes = (uint32_t)s->st_size, .name = s->st_name,
								       .rank = rank, .table = table }));
	}
	return true;
}

/* Names of a large library are tens of megabytes: they may lie aside. */
static bool read_names(struct reading *r, const Elf64_Shdr *names, uint8_t table)
{
	struct sparse *to = &r->names[table];

	if (names->sh_size > ELF_FILE_MAX_COPY || names->sh_offset > r->file->bytes || names->sh_size > r->file->bytes - names->sh_offset)
		return false;
	to->aside = true;
	sparse_reach(to, (size_t)names->sh_size + 1);
	r->names_bytes[table] = (size_t)names->sh_size;
	return elf_file_read(r->file, names->sh_offset, to->memory, (size_t)names->sh_size) >= 0;
}

static bool read_section(struct reading *r, const Elf64_Shdr *section)
{
	const Elf64_Shdr *names;
	uint8_t table = (uint8_t)r->index->table_count;
	uint64_t count = section->sh_size / sizeof(Elf64_Sym);
	Elf64_Sym *piece;
	bool good = true;

	if (!section->sh_link || section->sh_link >= r->file->section_count || section->sh_entsize != sizeof(Elf64_Sym))
		return true;
	names = &r->file->sections[section->sh_link];
	if (table >= SYMBOL_INDEX_TABLES || (section->sh_flags | names->sh_flags) & SHF_COMPRESSED || section->sh_size > ELF_FILE_MAX_COPY)
		return false;
	if (!read_names(r, names, table))
		return false;
	r->index->tables[table].at = names->sh_offset;
	r->index->tables[table].bytes = r->names_bytes[table];
	r->index->table_count++;
	piece = mem_alloc(PIECE * sizeof(*piece));
	for (uint64_t at = 1; at < count && good; at += PIECE) {
		size_t some = count - at < PIECE ? (size_t)(count - at) : PIECE;

		good = elf_file_read(r->file, section->sh_offset + at * sizeof(*piece), piece, some * sizeof(*piece)) >= 0 &&
		       take_piece(r, piece, some, table);
	}
	free(piece);
	return good;
}

static bool read_sections(struct reading *r, uint32_t type, bool *ret_any)
{
	for (uint32_t i = 1; i < r->file->section_count; i++)
		if (r->file->sections[i].sh_type == type) {
			*ret_any = true;
			if (!read_section(r, &r->file->sections[i]))
				return false;
		}
	return true;
}

static int by_start(const void *a, const void *b, void *data)
{
	const struct indexed_symbol *x = a, *y = b;

	return symbol_table_order(&(struct symbol){ x->start, x->bytes, name_of(data, x), x->rank, 0 },
				  &(struct symbol){ y->start, y->bytes, name_of(data, y), y->rank, 0 });
}

static void put_in_order(struct reading *r)
{
	struct indexed_symbol *symbols = r->index->symbols.items;
	size_t count = r->index->symbols.length;
	uint64_t end = 0;

	if (!count)
		return;
	qsort_r(symbols, count, sizeof(*symbols), by_start, r);
	for (size_t i = 0; i < count; i++) {
		if (symbols[i].bytes <= UINT64_MAX - symbols[i].start && symbols[i].start + symbols[i].bytes > end)
			end = symbols[i].start + symbols[i].bytes;
		symbols[i].end = end;
	}
	r->index->symbols.items = mem_realloc(symbols, count * sizeof(*symbols));
	r->index->symbols.capacity = count;
}

bool symbol_index_read(struct symbol_index *index, const struct elf_file *file)
{
	struct reading r = { .index = index, .file = file };
	bool any = false, good;

	/* .symtab has all that .dynsym has */
	good = read_sections(&r, SHT_SYMTAB, &any) && (any || read_sections(&r, SHT_DYNSYM, &any));
	if (good)
		put_in_order(&r);
	for (unsigned i = 0; i < SYMBOL_INDEX_TABLES; i++)
		sparse_done(&r.names[i]);
	if (!good)
		symbol_index_done(index);
	return good;
}

void symbol_index_done(struct symbol_index *index)
{
	vec_done(&index->symbols);
	index->table_count = 0;
}

/* NULL when the file has become shorter. */
static const char *read_name(const struct symbol_index *index, const struct elf_file *file, struct arena *arena, const struct indexed_symbol *symbol)
{
	uint64_t at = index->tables[symbol->table].at + symbol->name, left = index->tables[symbol->table].bytes - symbol->name;
	char name[SYMBOL_TABLE_NAME_MOST + 1];
	size_t length = 0;
	bool ended = false;

	while (length < SYMBOL_TABLE_NAME_MOST && left && !ended) {
		size_t bytes = left < NAME_PIECE ? (size_t)left : NAME_PIECE;

		if (elf_file_read(file, at + length, name + length, bytes) < 0)
			return NULL;
		ended = memchr(name + length, 0, bytes) != NULL;
		length += bytes;
		left -= bytes;
	}
	name[length] = 0;
	return arena_strdup(arena, name);
}

static const struct indexed_symbol *find(const struct symbol_index *index, const struct unwind_table *unwind, uint64_t address, bool *ret_guessed)
{
	const struct indexed_symbol *symbols = index->symbols.items, *nearest;
	size_t low = 0, high = index->symbols.length;

	SEARCH(low, high, middle, symbols[middle].start <= address);
	if (!low)
		return NULL;
	for (size_t i = low, steps = 0; i-- > 0 && steps < SYMBOL_TABLE_STEPS_BACK && symbols[i].end > address; steps++)
		if (address - symbols[i].start < symbols[i].bytes)
			return &symbols[i];
	nearest = &symbols[low - 1];
	return !nearest->bytes && symbol_table_reaches(nearest->start, unwind, address, ret_guessed) ? nearest : NULL;
}

bool symbol_index_find(const struct symbol_index *index, const struct elf_file *file, struct arena *arena, const struct unwind_table *unwind,
		       uint64_t address, uint64_t *ret_start, const char **ret_name, bool *ret_guessed)
{
	const struct indexed_symbol *found;
	const char *name;

	*ret_guessed = false;
	found = find(index, unwind, address, ret_guessed);
	name = found ? read_name(index, file, arena, found) : NULL;
	if (!name)
		return false;
	*ret_start = found->start;
	*ret_name = name;
	return true;
}
