#include "symbols/demangle.h"

#include <setjmp.h>
#include <string.h>

#include <libiberty/demangle.h>

enum { MAX_MANGLED_BYTES = 4096, MAX_PLAIN_BYTES = 2048, MAX_PIECES = 20000 };

/* A short mangled name can stand for terabytes; the demangler hands its text
 * out in pieces, holds nothing but its own stack, and can be left any time. */
struct output {
	jmp_buf too_long;
	size_t length, pieces;
	char text[MAX_PLAIN_BYTES + 1];
};

static void output_add(const char *piece, size_t length, void *data)
{
	struct output *out = data;
	if (length > MAX_PLAIN_BYTES - out->length || ++out->pieces > MAX_PIECES)
		longjmp(out->too_long, 1);
	if (length) /* an empty piece may come without an address */
		memcpy(out->text + out->length, piece, length);
	out->length += length;
}

const char *demangle(struct arena *arena, const char *name)
{
	struct output out;
	out.length = out.pieces = 0;
	if ((name[0] != '_' || (name[1] != 'Z' && name[1] != 'R')) || strnlen(name, MAX_MANGLED_BYTES + 1) > MAX_MANGLED_BYTES)
		return NULL;
	if (setjmp(out.too_long))
		return NULL;
	if (!rust_demangle_callback(name, 0, output_add, &out)) {
		out.length = out.pieces = 0;
		if (!cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI, output_add, &out))
			return NULL;
	}
	return out.length ? arena_strndup(arena, out.text, out.length) : NULL;
}
