/* See quiet_thread.h. */
#include "base/quiet_thread.h"

#include <signal.h>

int quiet_thread(pthread_t *thread, void *(*run)(void *data), void *data)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(thread, NULL, run, data);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}
