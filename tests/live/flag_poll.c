/* Waits in a loop for a flag that a thread sets, round after round: a variable of the
 * program's own, or one in the heap behind two pointers. In the bad case nobody sets it.
 *
 *	flag_poll own|heap [bad] */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUND_US 300000
#define NAP_US 1000

struct job {
	long id;
	char pad[20];
	volatile int finished;
};

struct pool {
	char name[24];
	struct job *job;
};

static volatile int done;
static struct pool *pool;
static bool heap, bad;

static void *work(void *data)
{
	usleep(ROUND_US);
	if (bad)
		return data;
	if (heap)
		pool->job->finished = 1;
	else
		done = 1;
	return data;
}

static void __attribute__((noinline)) wait_done(void)
{
	while (!done)
		usleep(NAP_US);
}

static void __attribute__((noinline)) wait_finished(void)
{
	while (!pool->job->finished) {
		sched_yield();
		usleep(NAP_US);
	}
}

int main(int count, char **words)
{
	pthread_t worker;

	heap = count > 1 && !strcmp(words[1], "heap");
	bad = count > 2;
	pool = calloc(1, sizeof(*pool));
	pool->job = calloc(1, sizeof(*pool->job));
	printf("%d\n", (int)getpid());
	fflush(stdout);
	for (;;) {
		done = pool->job->finished = 0;
		pthread_create(&worker, NULL, work, NULL);
		if (heap)
			wait_finished();
		else
			wait_done();
		pthread_join(worker, NULL);
	}
}
