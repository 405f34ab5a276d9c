/* Pages of what becomes large. */
#ifndef BASE_POPULATE_H
#define BASE_POPULATE_H

#include "base/vec.h"

/* Memory that is about to be written, all of it: its pages are made at once. One by one, as
 * they are first touched, they cost more than twice as much, on a virtual machine several
 * times what is written into them. */
void mem_populate(void *memory, size_t bytes);
/* The same for what is filled from its beginning on: of the bytes behind `populated` some
 * more, up to the capacity. Returns up to where they are now. */
size_t mem_populate_ahead(void *memory, size_t populated, size_t capacity);

/* vec_push() of what becomes large; *populated is 0 at first. */
#define vec_push_populated(v, populated, item) \
	do { \
		vec_reserve((v), (v)->length + 1); \
		if (((v)->length + 1) * sizeof(*(v)->items) > *(populated)) \
			*(populated) = mem_populate_ahead((v)->items, *(populated), (v)->capacity * sizeof(*(v)->items)); \
		(v)->items[(v)->length++] = (item); \
	} while (0)

#endif
