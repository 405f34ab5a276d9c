/* An array of which few stretches are used: memory that reads as zero and is taken by the
 * page where it is written, however far out that is. */
#ifndef BASE_SPARSE_H
#define BASE_SPARSE_H

#include <stddef.h>

struct sparse {
	void *memory;              /* NULL while nothing was asked for */
	size_t bytes;
};

/* Makes it at least so large; it may be elsewhere then. Ends the process where there is no room. */
void sparse_reach(struct sparse *sparse, size_t bytes);
void sparse_done(struct sparse *sparse);

#endif
