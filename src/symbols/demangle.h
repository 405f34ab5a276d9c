/* C++ (Itanium) and Rust (legacy and v0) names as their authors wrote them. */
#ifndef SYMBOLS_DEMANGLE_H
#define SYMBOLS_DEMANGLE_H

#include "base/arena.h"

/* In the arena; NULL when the name is not mangled, or too long or too deep to
 * be made readable. */
const char *demangle(struct arena *arena, const char *name);

#endif
