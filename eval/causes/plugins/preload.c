/* Preloaded library: stands before liblzma's lzma_code and sleeps in it. */
#include <dlfcn.h>

#include "lag.h"

int lzma_code(void *stream, int action);

int lzma_code(void *stream, int action)
{
	static int (*real)(void *, int);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "lzma_code");
	LAG_SLEEP();
	return real(stream, action);
}
