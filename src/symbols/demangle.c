#include "symbols/demangle.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "base/buf.h"

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

/* ---- brief ---- */

#define ANONYMOUS "(anonymous namespace)"
#define CLONE " [clone "

enum { SHORT_ARGUMENTS = 16 };

/* Behind the bracket that closes the one at `at`; the end when none does. */
static const char *behind_bracket(const char *at)
{
	char open = *at, close = open == '(' ? ')' : open == '<' ? '>' : '}';
	unsigned depth = 0;

	for (; *at; at++) {
		if (open == '<' && *at == '-' && at[1] == '>')
			at++; /* an arrow closes nothing */
		else if (*at == open)
			depth++;
		else if (*at == close && !--depth)
			return at + 1;
	}
	return at;
}

/* An operator's own signs are no brackets: operator(), operator<<, operator->. */
static const char *add_operator(struct buf *out, const char *at)
{
	size_t length = strlen("operator");

	if (at[length] == '(' && at[length + 1] == ')')
		length += 2;
	else
		length += strspn(at + length, "<>=!+-*/%^&|~,[]");
	buf_add(out, at, length);
	at += length;
	/* A conversion, or new and delete: what it is of belongs to the name. */
	if (*at == ' ') {
		length = strcspn(at, "(");
		buf_add(out, at, length);
		at += length;
	}
	return at;
}

static bool begins_operator(const char *name, const char *at)
{
	bool word = at > name && (isalnum((unsigned char)at[-1]) || at[-1] == '_');

	return !word && !strncmp(at, "operator", strlen("operator")) && !isalnum((unsigned char)at[strlen("operator")]) &&
	       at[strlen("operator")] != '_';
}

/* Only what ends in parameters is surely a C++ name: Go's main.(*T).f is none. */
static bool has_parameters(const char *name)
{
	const char *last = strrchr(name, ')');

	return last && (!last[1] || !strcmp(last + 1, " const") || !strncmp(last + 1, CLONE, strlen(CLONE)));
}

const char *demangle_brief(struct arena *arena, const char *name)
{
	struct buf out;
	const char *text;

	if (!has_parameters(name))
		return name;
	buf_init(&out);
	for (const char *at = name; *at; ) {
		const char *end;

		if (!strncmp(at, CLONE, strlen(CLONE))) {
			break;
		} else if (begins_operator(name, at)) {
			at = add_operator(&out, at);
		} else if (!strncmp(at, ANONYMOUS, strlen(ANONYMOUS))) {
			buf_text(&out, ANONYMOUS);
			at += strlen(ANONYMOUS);
		} else if (*at == '(' && at > name) {
			at = behind_bracket(at);
			/* A function's own qualifiers; names inside of it go on with "::". */
			if (!strncmp(at, " const", 6))
				at += 6;
		} else if (*at == '<' && at > name) {
			end = behind_bracket(at);
			if (end - at <= SHORT_ARGUMENTS)
				buf_add(&out, at, (size_t)(end - at));
			else
				buf_text(&out, "<...>");
			at = end;
		} else if (*at == '{') {
			end = behind_bracket(at);
			buf_add(&out, at, (size_t)(end - at));
			at = end;
		} else if (*at == ' ' && isalpha((unsigned char)at[1]) && at > name) {
			/* What stood before was the type of the result. */
			buf_clear(&out);
			at++;
		} else {
			buf_char(&out, *at++);
		}
	}
	text = out.length ? arena_strndup(arena, out.data, out.length) : name;
	buf_done(&out);
	return text;
}
