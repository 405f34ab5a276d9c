/* What a person writes to say which memory is to be watched.
 *
 *	[NAME=]PLACE[%SIZE][%access]
 *
 *	0x7f0012345678              an address
 *	FILE:SYMBOL                 a global or static variable (FILE: a path, a program's
 *	                            or library's name; without FILE: wherever it is)
 *	FILE:0xADDRESS              ... by its address as FILE was linked
 *	CODE@REGISTER[+REGISTER*SCALE][+N]
 *	                            where these registers lead when a thread is about to execute
 *	                            the instruction at CODE (FILE:FUNCTION, FILE:0xADDRESS, FILE+0xADDRESS)
 *	...+N                       N bytes behind
 *	...->FIELD, ...->N          follows the pointer that lies there, to a field or N bytes
 *	                            behind where it leads
 *	....FIELD, ...[N]           a field, an element
 *
 * Fields and elements need debug information, numbers do not. */
#ifndef PROBE_WATCH_SPEC_H
#define PROBE_WATCH_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

#define WATCH_STEPS_MOST 16
#define WATCH_NAME_MOST 64

enum watch_step_kind { WATCH_add, WATCH_follow, WATCH_field, WATCH_index };

struct watch_step {
	enum watch_step_kind kind;
	int64_t number;            /* bytes, or the element's number */
	const char *field;
};

/* A place that registers tell: base + index * scale + displacement. */
struct watch_registers {
	uint8_t base, index;       /* REGISTER_; index may be REGISTER_none */
	uint8_t scale;
	int64_t displacement;
};

struct watch_spec {
	const char *name;          /* as answers call it */
	const char *written;       /* the whole text, for messages */
	const char *file;          /* NULL: none is named */
	const char *symbol;        /* NULL: `address` is meant, as linked where a file is named */
	uint64_t address;
	bool by_offset;            /* written FILE+0xADDRESS */
	bool at_code;              /* that is code, where `registers` tell the place */
	uint64_t behind;           /* ... bytes behind the function's beginning */
	struct watch_registers registers;
	struct watch_step steps[WATCH_STEPS_MOST];
	size_t step_count;
	uint32_t bytes;            /* 0: as large as the variable is */
	bool access;               /* reads too */
};

/* The failure says what is wrong with the text. */
int watch_spec_parse(struct arena *arena, const char *text, struct watch_spec *ret_spec, struct err *err);

#endif
