/* A build of CPython's interpreter, recognised in the file of a program or library: where
 * its state lies, which of its code runs Python's, and by which offsets its frames are
 * read (record/python_maps.h). A version that is not in the table is left alone. */
#ifndef RECORD_PYTHON_BUILD_H
#define RECORD_PYTHON_BUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "record/python_maps.h"
#include "symbols/elf_file.h"
#include "symbols/python_lines.h"
#include "symbols/unwind_table.h"

struct python_range {
	uint64_t start, end;        /* file offsets */
};

struct python_build {
	uint32_t version;           /* number of a row of the table; 0: no interpreter, or of no version known */
	uint32_t reserved;
	uint64_t key;               /* address as linked of the number of the key of threads' states */
	struct python_range loop[2]; /* the function that runs code, and its part for what is rare */
};

/* `name` is the file's, without its folder; `table` the file's, or NULL. */
void python_build_find(const struct elf_file *file, const char *name, const struct unwind_table *table, struct python_build *ret_build);
/* Whether a file offset lies in the function that runs code. */
bool python_build_runs(const struct python_build *build, uint64_t offset);

/* Of a row of the table: offsets, or NULL where there is no such row. */
const struct python_offsets *python_version_offsets(uint32_t version);
/* "3.11" */
const char *python_version_name(uint32_t version);
/* Where in its code a frame is, and the form of its lines. */
uint64_t python_version_place(uint32_t version, uint64_t code, uint64_t place);
enum python_lines_form python_version_lines(uint32_t version);

#endif
