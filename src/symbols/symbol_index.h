/* The symbols of an ELF file for looking up addresses, in little memory: names stay in the file and are read
 * when one is found. What symbol_table.h says of which name an address is given holds here, too. */
#ifndef SYMBOLS_SYMBOL_INDEX_H
#define SYMBOLS_SYMBOL_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "symbols/elf_file.h"
#include "symbols/unwind_table.h"

/* Of a large program there are hundreds of thousands: no holes between them. */
struct __attribute__((packed, aligned(4))) indexed_symbol {
	uint64_t start;            /* address as linked */
	uint64_t end;              /* the highest one among those up to it, so that a search knows where to stop */
	uint32_t bytes;            /* 0: not known */
	uint32_t name;             /* place in its table of names */
	uint8_t rank;              /* of several at one address the lowest is shown */
	uint8_t table;             /* of names, of those below */
};

#define SYMBOL_INDEX_TABLES 4u

struct symbol_index {
	struct vec(struct indexed_symbol) symbols;
	struct { uint64_t at, bytes; } tables[SYMBOL_INDEX_TABLES]; /* of names, in the file */
	unsigned table_count;
};

/* False when the file's tables are not of a kind for it: then symbol_table.h is to be asked, and nothing is kept. */
bool symbol_index_read(struct symbol_index *index, const struct elf_file *file);
/* The symbol that holds the address; its name in the arena. See symbol_table_find. `file` is the one that was read. */
bool symbol_index_find(const struct symbol_index *index, const struct elf_file *file, struct arena *arena, const struct unwind_table *unwind,
		       uint64_t address, uint64_t *ret_start, const char **ret_name, bool *ret_guessed);
void symbol_index_done(struct symbol_index *index);

#endif
