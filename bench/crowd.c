/* A machine full of threads that sleep, for bench/now.py: so many processes with so many
 * threads in all, each at some depth in one of the usual waits. "ready" when they sleep. */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int ends[2], sockets[2];

static void wait_somehow(long number)
{
	struct pollfd both[2] = { { .fd = ends[0], .events = POLLIN }, { .fd = sockets[0], .events = POLLIN } };
	char byte;

	switch (number % 6) {
	case 0:
		pthread_mutex_lock(&mutex);
		for (;;)
			pthread_cond_wait(&never, &mutex);
	case 1:
		while (read(ends[0], &byte, 1) < 0)
			;
		break;
	case 2:
		while (recv(sockets[0], &byte, 1, 0) < 0)
			;
		break;
	case 3:
		for (;;)
			poll(both, 2, -1);
	case 4:
		for (;;)
			sem_wait(&semaphore);
	}
	for (;;)
		pause();
}

__attribute__((noinline)) static void descend(long number, long depth)
{
	volatile char room[64];

	room[0] = (char)depth;
	if (depth)
		descend(number, depth - 1);
	else
		wait_somehow(number);
	room[1] = room[0];
}

static void *sleeper(void *number)
{
	descend((long)number, 4 + (long)number % 9);
	return NULL;
}

static void live(long first, long threads)
{
	pthread_t thread;
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	sem_init(&semaphore, 0, 0);
	if (pipe(ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		exit(1);
	for (long i = 1; i < threads; i++)
		if (pthread_create(&thread, &small, sleeper, (void *)(first + i)))
			exit(1);
	sleeper((void *)first);
}

int main(int count, char **words)
{
	long processes = count > 1 ? atol(words[1]) : 300, threads = count > 2 ? atol(words[2]) : 2000, begun = 0;

	for (long i = 0; i < processes; i++) {
		long share = (threads - begun) / (processes - i);

		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			live(begun, share > 0 ? share : 1);
		}
		begun += share;
	}
	puts("ready");
	fflush(stdout);
	pause();
}
