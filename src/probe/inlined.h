/* Functions that have no code of their own: the compiler put copies of them into their callers. */
#ifndef PROBE_INLINED_H
#define PROBE_INLINED_H

#include <stdbool.h>

#include "base/arena.h"

struct inlined {
	unsigned copies;
	const char *source;        /* of the first copy's beginning: "queue.c" */
	unsigned line;
	const char *caller;        /* the function that it is in */
};

/* By the debug information of the file; false without any, and of a function that it does not tell of as inlined. */
bool inlined_find(struct arena *arena, const char *path, const char *function, struct inlined *ret_inlined);

#endif
