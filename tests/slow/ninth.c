/* A sixth set of programs that replay was not made with: written, recorded, measured and asked
 * about once (whatif.py). `ninth NAME` runs one; what is slow is SLOW_WORK per cent of what it was. */
#define _GNU_SOURCE
#include "common.h"

#include <semaphore.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* ---- two children, each with a pipe of its own; the parent hands pictures out in turn ---- */

KEEP static void shrink_picture(void)
{
	COMPUTE(SLOW(2500 * US));
}

static void thumbnails(void)
{
	int ends[2];

	for (unsigned k = 0; k < 2; k++) {
		int pair[2];
		char picture;

		need(!pipe(pair), "pipe");
		if (!fork()) {
			prctl(PR_SET_NAME, "shrinker");
			close(pair[1]);
			if (k)
				close(ends[0]);
			while (read(pair[0], &picture, 1) == 1)
				shrink_picture();
			_exit(0);
		}
		close(pair[0]);
		ends[k] = pair[1];
	}
	for (unsigned i = 0; i < 240; i++) {
		COMPUTE(500 * US);
		need(write(ends[i % 2], "p", 1) == 1, "write");
	}
	close(ends[0]);
	close(ends[1]);
	while (wait(NULL) > 0)
		;
}

/* ---- a table in four parts with a lock each; one part is asked for most ---- */

static pthread_mutex_t stripes[4] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };

KEEP static void update_stripe(unsigned at)
{
	pthread_mutex_lock(&stripes[at]);
	pause_ns(at ? 300 * US : SLOW(900 * US));
	pthread_mutex_unlock(&stripes[at]);
}

KEEP static void *table_user(void *data)
{
	for (unsigned i = 0; i < 160; i++) {
		COMPUTE(100 * US);
		update_stripe(i % 4 == 3 ? 1 + (unsigned)(uintptr_t)data % 3 : 0);
	}
	return data;
}

static void striped(void)
{
	run_threads(4, table_user);
}

/* ---- datagrams for one that reads them, and answers the last of each ten ---- */

static int mail[2];

KEEP static void file_letter(void)
{
	pause_ns(SLOW(600 * US));
	COMPUTE(SLOW(150 * US));
}

KEEP static void *mailman(void *data)
{
	char letter[64];

	for (unsigned i = 0; i < 500; i++) {
		need(recv(mail[1], letter, sizeof(letter), 0) > 0, "recv");
		file_letter();
		if (i % 10 == 9)
			need(send(mail[1], "thanks", 6, 0) == 6, "send");
	}
	return data;
}

static void datagrams(void)
{
	char letter[64] = "letter";
	pthread_t thread;

	need(!socketpair(AF_UNIX, SOCK_DGRAM, 0, mail), "socketpair");
	thread = start(mailman, NULL);
	for (unsigned i = 0; i < 50; i++) {
		for (unsigned k = 0; k < 10; k++) {
			COMPUTE(100 * US);
			need(send(mail[0], letter, sizeof(letter), 0) == sizeof(letter), "send");
		}
		need(recv(mail[0], letter, sizeof(letter), 0) > 0, "recv");
	}
	pthread_join(thread, NULL);
}

/* ---- three meet at a barrier each round; another one is the slow one each time ---- */

static pthread_barrier_t round_end;

KEEP static void solve_region(void)
{
	pause_ns(SLOW(3 * MS));
	COMPUTE(SLOW(1 * MS));
}

KEEP static void *region(void *data)
{
	for (unsigned i = 0; i < 90; i++) {
		COMPUTE(400 * US);
		if (i % 3 == (uintptr_t)data)
			solve_region();
		pthread_barrier_wait(&round_end);
	}
	return NULL;
}

static void slow_in_turn(void)
{
	pthread_barrier_init(&round_end, NULL, 3);
	run_threads(3, region);
}

/* ---- four requests at once over a socket; two workers behind the reader ---- */

static pthread_mutex_t asked_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t asked_there = PTHREAD_COND_INITIALIZER;
static unsigned asked;
static int line[2];

KEEP static void query_index(void)
{
	pause_ns(SLOW(2 * MS));
}

KEEP static void *query_worker(void *data)
{
	for (;;) {
		pthread_mutex_lock(&asked_mutex);
		while (!asked && !over)
			pthread_cond_wait(&asked_there, &asked_mutex);
		if (over)
			break;
		asked--;
		pthread_mutex_unlock(&asked_mutex);
		query_index();
		COMPUTE(100 * US);
		need(write(line[1], "a", 1) == 1, "write");
	}
	pthread_mutex_unlock(&asked_mutex);
	return data;
}

