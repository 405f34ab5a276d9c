/* The symbols of one module, for looking up addresses.
 *
 * Names come from .symtab and .dynsym, of the file itself, of its debug file
 * and of .gnu_debugdata. An address is given a name only when the symbol's
 * size, or the function's bounds in the unwind table, say that it belongs to
 * it: in a stripped program a static function must not appear under its
 * neighbour's name. */
#ifndef SYMBOLS_SYMBOL_TABLE_H
#define SYMBOLS_SYMBOL_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "symbols/elf_file.h"
#include "symbols/unwind_table.h"

enum symbol_kind {
	SYMBOL_other,      /* not from a file's table of symbols */
	SYMBOL_function,
	SYMBOL_indirect,   /* chooses the function when the program starts (GNU_IFUNC) */
	SYMBOL_label       /* code as far as is known: assemblers say no more */
};

struct symbol {
	uint64_t start, bytes;     /* address as linked; bytes 0: not known */
	const char *name;          /* as in the file */
	uint8_t rank;              /* of several at one address the lowest is shown */
	uint8_t kind;              /* enum symbol_kind */
};

struct symbol_table {
	struct arena arena;        /* names */
	struct vec(struct symbol) symbols;
	uint64_t *ends;            /* the highest end among symbols[0..i], so that a search knows where to stop */
};

/* Adds a file's symbols. What is malformed is passed over. */
void symbol_table_add(struct symbol_table *table, const struct elf_file *file);
/* A single name, copied. */
void symbol_table_add_name(struct symbol_table *table, uint64_t start, uint64_t bytes, const char *name, uint8_t rank);
/* One whose text stays as long as the table. */
void symbol_table_add_kept(struct symbol_table *table, uint64_t start, uint64_t bytes, const char *name);
/* After the last add, before the first search. */
void symbol_table_sort(struct symbol_table *table);
void symbol_table_done(struct symbol_table *table);

/* The symbol that holds the address, NULL when none does; *ret_guessed when
 * nothing but nearness speaks for it. `unwind` may be NULL. */
const struct symbol *symbol_table_find(const struct symbol_table *table, const struct unwind_table *unwind, uint64_t address,
				       bool *ret_guessed);

/* What symbol_index.h has in common with it. */
#define SYMBOL_TABLE_MOST (16u << 20)
#define SYMBOL_TABLE_NAME_MOST 16384u
#define SYMBOL_TABLE_STEPS_BACK 64u /* over symbols that end too early, to one that does not */
/* False for what is no code, or has no name to show. */
bool symbol_table_wants(const struct elf_file *file, const Elf64_Sym *symbol, const char *names, size_t names_bytes, uint8_t *ret_rank);
/* As symbols are sorted. */
int symbol_table_order(const struct symbol *x, const struct symbol *y);
/* Whether one of which the size is not known, the last before the address, holds that. */
bool symbol_table_reaches(uint64_t start, const struct unwind_table *unwind, uint64_t address, bool *ret_guessed);

#endif
