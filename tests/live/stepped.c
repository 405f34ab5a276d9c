/* For step_ways.sh: goes through `work` with what disturbs steppers: signals that come in it, a second thread in
 * it, children of vfork that start programs, the vDSO and rseq, blocked signals. What it prints is always the same. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noinline, noclone))
#endif

extern char **environ;
static volatile sig_atomic_t ticks;

static void on_tick(int number)
{
	(void)number;
	ticks++;
}

static int KEPT start_program(int status)
{
	char *const words[] = { (char *)"sh", (char *)"-c", status ? (char *)"exit 3" : (char *)"exit 0", NULL };
	int child = vfork(), left = 0;

	if (!child) {
		execve("/bin/sh", words, environ);
		_exit(127);
	}
	while (waitpid(child, &left, 0) < 0)
		;
	return WEXITSTATUS(left);
}

static unsigned KEPT work(unsigned turns, int children)
{
	struct timespec now, before = { 0 };
	unsigned sum = 0, backwards = 0, processors = (unsigned)sysconf(_SC_NPROCESSORS_CONF);

	for (unsigned i = 0; i < turns; i++) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		backwards += now.tv_sec < before.tv_sec || (now.tv_sec == before.tv_sec && now.tv_nsec < before.tv_nsec);
		before = now;
		backwards += (unsigned)sched_getcpu() >= processors;
		sum = sum * 31 + (unsigned)abs((int)(i % 7) - 3);
		if (children && i % 500 == 499)
			sum += (unsigned)start_program((int)(i / 500) % 2);
	}
	return sum + backwards * 1000000007u;
}

static void *work_too(void *data)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	*(unsigned *)data = work(3000, 0);
	return data;
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_tick };
	struct itimerval timer = { { 0, 3000 }, { 0, 3000 } };
	unsigned other = 0, own;
	pthread_t thread;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	pthread_create(&thread, NULL, work_too, &other);
	own = work(3000, 1);
	pthread_join(thread, NULL);
	while (!ticks)
		;
	printf("%u %u\n", own, other);
	return 0;
}
