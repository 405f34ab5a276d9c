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

struct python_range {
	uint64_t start, end;        /* file offsets */
};

struct python_build {
	uint32_t version;           /* number of a row of the table; 0: no interpreter, or of no version known */
	uint32_t reserved;
	uint64_t key;               /* address as linked of the number of the key of threads' states */
	uint64_t names;             /* ... of Ruby's table of names; 0: not found */
	struct python_range loop[2]; /* the function that runs code, and its part for what is rare */
	struct python_range inner;  /* Ruby: what it calls for that, of which nothing is told */
};

/* Where a version keeps its modules and asyncio's tasks, and where a coroutine's frame is; numbers as its headers have them, of
 * asyncio's structures as the version itself shows them. */
struct python_task_offsets {
	uint16_t interpreter;       /* in the interpreter's state: the first interpreter; 0: tasks of this version are not known */
	uint16_t modules;           /* in that one: the list of modules */
	uint8_t keys;               /* enum python_keys: how a dictionary's keys lie */
	uint8_t attributes;         /* enum python_attributes */
	uint8_t frames;             /* enum python_coroutine */
	uint8_t values;             /* before the first of an instance's values */
	uint16_t type_keys;         /* in a class: the keys that its instances share */
	uint16_t generator_frame, generator_state;
	uint16_t stack_top, stack;  /* in a frame */
	uint16_t task_state, task_awaits, task_coroutine, task_name;
};

enum python_keys {
	PYTHON_KEYS_SIZED,          /* how many there are, then a function */
	PYTHON_KEYS_LOGARITHM       /* its logarithm, and a kind */
};

enum python_attributes {
	PYTHON_ATTRIBUTES_DICTIONARY, /* where the class says */
	PYTHON_ATTRIBUTES_TWO,      /* values and a dictionary, each in a word before the object */
	PYTHON_ATTRIBUTES_TAGGED,   /* one word for both */
	PYTHON_ATTRIBUTES_INLINE    /* values behind the object's head, or a dictionary */
};

enum python_coroutine {
	PYTHON_COROUTINE_TOP,       /* a frame elsewhere, with the address behind the newest value */
	PYTHON_COROUTINE_DEPTH,     /* ... with the number of values */
	PYTHON_COROUTINE_INSIDE     /* the frame lies in it */
};

/* `name` is the file's, without its folder. */
void python_build_find(const struct elf_file *file, const char *name, struct python_build *ret_build);
/* Whether a file offset lies in the function that runs code. */
bool python_build_runs(const struct python_build *build, uint64_t offset);

/* Of a row of the table: offsets, or NULL where there is no such row. */
const struct python_offsets *python_version_offsets(uint32_t version);
/* NULL: its tasks are not known. */
const struct python_task_offsets *python_version_tasks(uint32_t version);
/* From the address of a build's key to the interpreter's state. */
uint64_t python_version_state(uint32_t version, uint64_t key);
/* "3.11" */
const char *python_version_name(uint32_t version);
/* Where in its code a frame is, and the form of its lines. */
uint64_t python_version_place(uint32_t version, uint64_t code, uint64_t place);
enum python_lines_form python_version_lines(uint32_t version);

#endif
