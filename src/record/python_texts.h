/* Files, functions and lines of Python code, from the texts that the kernel read of code
 * objects: a source file is a module of the trace, a function a number in it, a frame's
 * address that number and a line (MODULE_KIND_script).
 *
 * What processes have in common is kept once. Texts are another program's: they are checked,
 * and all of them together are bounded; where they grow too many, code objects are forgotten
 * and told again. Of one thread. */
#ifndef RECORD_PYTHON_TEXTS_H
#define RECORD_PYTHON_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "record/python_maps.h"

#define PYTHON_FILES_MOST 65536u
#define PYTHON_FUNCTIONS_MOST (1u << 20)
#define PYTHON_CODES_BYTES (4u << 20) /* of code objects and their tables of lines */
#define PYTHON_CODE_BYTES 96u         /* of one without its table: itself, and its place in a map that is half full */
#define PYTHON_LINE_BITS 24

struct python_file {
	const char *path;
	uint32_t module;            /* number in the trace */
	uint32_t functions;         /* numbers given in it */
};

struct python_function {
	const char *name;
	uint32_t module, number, line;
};

struct python_known_code {
	uint64_t code, check;
	uint32_t layout, line, module, number;
	uint32_t lines_bytes;
	const uint8_t *lines;
};

struct python_texts {
	struct arena names, codes;
	struct map by_path, by_function, by_code, by_lines; /* hash -> index + 1 */
	struct vec(struct python_file) files;
	struct vec(struct python_function) functions;
	struct vec(struct python_known_code) known;
	size_t codes_bytes;
	size_t files_told, functions_told; /* those before are in the trace's file */
};

/* The text that a string's characters of one, two or four bytes (0: all are ASCII) make, with its NUL. */
void python_text_decode(struct buf *to, const uint8_t *from, size_t bytes, unsigned unit);

void python_texts_done(struct python_texts *texts);
/* Takes what was reported about a code object. `reserve` gives a number for a new file. False where it is no
 * such message, or there is no room: its frames have no name then. */
bool python_texts_take(struct python_texts *texts, const struct python_code_message *message, size_t bytes,
		       uint32_t (*reserve)(void *data), void *data);
/* Room for new code objects is used up: those known are to be forgotten. */
bool python_texts_full(const struct python_texts *texts);
void python_texts_forget(struct python_texts *texts);
/* Module and address of a frame; false when its code object was not told. */
bool python_texts_frame(const struct python_texts *texts, uint32_t version, uint32_t layout, const struct python_frame *frame,
			uint32_t *ret_module, uint64_t *ret_address);

#endif
