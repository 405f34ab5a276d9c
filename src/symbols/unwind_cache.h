/* Unwind tables kept between runs (cache_file.h), by build-id; taken only for the very file or the same bytes: a build-id
 * can be copied. Small tables are made faster than they are found, and are not kept. */
#ifndef SYMBOLS_UNWIND_CACHE_H
#define SYMBOLS_UNWIND_CACHE_H

#include "symbols/unwind_table.h"

#define UNWIND_CACHE_MAGIC 0x3330776e75677261ull /* "argunw03" */

/* The file's table, from the cache when it is there; made and kept else. One from the cache lies in its file (`file`,
 * `rows_at`), which is replaced and never written in place. */
int unwind_cache_table(const struct elf_file *file, struct unwind_table *ret_table, struct err *err);

/* The same for who asks for its functions' bounds alone: of a file whose table is not kept nothing else is made, and what is kept
 * lies in its file, where memory is scarce. */
int unwind_cache_bounds(const struct elf_file *file, struct unwind_table *ret_table, struct err *err);

/* Of a table that was just made and kept: the one in the cache's file in its place. */
void unwind_cache_take(const struct elf_file *file, struct unwind_table *table);

/* A table in a file's bytes; `bytes` must stay as long as the table. False
 * when they do not hold together. */
bool unwind_cache_read(const void *data, size_t bytes, const char *build_id, struct unwind_table *ret_table);

#endif
