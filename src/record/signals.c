/* See signals.h. */
#include "record/signals.h"

#include <errno.h>
#include <stddef.h>
#include <sys/signalfd.h>

int signals_open(sigset_t *ret_before, struct err *err)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, ret_before);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? err_sys(err, -errno, "waiting for signals") : fd;
}
