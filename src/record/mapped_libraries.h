/* Files of libraries that processes have mapped: copies in containers and folders of their own, and those that were replaced. */
#ifndef RECORD_MAPPED_LIBRARIES_H
#define RECORD_MAPPED_LIBRARIES_H

#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"

#define MAPPED_COPIES_MOST 32u     /* of one library */

struct mapped_copy {
	uint64_t device, inode;
	uint32_t library;          /* which of the names */
	char path[80];             /* as we reach it */
};

struct mapped_libraries {
	struct vec(const char *) names;    /* "libx.so.0": which ones are looked for; of each once */
	struct vec(struct mapped_copy) copies;
};

void mapped_libraries_add(struct mapped_libraries *libraries, const char *name);
/* Which of the names, SIZE_MAX none. */
size_t mapped_libraries_name(const struct mapped_libraries *libraries, const char *name);
/* Looks through all processes once. The file that the name means to us is not among its copies. */
void mapped_libraries_find(struct arena *arena, struct mapped_libraries *libraries);
void mapped_libraries_done(struct mapped_libraries *libraries);

#endif
