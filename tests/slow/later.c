/* A second set of programs that replay was not made with: written, recorded and measured
 * before it was asked about them (whatif.py). `later NAME` runs one; what is slow is SLOW_WORK
 * per cent of what it was; SLOW_MORE=1 more worker does it. */
#define _GNU_SOURCE
#include "common.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

/* ---- three look up, and from time to time one of them loads anew ---- */

static pthread_rwlock_t cache_guard = PTHREAD_RWLOCK_INITIALIZER;

KEEP static void reload_cache(void)
{
	pthread_rwlock_wrlock(&cache_guard);
	pause_ns(SLOW(3 * MS));
	pthread_rwlock_unlock(&cache_guard);
}

KEEP static void *visitor(void *data)
{
	for (unsigned i = 0; i < 160; i++) {
		if (i % 4 == (uintptr_t)data)
			reload_cache();
		pthread_rwlock_rdlock(&cache_guard);
		COMPUTE(150 * US);
		pthread_rwlock_unlock(&cache_guard);
	}
	return data;
}

static void cache(void)
{
	run_threads(3, visitor);
}

/* ---- a queue of jobs, large and small, for three that take them ---- */

static pthread_mutex_t jobs_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t jobs_grew = PTHREAD_COND_INITIALIZER;
static unsigned jobs_put, jobs_taken;

KEEP static void encode_large(void)
{
	pause_ns(SLOW(9 * MS));
}

KEEP static void *encoder(void *data)
{
	for (;;) {
		unsigned job;

		pthread_mutex_lock(&jobs_mutex);
		while (jobs_taken == jobs_put && jobs_put < 180)
			pthread_cond_wait(&jobs_grew, &jobs_mutex);
		job = jobs_taken < jobs_put ? jobs_taken++ : 180;
		pthread_mutex_unlock(&jobs_mutex);
		if (job == 180)
			return data;
		if (job % 3)
			pause_ns(2 * MS);
		else
			encode_large();
	}
}

KEEP static void *feeder(void *data)
{
	for (unsigned i = 0; i < 180; i++) {
		COMPUTE(200 * US);
		pthread_mutex_lock(&jobs_mutex);
		jobs_put++;
		pthread_cond_broadcast(&jobs_grew);
		pthread_mutex_unlock(&jobs_mutex);
	}
	return data;
}

static void mixed_jobs(void)
{
	pthread_t feeding = start(feeder, NULL);

	run_threads(2 + more, encoder);
	pthread_join(feeding, NULL);
}

/* ---- lines that are written on when eight have come or none has for 4 ms ---- */

static int lines[2];

KEEP static void read_meter(void)
{
	pause_ns(SLOW(1500 * US));
}

KEEP static void *meter(void *data)
{
	for (unsigned i = 0; i < 300; i++) {
		read_meter();
		need(write(lines[1], "", 1) == 1, "write");
		if (i % 16 == 15)
			pause_ns(6 * MS);
	}
	close(lines[1]);
	return data;
}

static void quiet_flush(void)
{
	char text[8];
	ssize_t got = 1;
	unsigned count = 0;
	pthread_t thread;

	need(!pipe(lines), "pipe");
	thread = start(meter, NULL);
	while (got > 0) {
		struct pollfd end = { lines[0], POLLIN, 0 };
		bool silent = !poll(&end, 1, 4);

		got = silent ? 1 : read(lines[0], text, 1);
		count += !silent;
		if (count && (silent || count == 8)) {
			COMPUTE(400 * US);
			count = 0;
		}
	}
	pthread_join(thread, NULL);
}

/* ---- more that compute than processors, each its own, one of them much ---- */

KEEP static void crunch_more(void)
{
	COMPUTE(SLOW(280 * MS));
}

KEEP static void *cruncher(void *data)
{
	COMPUTE(100 * MS);
	if ((uintptr_t)data == 2)
		crunch_more();
	return data;
}

static void uneven(void)
{
	run_threads(4, cruncher);
}

/* ---- a connection for each question, to a server that answers one after the other ---- */

KEEP static void answer_one(void)
{
	COMPUTE(SLOW(500 * US));
	pause_ns(SLOW(600 * US));
}

static void connections(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);
	int listening = socket(AF_INET, SOCK_STREAM, 0);
	char word = 0;

	need(!bind(listening, (struct sockaddr *)&address, length) && !listen(listening, 8), "listen");
	need(!getsockname(listening, (struct sockaddr *)&address, &length), "getsockname");
	if (!fork_named("answerer")) {
		for (unsigned i = 0; i < 300; i++) {
			int one = accept(listening, NULL, NULL);

			need(read(one, &word, 1) == 1, "read");
			answer_one();
			need(write(one, &word, 1) == 1, "write");
			close(one);
		}
		_exit(0);
	}
	for (unsigned i = 0; i < 300; i++) {
		int one = socket(AF_INET, SOCK_STREAM, 0);

		need(!connect(one, (struct sockaddr *)&address, length), "connect");
		need(write(one, &word, 1) == 1 && read(one, &word, 1) == 1, "ask");
		close(one);
		COMPUTE(300 * US);
	}
	wait(NULL);
}

/* ---- results of three are handed over in order ---- */

static pthread_mutex_t order_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t order_changed = PTHREAD_COND_INITIALIZER;
static unsigned handed;

KEEP static void hand_over(void)
{
	pause_ns(SLOW(1500 * US));
}

