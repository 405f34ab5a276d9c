/* Names of one module's addresses: its file found and checked, its symbols
 * loaded when first asked. */
#ifndef SYMBOLS_MODULE_NAMES_H
#define SYMBOLS_MODULE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/debug_file.h"
#include "symbols/symbol_index.h"
#include "symbols/symbol_table.h"
#include "trace/tables.h"

#define MODULE_NAMES_HELD 12

struct module_names {
	const struct module *module;
	bool opened, have_file;        /* the file was looked for; it was found and is the right one */
	bool bounded;                  /* functions' bounds were looked for */
	bool loaded;                   /* symbols were loaded */
	struct elf_file file;
	char *path;                    /* of the file that was opened; owned */
	struct unwind_table unwind;    /* functions' bounds; empty when there are none */
	struct symbol_index index;     /* of the file's own symbols, ... */
	struct symbol_table symbols;   /* ... or with those of other files all of them */
	struct { uint64_t key; bool holds; } held[MODULE_NAMES_HELD]; /* texts that were looked for in all its names at once */
	unsigned held_count;
	char complaint[480];           /* why there is no file, or it was refused; "" nothing to say */
};

/* Finds the file. */
void module_names_open(struct module_names *m, const struct debug_places *places);
/* Its functions' bounds too. */
void module_names_bounds(struct module_names *m, const struct debug_places *places);
/* Which files, in which state, its names come from; after module_names_open, which found one. */
uint64_t module_names_stamp(const struct module_names *m, const struct debug_places *places, bool lines);
/* False when no name in the file's own symbol tables holds the text: then nothing of it need be loaded to know that a
 * function is called otherwise. */
bool module_names_may_hold(struct module_names *m, const struct debug_places *places, const char *text);
/* The symbols too. */
void module_names_load(struct module_names *m, const struct debug_places *places);
/* The symbol that holds the address, as linked; its name in the arena. False when none does. */
bool module_names_find(const struct module_names *m, struct arena *arena, uint64_t address, uint64_t *ret_start, const char **ret_name,
		       bool *ret_guessed);
void module_names_done(struct module_names *m);

/* File offset to address as linked; for what is no file the same. */
bool module_names_address(const struct module_names *m, uint64_t offset, uint64_t *ret_address);
bool module_names_offset(const struct module_names *m, uint64_t address, uint64_t *ret_offset);

#endif
