/* See spawn.h. */
#include "record/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

extern char **environ;

static pid_t spawn(const char *path, const char *const *words, const posix_spawn_file_actions_t *files)
{
	posix_spawnattr_t attributes;
	sigset_t none;
	pid_t pid;
	int r;

	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	r = posix_spawn(&pid, path, files, &attributes, (char *const *)words, environ);
	posix_spawnattr_destroy(&attributes);
	return r ? -r : pid;
}

pid_t spawn_program(const char *path, const char *const *words)
{
	return spawn(path, words, NULL);
}

pid_t spawn_heard(const char *path, const char *const *words, int *ret_fd)
{
	posix_spawn_file_actions_t files;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, ends[1], 1);
	pid = spawn(path, words, &files);
	posix_spawn_file_actions_destroy(&files);
	close(ends[1]);
	if (pid < 0)
		close(ends[0]);
	else
		*ret_fd = ends[0];
	return pid;
}
