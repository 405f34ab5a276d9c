/* See programs.h. */
#include "base/programs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *program_in_path(struct arena *arena, const char *name)
{
	const char *path = getenv("PATH");

	for (const char *at = path ? path : "/usr/bin:/bin"; *at;) {
		size_t length = strcspn(at, ":");
		const char *whole = arena_printf(arena, "%.*s/%s", (int)length, at, name);

		if (length && !access(whole, X_OK))
			return whole;
		at += length + (at[length] == ':');
	}
	return NULL;
}
