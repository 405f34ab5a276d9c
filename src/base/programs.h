/* Where a shell would find a program. */
#ifndef BASE_PROGRAMS_H
#define BASE_PROGRAMS_H

#include "base/arena.h"

/* The path of the first executable file of this name in PATH; NULL: there is none. */
const char *program_in_path(struct arena *arena, const char *name);

#endif
