/* A module's unwind table: pages, rows and rules as unwind.h says, and the
 * bounds of its functions.
 *
 * Made from an ELF file's .eh_frame and .debug_frame, or read from the cache;
 * read-only afterwards, so that several threads may use one. */
#ifndef SYMBOLS_UNWIND_TABLE_H
#define SYMBOLS_UNWIND_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "symbols/cfi.h"
#include "symbols/elf_file.h"
#include "symbols/unwind.h"

struct unwind_function {
	uint32_t start, bytes;     /* start from `base` */
};

struct unwind_table {
	uint64_t base;             /* address, as linked, of the first page */
	uint32_t page_count;
	uint32_t row_count;
	uint32_t rule_count;
	uint32_t function_count;
	const uint32_t *pages;     /* page_count + 1: number of each page's first row */
	const uint32_t *rows;      /* NULL of an outline, whose rows stay in `file` */
	const struct unwind_rule *rules;      /* rule 0 is UNWIND_NONE */
	const struct unwind_function *functions; /* sorted, without overlaps */
	uint64_t skipped;          /* entries of the sections that could not be read */
	void *memory;              /* all of the above; owned, NULL when mapped */
	size_t mapped_bytes;       /* of a mapping that is owned */
	void *mapped;
	int file;                  /* descriptor, + 1, of the file that the table lies in; owned, 0 none */
	uint64_t rows_at;          /* where in it the rows are */
};

/* -ENODATA when the module has no call frame information. */
int unwind_table_make(const struct elf_file *file, struct unwind_table *ret_table, struct err *err);
/* A table of its functions' bounds alone, without rules. */
int unwind_table_bounds(const struct elf_file *file, struct unwind_table *ret_table, struct err *err);
/* The same from functions that are sorted already (cfi_sort). */
int unwind_table_from(const struct cfi *cfi, struct unwind_table *ret_table, struct err *err);
void unwind_table_done(struct unwind_table *table);

/* The rule for an address as linked; UNWIND_NONE outside of the table. */
struct unwind_rule unwind_table_rule(const struct unwind_table *table, uint64_t address);
/* The function that holds the address, NULL when none is known. */
const struct unwind_function *unwind_table_function(const struct unwind_table *table, uint64_t address);
size_t unwind_table_bytes(const struct unwind_table *table);

/* The table as bytes, for a file or another process. */
size_t unwind_table_packed_bytes(const struct unwind_table *table);
void unwind_table_pack(const struct unwind_table *table, void *to);
/* A table that lies in `data`, which is aligned to 8 bytes and stays the caller's. False when the
 * bytes are none: what searches rely on is checked. */
bool unwind_table_unpack(const void *data, size_t bytes, struct unwind_table *ret_table);

/* The outline of a table: pages and rules, without rows and functions. What is read of the
 * rows later is checked then (unwind_rows_sound). */
size_t unwind_outline_packed_bytes(const struct unwind_table *table);
void unwind_outline_pack(const struct unwind_table *table, void *to);
bool unwind_outline_unpack(const void *data, size_t bytes, struct unwind_table *ret_table);
/* A page's rows, `count` of them: sorted from the page's first byte on, by rules that there are. */
bool unwind_rows_sound(const uint32_t *rows, uint32_t count, uint32_t rule_count);

#endif
