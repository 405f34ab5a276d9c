/* Servers with a planted cause in one of a hundred requests: `servers NAME`. The server
 * notes whom it answers when, and prints that: tails.py compares. Four threads answer as many
 * connections; the client is a process of its own. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KEEP __attribute__((noinline))
#define US 1000ull
#define MS 1000000ull
#define CONNECTIONS 4u
#define REQUESTS 300u    /* of each connection */
#define BLOCK 65536u

static volatile uint64_t sink;
static int ends[CONNECTIONS][2], backend_ends[2], block_file = -1;
static pthread_mutex_t stats_lock = PTHREAD_MUTEX_INITIALIZER, backend_lock = PTHREAD_MUTEX_INITIALIZER, job_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t job_there = PTHREAD_COND_INITIALIZER, job_done = PTHREAD_COND_INITIALIZER;
static unsigned jobs, done;

#define COMPUTE(ns) \
	do { \
		struct timespec t; \
		uint64_t until = 0, at = 0; \
		do { \
			for (unsigned round = 0; round < 2000; round++) \
				sink += round; \
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); \
			at = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec; \
			until = until ? until : at + (ns); \
		} while (at < until); \
	} while (0)

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

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

static void start(void *(*function)(void *), uintptr_t number)
{
	pthread_t thread;

	need(!pthread_create(&thread, NULL, function, (void *)number), "pthread_create");
}

/* ---- causes ---- */

KEEP static void slow_query(void)
{
	pause_ns(20 * MS);
}

KEEP static void big_sort(void)
{
	COMPUTE(15 * MS);
}

KEEP static void flush_log(void)
{
	for (unsigned i = 0; i < 20; i++) {
		need(write(block_file, "record", 6) == 6, "write");
		fsync(block_file);
	}
}

KEEP static void *collect_stats(void *data)
{
	for (;;) {
		pthread_mutex_lock(&stats_lock);
		pause_ns(15 * MS);
		pthread_mutex_unlock(&stats_lock);
		pause_ns(2 * MS);
	}
	return data;
}

KEEP static void read_stats(void)
{
	pthread_mutex_lock(&stats_lock);
	sink++;
	pthread_mutex_unlock(&stats_lock);
}

KEEP static void backend_scan(void)
{
	pause_ns(18 * MS);
}

KEEP static void *backend(void *data)
{
	char byte;

	while (read(backend_ends[1], &byte, 1) == 1) {
		backend_scan();
		need(write(backend_ends[1], &byte, 1) == 1, "write");
	}
	return data;
}

KEEP static void ask_backend(void)
{
	char byte = 0;

	pthread_mutex_lock(&backend_lock);
	need(write(backend_ends[0], &byte, 1) == 1 && read(backend_ends[0], &byte, 1) == 1, "backend");
	pthread_mutex_unlock(&backend_lock);
}

KEEP static void read_cold_file(void)
{
	void *block = NULL;

	need(!posix_memalign(&block, 4096, BLOCK), "memory");
	for (unsigned i = 0; i < 120; i++)
		need(pread(block_file, block, BLOCK, (off_t)(i * 7 % 64) * BLOCK) == BLOCK, "pread");
	free(block);
}

KEEP static void run_helper(void)
{
	pid_t child = vfork();

	if (!child) {
		execlp("sleep", "sleep", "0.02", NULL);
		_exit(1);
	}
	waitpid(child, NULL, 0);
}

KEEP static void retry_later(void)
{
	for (unsigned i = 0; i < 5; i++)
		pause_ns(4 * MS);
}

KEEP static void touch_memory(void)
{
	size_t bytes = 24u << 20;
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	need(memory != MAP_FAILED, "mmap");
	for (size_t i = 0; i < bytes; i += 4096)
		memory[i] = 1;
	munmap(memory, bytes);
}

KEEP static void build_index(void)
{
	COMPUTE(12 * MS);
}

KEEP static void *indexer(void *data)
{
	for (;;) {
		pthread_mutex_lock(&job_lock);
		while (!jobs)
			pthread_cond_wait(&job_there, &job_lock);
		jobs--;
		pthread_mutex_unlock(&job_lock);
		build_index();
		pthread_mutex_lock(&job_lock);
		done++;
		pthread_cond_broadcast(&job_done);
		pthread_mutex_unlock(&job_lock);
	}
	return data;
}

