/* See spawn.h. */
#include "record/spawn.h"

#include <signal.h>
#include <spawn.h>
#include <unistd.h>

extern char **environ;

pid_t spawn_program(const char *path, const char *const *words)
{
	posix_spawnattr_t attributes;
	sigset_t none;
	pid_t pid;
	int r;

	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	r = posix_spawn(&pid, path, NULL, &attributes, (char *const *)words, environ);
	posix_spawnattr_destroy(&attributes);
	return r ? -r : pid;
}