KEEP static void *producer(void *data)
{
	for (unsigned i = (unsigned)(uintptr_t)data; i < 240; i += 3) {
		pause_ns(MS);
		COMPUTE(200 * US);
		pthread_mutex_lock(&order_mutex);
		while (handed != i)
			pthread_cond_wait(&order_changed, &order_mutex);
		pthread_mutex_unlock(&order_mutex);
		hand_over();
		pthread_mutex_lock(&order_mutex);
		handed++;
		pthread_cond_broadcast(&order_changed);
		pthread_mutex_unlock(&order_mutex);
	}
	return data;
}

static void in_order(void)
{
	run_threads(3, producer);
}

/* ---- something to do every 5 ms ---- */

KEEP static void draw_frame(void)
{
	COMPUTE(SLOW(3 * MS));
}

static void frames(void)
{
	struct itimerspec every = { { 0, 5000000 }, { 0, 5000000 } };
	int timer = timerfd_create(CLOCK_MONOTONIC, 0);
	uint64_t count, all = 0;

	need(!timerfd_settime(timer, 0, &every, NULL), "timerfd");
	while (all < 100 && read(timer, &count, sizeof(count)) == sizeof(count)) {
		all += count;
		draw_frame();
	}
}

/* ---- two licences for five ---- */

static sem_t licences;

KEEP static void use_licence(void)
{
	pause_ns(SLOW(2500 * US));
}

KEEP static void *designer(void *data)
{
	for (unsigned i = 0; i < 60; i++) {
		COMPUTE(200 * US);
		sem_wait(&licences);
		use_licence();
		sem_post(&licences);
	}
	return data;
}

static void licensed(void)
{
	sem_init(&licences, 0, 2 + more);
	run_threads(5, designer);
}

/* ---- who has the log's lock writes to a pipe that is read slowly ---- */

static pthread_mutex_t pipe_guard = PTHREAD_MUTEX_INITIALIZER;
static int pipe_ends[2];

KEEP static void drain_block(void)
{
	COMPUTE(SLOW(700 * US));
}

KEEP static void *drainer(void *data)
{
	static char block[4096];

	for (unsigned i = 0; i < 600; i++) {
		need(read(pipe_ends[0], block, sizeof(block)) > 0, "read");
		drain_block();
	}
	return data;
}

KEEP static void *writer(void *data)
{
	static char block[4096];

	for (unsigned i = 0; i < 150; i++) {
		COMPUTE(200 * US);
		pthread_mutex_lock(&pipe_guard);
		need(write(pipe_ends[1], block, sizeof(block)) == sizeof(block), "write");
		pthread_mutex_unlock(&pipe_guard);
	}
	return data;
}

static void full_pipe(void)
{
	pthread_t thread;

	need(!pipe(pipe_ends), "pipe");
	fcntl(pipe_ends[1], F_SETPIPE_SZ, 8192);
	thread = start(drainer, NULL);
	run_threads(4, writer);
	pthread_join(thread, NULL);
}

/* ---- batches of three children that compute, and the next batch when all are over ---- */

KEEP static void pack_part(void)
{
	COMPUTE(SLOW(6 * MS));
}

static void fork_batches(void)
{
	for (unsigned i = 0; i < 40; i++) {
		for (unsigned k = 0; k < 3; k++)
			if (!fork_named("packer")) {
				COMPUTE(MS);
				pack_part();
				_exit(0);
			}
		while (wait(NULL) > 0)
			;
		COMPUTE(MS);
	}
}

/* ---- three hand something on, one eventfd after the other, all at once ---- */

static int hands[4];

KEEP static void polish(void)
{
	pause_ns(SLOW(2 * MS));
}

KEEP static void *hand(void *data)
{
	uint64_t one = 1;
	unsigned at = (unsigned)(uintptr_t)data;

	for (unsigned i = 0; i < 200; i++) {
		need(read(hands[at], &one, sizeof(one)) == sizeof(one), "read");
		COMPUTE(250 * US);
		if (at == 1)
			polish();
		need(write(hands[at + 1], &one, sizeof(one)) == sizeof(one), "write");
	}
	return data;
}

static void hand_on(void)
{
	uint64_t all = 200;

	for (unsigned i = 0; i < 4; i++)
		hands[i] = eventfd(0, EFD_SEMAPHORE);
	need(write(hands[0], &all, sizeof(all)) == sizeof(all), "write");
	run_threads(3, hand);
}

/* ---- who looks every millisecond whether the next is there ---- */

static _Atomic unsigned fetched;

KEEP static void fetch_item(void)
{
	pause_ns(SLOW(4 * MS));
}

KEEP static void *fetcher(void *data)
{
	for (unsigned i = 0; i < 100; i++) {
		fetch_item();
		fetched++;
	}
	return data;
}

static void looking(void)
{
	pthread_t thread = start(fetcher, NULL);

	for (unsigned i = 1; i <= 100; i++) {
		while (fetched < i)
			pause_ns(MS);
		COMPUTE(300 * US);
	}
	pthread_join(thread, NULL);
}

MAIN(,
	PROGRAM(cache), PROGRAM(mixed_jobs), PROGRAM(quiet_flush), PROGRAM(uneven), PROGRAM(connections), PROGRAM(in_order),
	PROGRAM(frames), PROGRAM(licensed), PROGRAM(full_pipe), PROGRAM(fork_batches), PROGRAM(hand_on), PROGRAM(looking))
