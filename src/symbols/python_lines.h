/* The lines of a Python function: the table that the interpreter keeps with each code
 * object, as untrusted input. */
#ifndef SYMBOLS_PYTHON_LINES_H
#define SYMBOLS_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

enum python_lines_form {
	PYTHON_LINES_STEPS,        /* 3.9: steps of the address and of the line */
	PYTHON_LINES_RANGES,       /* 3.10: ranges, of which some have no line */
	PYTHON_LINES_LOCATIONS,    /* 3.11 and later: lines and columns, packed */
	PYTHON_LINES_NONE,         /* no table: a place is a line */
	PYTHON_LINES_FIRST         /* no table: there is only one line */
};

/* Line of the instruction so many bytes into the code; 0 when the table does not tell. */
uint32_t python_lines_find(enum python_lines_form form, const void *table, size_t bytes, uint32_t first_line, uint64_t offset);

#endif
