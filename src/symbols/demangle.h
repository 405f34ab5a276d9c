/* C++ (Itanium) and Rust (legacy and v0) names as their authors wrote them, and
 * shorter. */
#ifndef SYMBOLS_DEMANGLE_H
#define SYMBOLS_DEMANGLE_H

#include "base/arena.h"

/* In the arena; NULL when the name is not mangled, or too long or too deep to
 * be made readable. */
const char *demangle(struct arena *arena, const char *name);

/* A demangled name for sentences: without parameters, result and long template
 * arguments: "std::map<...>::find". Other names as they are. In the arena. */
const char *demangle_brief(struct arena *arena, const char *name);

#endif
