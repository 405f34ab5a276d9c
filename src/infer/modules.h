/* What a module is to a program: its own binary, a library it is linked with, a
 * plug-in it loaded by itself. This tells whether a cause is the program's own
 * (internal) or came from outside (external).
 *
 * What a program is linked with is read from its file and its libraries' (the
 * needed ones, all the way down), as the trace's modules name them. A file that
 * cannot be read is taken to need nothing. */
#ifndef INFER_MODULES_H
#define INFER_MODULES_H

#include "infer/functions.h"
#include "trace/tables.h"

struct modules;

/* `tables` may be NULL: nothing is then known but by name. Results live in the arena. */
struct modules *modules_new(struct arena *arena, const struct tables *tables);
void modules_free(struct modules *modules);
/* Of a function in a program (its executable's path). */
enum place modules_place(struct modules *modules, const char *program, const struct function *function);
/* "program", "plug-in", "library", ... */
const char *place_name(enum place place);
/* Outside of the program: somebody else's part of the cause. */
static inline bool place_is_external(enum place place)
{
	return place != PLACE_program && place != PLACE_unknown;
}
/* Code that runs for whoever calls it, so that its caller is the one to look at. */
static inline bool place_is_floor(enum place place)
{
	return place == PLACE_runtime || place == PLACE_kernel || place == PLACE_system_call;
}

#endif