KEEP static void wait_for_index(void)
{
	unsigned wanted;

	pthread_mutex_lock(&job_lock);
	wanted = done + ++jobs;
	pthread_cond_signal(&job_there);
	while (done < wanted)
		pthread_cond_wait(&job_done, &job_lock);
	pthread_mutex_unlock(&job_lock);
}

static const struct {
	const char *name;
	void (*run)(void);
	void *(*helper)(void *);
} causes[] = {
	{ "query", slow_query, NULL }, { "sort", big_sort, NULL }, { "log", flush_log, NULL }, { "stats", read_stats, collect_stats },
	{ "backend", ask_backend, backend }, { "file", read_cold_file, NULL }, { "helper", run_helper, NULL }, { "retry", retry_later, NULL },
	{ "memory", touch_memory, NULL }, { "index", wait_for_index, indexer },
};

static void (*cause)(void);
/* What was answered: by which thread, from when it was read until it was written. */
static struct answer {
	int thread;
	uint64_t from_ns, to_ns;
} answers[CONNECTIONS * REQUESTS];
static unsigned answered;

/* ---- the server and its client ---- */

KEEP static void handle(unsigned number)
{
	COMPUTE(30 * US);
	if (number % 100 == 37)
		cause();
}

KEEP static void *serve(void *data)
{
	unsigned number;

	while (read(ends[(uintptr_t)data][0], &number, sizeof(number)) == sizeof(number)) {
		uint64_t from_ns = now();

		handle(number);
		need(write(ends[(uintptr_t)data][0], &number, sizeof(number)) == sizeof(number), "write");
		answers[__atomic_fetch_add(&answered, 1, __ATOMIC_RELAXED)] = (struct answer){ gettid(), from_ns, now() };
	}
	return NULL;
}

static void *call(void *data)
{
	uintptr_t i = (uintptr_t)data;

	for (unsigned k = 0; k < REQUESTS; k++) {
		unsigned number = (unsigned)(k * CONNECTIONS + i);

		need(write(ends[i][1], &number, sizeof(number)) == sizeof(number) &&
			     read(ends[i][1], &number, sizeof(number)) == sizeof(number), "client");
		pause_ns(300 * US);
	}
	return NULL;
}

static void client(void)
{
	pthread_t threads[CONNECTIONS];

	prctl(PR_SET_NAME, "client");
	for (uintptr_t i = 0; i < CONNECTIONS; i++) {
		close(ends[i][0]);
		need(!pthread_create(&threads[i], NULL, call, (void *)i), "pthread_create");
	}
	for (unsigned i = 0; i < CONNECTIONS; i++)
		pthread_join(threads[i], NULL);
	_exit(0);
}

int main(int count, char **words)
{
	char path[] = "/var/tmp/argus-servers-XXXXXX";
	void (*run)(void) = NULL;
	pid_t child;

	for (unsigned i = 0; i < CONNECTIONS; i++)
		need(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i]), "socketpair");
	need(!socketpair(AF_UNIX, SOCK_STREAM, 0, backend_ends), "socketpair");
	child = fork();
	if (!child)
		client();
	for (unsigned i = 0; i < CONNECTIONS; i++)
		close(ends[i][1]);
	for (size_t i = 0; i < sizeof(causes) / sizeof(*causes) && count == 2; i++)
		if (!strcmp(words[1], causes[i].name)) {
			run = causes[i].run;
			if (causes[i].helper)
				start(causes[i].helper, 0);
		}
	need(run != NULL, "usage: servers NAME");
	block_file = mkostemp(path, run == read_cold_file ? O_DIRECT : 0);
	need(block_file >= 0, path);
	unlink(path);
	if (run == read_cold_file) {
		void *block = NULL;

		need(!posix_memalign(&block, 4096, BLOCK), "memory");
		memset(block, 7, BLOCK);
		for (unsigned i = 0; i < 64; i++)
			need(write(block_file, block, BLOCK) == BLOCK, "write");
	}
	cause = run;
	for (uintptr_t i = 0; i < CONNECTIONS; i++)
		start(serve, i);
	waitpid(child, NULL, 0);
	for (unsigned i = 0; i < answered; i++)
		printf("%d %llu %llu\n", answers[i].thread, (unsigned long long)answers[i].from_ns, (unsigned long long)answers[i].to_ns);
	return 0;
}
