/* Where the code of a source line is, by a file's debug information. */
#ifndef PROBE_SOURCE_LINE_H
#define PROBE_SOURCE_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SOURCE_LINE_PLACES_MOST 64u

/* Addresses as linked, in ascending order: one for each function that holds the line, or a copy of it
 * that was inlined. `source` is the end of a path: "queue.c", "src/queue.c". -ENOENT says
 * which lines near by have code. */
int source_line_find(const char *path, const char *source, unsigned line, uint64_t ret_addresses[SOURCE_LINE_PLACES_MOST], size_t *ret_count,
		     struct err *err);

#endif
