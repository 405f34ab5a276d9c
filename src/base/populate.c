/* See populate.h. */
#include "base/populate.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif
#define AHEAD_LEAST (64u * 1024)
#define AHEAD_MOST (1024u * 1024)

void mem_populate(void *memory, size_t bytes)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = ((uintptr_t)memory + page - 1) & ~(page - 1);
	uintptr_t to = ((uintptr_t)memory + bytes) & ~(page - 1);

	/* older kernels cannot: then it is done page by page, later */
	if (to > from)
		(void)madvise((void *)from, to - from, MADV_POPULATE_WRITE);
}

size_t mem_populate_ahead(void *memory, size_t populated, size_t capacity)
{
	size_t step = populated / 4;

	step = step < AHEAD_LEAST ? AHEAD_LEAST : step > AHEAD_MOST ? AHEAD_MOST : step;
	if (populated >= capacity)
		return populated;
	if (step > capacity - populated)
		step = capacity - populated;
	mem_populate((char *)memory + populated, step);
	return populated + step;
}
