/* Call frame information: .eh_frame or .debug_frame turned into stretches of
 * code with one unwind rule each.
 *
 * Input is untrusted; time and memory are bounded by its size. Functions come
 * in the order of their addresses, without overlaps. */
#ifndef SYMBOLS_CFI_H
#define SYMBOLS_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "symbols/unwind.h"

struct cfi_row {
	uint32_t offset;           /* from the function's start */
	struct unwind_rule rule;
};

struct cfi_function {
	uint64_t start, end;       /* addresses as linked; end is behind the last byte */
	uint64_t first_row;        /* in cfi.rows */
	uint32_t row_count;
};

struct cfi {
	struct vec(struct cfi_function) functions;
	struct vec(struct cfi_row) rows;
	uint64_t skipped;          /* entries that could not be read */
	bool bounds_only;          /* functions get no rows */
};

struct cfi_section {
	const uint8_t *data;
	size_t bytes;
	uint64_t address;          /* where it lies, as linked */
	uint64_t text_address;     /* for text-relative pointers, 0 unknown */
	uint64_t data_address;     /* for data-relative pointers, 0 unknown */
	int debug_frame;           /* .debug_frame, not .eh_frame */
};

/* Adds the section's functions; may be called for several sections. */
void cfi_parse(const struct cfi_section *section, struct cfi *cfi);
/* Sorts what was added and cuts overlaps; the first section's entries win. */
void cfi_sort(struct cfi *cfi);
void cfi_done(struct cfi *cfi);

#endif