KEEP static void *query_reader(void *data)
{
	char question;

	while (read(line[1], &question, 1) == 1) {
		pthread_mutex_lock(&asked_mutex);
		asked++;
		pthread_cond_signal(&asked_there);
		pthread_mutex_unlock(&asked_mutex);
	}
	return data;
}

static void pipelined(void)
{
	char answer;

	need(!socketpair(AF_UNIX, SOCK_STREAM, 0, line), "socketpair");
	start(query_reader, NULL);
	start(query_worker, NULL);
	start(query_worker, NULL);
	for (unsigned i = 0; i < 90; i++) {
		COMPUTE(300 * US);
		need(write(line[0], "qqqq", 4) == 4, "write");
		for (unsigned k = 0; k < 4; k++)
			need(read(line[0], &answer, 1) == 1, "read");
	}
}

/* ---- who waits for a result looks after 100, 200, 400 us and so on ---- */

static _Atomic unsigned results;

KEEP static void make_result(void)
{
	COMPUTE(SLOW(9 * MS));
}

KEEP static void *result_maker(void *data)
{
	sem_t *wanted = data;

	for (unsigned i = 0; i < 40; i++) {
		sem_wait(wanted);
		make_result();
		results++;
	}
	return NULL;
}

static void doubling(void)
{
	static sem_t wanted;
	pthread_t thread;

	sem_init(&wanted, 0, 0);
	thread = start(result_maker, &wanted);
	for (unsigned i = 0; i < 40; i++) {
		COMPUTE(1 * MS);
		sem_post(&wanted);
		for (uint64_t ns = 100 * US; results == i; ns *= 2)
			pause_ns(ns);
	}
	pthread_join(thread, NULL);
}

/* ---- at most one piece each 2 ms, by the clock, and some pieces take longer ---- */

KEEP static void send_piece(void)
{
	COMPUTE(SLOW(4 * MS));
}

static void cadence(void)
{
	struct timespec next;

	clock_gettime(CLOCK_MONOTONIC, &next);
	for (unsigned i = 0; i < 140; i++) {
		next.tv_nsec += 2000000;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
		if (i % 2)
			send_piece();
		else
			COMPUTE(200 * US);
	}
}

/* ---- a snapshot is written now and then, with the lock that all others need ---- */

static pthread_mutex_t state_guard = PTHREAD_MUTEX_INITIALIZER;

KEEP static void write_snapshot(void)
{
	pthread_mutex_lock(&state_guard);
	pause_ns(SLOW(12 * MS));
	COMPUTE(SLOW(2 * MS));
	pthread_mutex_unlock(&state_guard);
}

KEEP static void change_state(void)
{
	pthread_mutex_lock(&state_guard);
	COMPUTE(100 * US);
	pthread_mutex_unlock(&state_guard);
}

KEEP static void *state_user(void *data)
{
	for (unsigned i = 0; i < 300; i++) {
		change_state();
		pause_ns(300 * US);
	}
	return data;
}

KEEP static void *snapshots(void *data)
{
	while (!over) {
		pause_ns(8 * MS);
		write_snapshot();
	}
	return data;
}

static void checkpoint(void)
{
	start(snapshots, NULL);
	run_threads(3, state_user);
}

/* ---- parts are computed by threads that are made for it, and put together by the first ---- */

KEEP static void map_part(void)
{
	COMPUTE(SLOW(5 * MS));
}

KEEP static void *mapper(void *data)
{
	for (uintptr_t i = 0; i <= (uintptr_t)data; i++)
		map_part();
	return data;
}

static void reduce(void)
{
	for (unsigned i = 0; i < 30; i++) {
		run_threads(2, mapper);
		COMPUTE(2 * MS);
		pause_ns(1 * MS);
	}
}

/* ---- threads take the next job from one counter; each fifth is long ---- */

static _Atomic unsigned next_job;

KEEP static void long_query(void)
{
	pause_ns(SLOW(16 * MS));
}

KEEP static void short_query(void)
{
	pause_ns(1500 * US);
	COMPUTE(200 * US);
}

KEEP static void *job_taker(void *data)
{
	for (unsigned job; (job = next_job++) < 240; )
		if (job % 5)
			short_query();
		else
			long_query();
	return data;
}

static void next_one(void)
{
	run_threads(3, job_taker);
}

MAIN(,
	PROGRAM(thumbnails), PROGRAM(striped), PROGRAM(datagrams), PROGRAM(slow_in_turn), PROGRAM(pipelined),
	PROGRAM(doubling), PROGRAM(cadence), PROGRAM(checkpoint), PROGRAM(reduce), PROGRAM(next_one))
