/* Source lines and inlined functions from DWARF, by elfutils: one module's. */
#ifndef SYMBOLS_NAMES_LINES_H
#define SYMBOLS_NAMES_LINES_H

#include <stdint.h>

#include "base/arena.h"
#include "symbols/file_opener.h"
#include "symbols/names.h"

struct names_lines;

/* Debug information of the file at `path` (its own, or its debug file at
 * `debug_path`, "" none); NULL when there is none. */
struct names_lines *names_lines_open(struct file_opener *opener, const char *path, const char *debug_path);
void names_lines_close(struct names_lines *lines);
/* Adds file, line and inlined functions to a name, in the arena. */
void names_lines_find(struct names_lines *lines, struct arena *arena, uint64_t address, struct name *name);

#endif
