#include "base/sparse.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define SPARSE_LEAST ((size_t)64 << 10)

void sparse_reach(struct sparse *sparse, size_t bytes)
{
	size_t wanted = sparse->bytes ? sparse->bytes : SPARSE_LEAST;
	void *memory;

	if (bytes <= sparse->bytes)
		return;
	while (wanted < bytes)
		wanted *= 2;
	memory = sparse->memory ? mremap(sparse->memory, sparse->bytes, wanted, MREMAP_MAYMOVE)
				: mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED) {
		fprintf(stderr, "argus: out of memory (%zu bytes wanted)\n", wanted);
		abort();
	}
	*sparse = (struct sparse){ memory, wanted };
}

void sparse_done(struct sparse *sparse)
{
	if (sparse->memory)
		munmap(sparse->memory, sparse->bytes);
	*sparse = (struct sparse){ 0 };
}
