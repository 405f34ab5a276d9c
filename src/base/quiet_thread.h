/* A thread that takes no signals: those are for the program's own threads. */
#ifndef BASE_QUIET_THREAD_H
#define BASE_QUIET_THREAD_H

#include <pthread.h>

/* As pthread_create: 0, or an error's number. */
int quiet_thread(pthread_t *thread, void *(*run)(void *data), void *data);

#endif
