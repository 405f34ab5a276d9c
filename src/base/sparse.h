/* An array of which few stretches are used: memory that reads as zero and is taken by the
 * page where it is written, however far out that is. */
#ifndef BASE_SPARSE_H
#define BASE_SPARSE_H

#include <stdbool.h>
#include <stddef.h>

struct sparse {
	void *memory;              /* NULL while nothing was asked for */
	size_t bytes;
	bool aside;                /* set before the first use: large, and mostly read; it may lie aside (see below) */
	int file;                  /* + 1, in which it lies; 0 none */
};

/* For work that must not take much memory: arrays that may lie aside are files without a name in this folder from now on, whose
 * pages the kernel writes out and takes back as it does a file's. Of the whole process, for good; NULL: no more. */
void sparse_lie_in(const char *folder);

/* Makes it at least so large; it may be elsewhere then. Ends the process where there is no room. */
void sparse_reach(struct sparse *sparse, size_t bytes);
void sparse_done(struct sparse *sparse);

#endif
