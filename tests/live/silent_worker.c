/* silent_worker signal|flag base|buggy: the main thread waits for one of two workers, by a
 * condition variable or by a flag that it looks at every 100 ms. Both are given their work
 * by a third thread. Buggy: the first one does its work and says nothing, so that the
 * waiting ends only when a limit of 2 s is over. Prints the process's and that worker's
 * numbers. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static bool done, by_flag, buggy;
static volatile bool flag;
static int work[2], noise[2];
static volatile pid_t worker_tid;

static void compute(unsigned long rounds)
{
	volatile unsigned long sum = 0;

	for (unsigned long i = 0; i < rounds; i++)
		sum += i;
}

__attribute__((noinline)) static void finish(void)
{
	if (by_flag) {
		flag = true;
		return;
	}
	pthread_mutex_lock(&mutex);
	done = true;
	pthread_cond_signal(&ready);
	pthread_mutex_unlock(&mutex);
}

static void *run_worker(void *data)
{
	int *from = data;
	bool first = from == work;
	char byte;

	prctl(PR_SET_NAME, first ? "worker" : "other");
	if (first)
		worker_tid = gettid();
	while (read(from[0], &byte, 1) == 1) {
		compute(200000);
		if (first && !buggy)
			finish();
	}
	return NULL;
}

static void *run_source(void *data)
{
	struct timespec pause = { 0, 240000000 };

	(void)data;
	prctl(PR_SET_NAME, "source");
	nanosleep(&pause, NULL);
	for (int i = 0; i < 3; i++) {
		if (write(noise[1], "x", 1) != 1)
			return NULL;
		nanosleep(&pause, NULL);
		if (!i && write(work[1], "x", 1) != 1)
			return NULL;
	}
	return NULL;
}

static void wait_for_word(void)
{
	struct timespec limit, slice = { 0, 100000000 };

	if (by_flag) {
		for (int i = 0; i < 20 && !flag; i++)
			nanosleep(&slice, NULL);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += 2;
	pthread_mutex_lock(&mutex);
	while (!done && !pthread_cond_timedwait(&ready, &mutex, &limit))
		;
	pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv)
{
	pthread_t worker, other, source;

	if (argc < 3 || pipe(work) || pipe(noise))
		return 2;
	by_flag = !strcmp(argv[1], "flag");
	buggy = !strcmp(argv[2], "buggy");
	pthread_create(&worker, NULL, run_worker, work);
	pthread_create(&other, NULL, run_worker, noise);
	pthread_create(&source, NULL, run_source, NULL);
	wait_for_word();
	printf("%d %d\n", getpid(), (int)worker_tid);
	fflush(stdout);
	pthread_join(source, NULL);
	close(work[1]);
	close(noise[1]);
	pthread_join(worker, NULL);
	pthread_join(other, NULL);
	return 0;
}
