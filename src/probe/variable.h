/* Variables of a program or library and their types: where a global or static one
 * lies, how large it is, where its fields are.
 *
 * Found by the file's symbols, its debug file's, and debug information; without any
 * of the latter a variable has no type, and fields can be given as numbers only. */
#ifndef PROBE_VARIABLE_H
#define PROBE_VARIABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "symbols/debug_info.h"
#include "symbols/elf_file.h"

struct variable_file {
	const char *path;            /* for messages */
	struct elf_file elf, debug;  /* `debug` is used where has_debug */
	bool has_debug, has_info;
	struct debug_info info;
};

/* What lies somewhere. */
struct variable {
	uint64_t address;            /* as the file was linked; of a thread's own its place in the module's block */
	uint64_t bytes;              /* 0 not known */
	bool is_thread_local;
	bool typed;
	Dwarf_Die type;
};

/* Takes over the file, also on failure. `shown` is its path as answers name it. */
int variable_file_open(struct variable_file *file, struct elf_file elf, const char *path, const char *shown, struct err *err);
void variable_file_close(struct variable_file *file);

/* -ENOENT with the nearest names; -EINVAL when there are several, with their addresses. */
int variable_find(struct arena *arena, struct variable_file *file, const char *name, struct variable *ret_variable, struct err *err);
/* The variable that holds the address as linked, for naming: its name in the arena and
 * how far behind its begin; NULL when none does. */
const char *variable_at(struct arena *arena, struct variable_file *file, uint64_t address, uint64_t *ret_offset);

/* Each changes what is meant; the address is changed by the caller. */
/* A field: its place from the begin of what is meant. */
int variable_field(struct variable *variable, const char *field, uint64_t *ret_offset, struct err *err);
int variable_element(struct variable *variable, int64_t number, uint64_t *ret_offset, struct err *err);
/* What a pointer leads to; without a type any is taken for one. */
int variable_follow(struct variable *variable, struct err *err);
/* The type in words: "struct queue", "int"; "" not known. In the arena. */
const char *variable_type_text(struct arena *arena, struct variable *variable);

#endif
