/* Where a module's symbols and debug information are when they are not in the
 * module itself: by build-id and debuglink under /usr/lib/debug, in
 * .gnu_debugdata, and from debuginfod when DEBUGINFOD_URLS is set. */
#ifndef SYMBOLS_DEBUG_FILE_H
#define SYMBOLS_DEBUG_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "symbols/elf_file.h"
#include "symbols/file_opener.h"
#include "symbols/symbol_table.h"

/* Where files are looked for, and how they are opened. */
struct debug_places {
	struct file_opener *opener; /* NULL none */
	const char *symfs;         /* a folder above that of the machine, NULL none */
};

/* `build_id` in hexadecimal; asks debuginfod only when `remote`. */
bool debug_file_by_build_id(const struct debug_places *places, const char *build_id, bool remote, char *path, size_t path_bytes);
/* Path of the file's separate debug file, checked by build-id or checksum. */
bool debug_file_find(const struct debug_places *places, const struct elf_file *file, const char *file_path, bool remote, char *path,
		     size_t path_bytes);
/* The user has named servers of debug files. */
bool debug_file_remote(void);
/* Symbols from the debug file, else from .gnu_debugdata. */
void debug_file_add_symbols(const struct debug_places *places, const struct elf_file *file, const char *file_path,
			    struct symbol_table *symbols);

#endif
