/* Names for the frames of a trace, found when they are asked for and kept.
 *
 * A name is the function that holds the frame's address; an address that is
 * in no known function is `module+0xoffset`, never its neighbour's name. The
 * files that are read must have the build-ids of the trace. Not thread-safe. */
#ifndef SYMBOLS_NAMES_H
#define SYMBOLS_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "trace/tables.h"
#include "trace/trace.h"

struct names;

/* Length that an EVENT_symbol has when it names one address exactly, with its
 * line and inlined functions. */
#define NAMES_EXACT UINT64_MAX

/* Lower bits of an address in a module of MODULE_KIND_script: the line. */
#define NAMES_SCRIPT_LINE_BITS 24

struct module_shelf;

struct names_options {
	const char *symfs;         /* look for files below this folder first; NULL none */
	struct module_shelf *shelf; /* the caller's, for the same thread; NULL: one of its own */
	bool lines;                /* source lines and inlined functions too: debug information is read */
};

struct name_inline {
	const char *function;      /* demangled; escape when shown */
	const char *file;          /* of the call's own place; "" unknown */
	uint32_t line;             /* 0 unknown */
};

/* All texts come from foreign files: escape them when shown. */
struct name {
	const char *function;      /* demangled; "" when not known */
	const char *text;          /* what to show: function, function~ when guessed, or module+0xoffset */
	const char *module;        /* file name without its folder; "kernel"; "" none */
	const char *path;          /* whole path; "" none */
	const char *file;          /* source file of the outermost (not inlined) function; "" unknown */
	uint32_t line;             /* 0 unknown */
	uint32_t module_number;    /* as in tables */
	uint64_t address;          /* of the frame: file offset in the module */
	uint64_t function_start;   /* file offset of the function's first byte: with the module an
				    * identity that needs no symbols; the address itself when unknown */
	bool script;               /* of an interpreted language: the module is its source file */
	bool standard;             /* of a script: it comes with the interpreter, not with the program */
	bool guessed;              /* a symbol without size is near, nothing else speaks for it */
	const struct name_inline *inlines; /* functions inlined at the address, innermost first */
	uint32_t inline_count;
};

/* `options` may be NULL. Reads no symbols yet. `trace` and `tables` must stay. */
int names_open(const struct trace *trace, const struct tables *tables, const struct names_options *options,
	       struct names **ret_names, struct err *err);
void names_close(struct names *names);

/* Name of a node of the calling-context tree; never NULL, valid until
 * names_close. Node 0 and unknown nodes have the text "?". */
const struct name *names_frame(struct names *names, uint32_t node);
/* False when the node's function is surely called by no name with the text in it; finds that out without its name. */
bool names_may_hold(struct names *names, uint32_t node, const char *text);
/* Name of a place in a module (kernel: offset from _text). */
const struct name *names_place(struct names *names, uint32_t module, uint64_t address);
/* names_frame(...)->function_start without looking at any symbol table. */
uint64_t names_function_start(struct names *names, uint32_t node);
/* Source file and line of a frame, whatever the options say: reads debug information.
 * False when there is none; *ret_file stays until names_close. */
bool names_source(struct names *names, uint32_t node, const char **ret_file, uint32_t *ret_line);
/* Name of an address in the kernel, as events hold it. */
const struct name *names_kernel(struct names *names, uint64_t kernel_address);

/* Whether a script of this path comes with the interpreter. */
bool names_script_is_standard(const char *path);
/* Modules whose file was refused or not found: a text for the user for each,
 * NULL at the end; grows with what is looked up. */
const char *names_complaint(const struct names *names, uint32_t index);

#endif
