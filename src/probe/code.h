/* The code of a program or library: its functions, their instructions, and where in them
 * a run's way is decided. Other files' code can be joined to it: their addresses then have the
 * file's number on top, and calls lead from one to the other.
 *
 * Addresses are as the file was linked. Instructions of a function are those that can be
 * reached from its beginning, so that no place in the midst of one is taken for one. */
#ifndef PROBE_CODE_H
#define PROBE_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "probe/instruction.h"
#include "symbols/elf_file.h"
#include "symbols/symbol_table.h"
#include "symbols/unwind_table.h"

#define CODE_FILES 9u                     /* the first and those joined to it */
#define CODE_FILE_SHIFT 56u               /* where in an address the file's number is */

struct code {
	const char *path;
	struct elf_file elf;
	struct unwind_table unwind;
	bool has_unwind;
	struct symbol_table symbols;
	struct arena arena;
	struct map known;                 /* address to instruction's index + 1; 0 none there */
	struct vec(struct instruction) instructions;
	uint8_t *window;                  /* bytes of the file around what was last decoded */
	uint64_t window_at, window_bytes;
	struct code *joined[CODE_FILES];  /* by number; not the first, which is this one */
	struct map imports;               /* words that hold addresses of other files' functions, to these (imports.h) */
	struct map import_names;          /* such words of this file to names; once `names_read` */
	bool names_read;
};

/* Takes over the file. */
void code_open(struct code *code, struct elf_file elf, const char *path);
void code_close(struct code *code);
/* Makes the file's code part of this one, under a number from 1 on that no other has. Takes over the file. */
void code_join(struct code *code, unsigned number, struct elf_file elf, const char *path);
/* The file that the address is in and its address there; NULL when none has its number. */
const struct code *code_file(const struct code *code, uint64_t address, uint64_t *ret_linked);
static inline unsigned code_file_number(uint64_t address)
{
	return (unsigned)(address >> CODE_FILE_SHIFT);
}
static inline uint64_t code_file_base(unsigned number)
{
	return (uint64_t)number << CODE_FILE_SHIFT;
}
/* The word that the call or jump at the address, or the stub there, takes its target from; 0 it is none. */
uint64_t code_import_word(struct code *code, uint64_t address);

/* The instruction at the address; NULL when there is none. Valid until the next call. */
const struct instruction *code_at(struct code *code, uint64_t address);
/* Whether there are bytes in [start, end) of the first file that would call the function directly: without decoding. */
bool code_may_call(struct code *code, uint64_t start, uint64_t end, uint64_t function);
/* Its bytes, at most INSTRUCTION_MOST, valid until the next call; 0 when there are none. */
size_t code_bytes(struct code *code, uint64_t address, const uint8_t **ret_bytes);
void code_text(struct code *code, uint64_t address, char text[INSTRUCTION_TEXT]);
/* The function that holds the address: by the unwind table, else by its symbol. */
bool code_function(const struct code *code, uint64_t address, uint64_t *ret_start, uint64_t *ret_end);
/* "function+0x12", "0x1234" without a name; with the file's name before it where several are joined. In the arena. */
const char *code_name(const struct code *code, struct arena *arena, uint64_t address);
/* Begin of the function of this name; -ENOENT with a sentence. */
int code_find(struct code *code, const char *name, uint64_t *ret_start, struct err *err);

/* Whether an instruction begins at the address, counted from its function's beginning; else
 * *ret_before and *ret_behind are the nearest ones that do. -ENOENT: in no function whose bounds are known. */
int code_begins(struct code *code, uint64_t address, uint64_t *ret_before, uint64_t *ret_behind);

struct code_sites {
	struct vec(uint64_t) addresses;   /* of conditional branches, calls, indirect jumps, returns */
	struct vec(uint64_t) functions;   /* begins of those that were gone through */
	bool cut;                         /* there would be more */
};

#define CODE_SITES_MOST 4096u

/* Places where the way of a run through the functions is decided, and through those of the
 * same file, and of joined ones, that they call, so many calls deep. */
void code_find_sites(struct code *code, const uint64_t *functions, size_t count, unsigned depth, struct code_sites *ret_sites);
void code_sites_done(struct code_sites *sites);
/* By address; what was added since belongs to them from then on. */
void code_sites_sort(struct code_sites *sites);
bool code_is_site(const struct code_sites *sites, uint64_t address);
/* Instructions from the address up to the next of the places, without that one. */
unsigned code_straight(struct code *code, const struct code_sites *sites, uint64_t address);

#endif
