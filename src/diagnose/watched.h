/* What a wait for changes of files (inotify, fanotify) is for: which files or folders are watched, and who has one of
 * them, or a file in such a folder, open for writing. Of who is to make a file that is not there yet nothing is known. */
#ifndef DIAGNOSE_WATCHED_H
#define DIAGNOSE_WATCHED_H

#include "diagnose/scene.h"

struct watched {
	const char *path;          /* of the file or folder that the writer's lies in, else of the first; "" not known */
	uint32_t files;            /* that are watched; 0: nothing is known of that */
	uint32_t writer;           /* thread: of those that stand out the first, else of all; 0 nobody is known */
	uint32_t writers;          /* other processes that have such a file open for writing, ... */
	uint32_t standing_out;     /* ... and of those that are stopped, or kept by a lock or inside the kernel */
};

/* The group that the thread waits for, alone or among other things; 0 none. */
uint64_t watched_group(const struct scene *scene, const struct wait *w);
/* By the last snapshot up to `to_ns`. */
void watched_find(const struct scene *scene, const struct wait *w, uint64_t from_ns, uint64_t to_ns, struct watched *ret_watched);

#endif
