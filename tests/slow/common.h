/* What the programs that are slow for a known reason share: work that takes a stated time,
 * threads, a bystander, and how they are changed: SLOW_WORK per cent of what is slow,
 * SLOW_MORE=1 more thread that does it. */
#ifndef SLOW_COMMON_H
#define SLOW_COMMON_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define KEEP __attribute__((noinline))
#define US 1000ull
#define MS 1000000ull

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static volatile uint64_t sink;
static unsigned work = 100, more;

/* Of what is slow. */
#define SLOW(ns) ((ns) * work / 100)

/* So much time on a processor; a macro, so that it is the caller's own. */
#define COMPUTE(ns) \
	do { \
		for (uint64_t until = now(CLOCK_THREAD_CPUTIME_ID) + (ns); now(CLOCK_THREAD_CPUTIME_ID) < until; ) \
			for (unsigned round = 0; round < 2000; round++) \
				sink += round; \
	} while (0)

static void pause_ns(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	nanosleep(&t, NULL);
}

static void need(bool holds, const char *what)
{
	if (holds)
		return;
	perror(what);
	exit(77);
}

static volatile bool over;

KEEP static void *heartbeat(void *data)
{
	(void)data;
	while (!over) {
		COMPUTE(200 * US);
		pause_ns(20 * MS);
	}
	return NULL;
}

static pthread_t start(void *(*function)(void *), void *data)
{
	pthread_t thread;

	need(!pthread_create(&thread, NULL, function, data), "pthread_create");
	return thread;
}

static void start_all(pthread_t *threads, unsigned count, void *(*function)(void *))
{
	for (uintptr_t i = 0; i < count; i++)
		threads[i] = start(function, (void *)i);
}

static void join_all(pthread_t *threads, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

__attribute__((unused)) static void run_threads(unsigned count, void *(*function)(void *))
{
	pthread_t threads[16];

	start_all(threads, count, function);
	join_all(threads, count);
}

/* 0 in the child, which is called so. */
__attribute__((unused)) static pid_t fork_named(const char *name)
{
	pid_t pid = fork();

	need(pid >= 0, "fork");
	if (!pid)
		prctl(PR_SET_NAME, name);
	return pid;
}

struct program {
	const char *name;
	void (*run)(void);
};

static int run_program(const struct program *programs, size_t count, int words, char **word)
{
	if (getenv("SLOW_WORK"))
		work = (unsigned)atoi(getenv("SLOW_WORK"));
	more = getenv("SLOW_MORE") != NULL;
	for (size_t i = 0; i < count; i++) {
		char name[16];

		if (words != 2 || strcmp(word[1], programs[i].name))
			continue;
		snprintf(name, sizeof(name), "slow-%s", word[1]);
		prctl(PR_SET_NAME, name);
		start(heartbeat, NULL);
		programs[i].run();
		over = true;
		return 0;
	}
	fprintf(stderr, "usage: %s NAME\n", word[0]);
	return 2;
}

#define PROGRAM(name) { #name, name }
/* The file's programs; what is to be done before one is run comes first. */
#define MAIN(prepare, ...) \
	int main(int words, char **word) \
	{ \
		const struct program programs[] = { __VA_ARGS__ }; \
\
		prepare; \
		return run_program(programs, sizeof(programs) / sizeof(*programs), words, word); \
	}

#endif
