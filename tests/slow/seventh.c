/* A fourth set of programs that replay was not made with: written, recorded, measured and asked
 * about once (whatif.py). `seventh NAME` runs one; what is slow is SLOW_WORK per cent of what it was. */
#define _GNU_SOURCE
#include "common.h"

#include <poll.h>
#include <semaphore.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

/* ---- a letter back and forth between two, over eventfds ---- */

static int boxes[2];

KEEP static void read_letter(void)
{
	COMPUTE(SLOW(700 * US));
	pause_ns(SLOW(300 * US));
}

KEEP static void *correspondent(void *data)
{
	uint64_t one = 1;

	for (unsigned i = 0; i < 260; i++) {
		need(read(boxes[0], &one, sizeof(one)) == sizeof(one), "read");
		read_letter();
		need(write(boxes[1], &one, sizeof(one)) == sizeof(one), "write");
	}
	return data;
}

static void letters(void)
{
	uint64_t one = 1;
	pthread_t thread;

	boxes[0] = eventfd(0, 0);
	boxes[1] = eventfd(0, 0);
	thread = start(correspondent, NULL);
	for (unsigned i = 0; i < 260; i++) {
		COMPUTE(400 * US);
		need(write(boxes[0], &one, sizeof(one)) == sizeof(one), "write");
		need(read(boxes[1], &one, sizeof(one)) == sizeof(one), "read");
	}
	pthread_join(thread, NULL);
}

/* ---- two processes send results over pipes; the first thread polls both ---- */

KEEP static void measure_far(void)
{
	pause_ns(SLOW(2200 * US));
}

static void gather(void)
{
	struct pollfd ends[2];
	unsigned open = 2;

	for (unsigned k = 0; k < 2; k++) {
		int pair[2];

		need(!pipe(pair), "pipe");
		if (!fork()) {
			prctl(PR_SET_NAME, k ? "near" : "far");
			for (unsigned i = 0; i < (k ? 60 : 180); i++) {
				if (k)
					pause_ns(3 * MS);
				else
					measure_far();
				need(write(pair[1], "", 1) == 1, "write");
			}
			_exit(0);
		}
		close(pair[1]);
		ends[k] = (struct pollfd){ pair[0], POLLIN, 0 };
	}
	while (open) {
		need(poll(ends, 2, -1) > 0, "poll");
		for (unsigned k = 0; k < 2; k++) {
			char word;

			if (!ends[k].revents)
				continue;
			if (read(ends[k].fd, &word, 1) == 1) {
				COMPUTE(200 * US);
				continue;
			}
			ends[k].fd = -1;
			open--;
		}
	}
	while (wait(NULL) > 0)
		;
}

/* ---- a register that one enters names into, and three look them up ---- */

static pthread_rwlock_t register_guard = PTHREAD_RWLOCK_INITIALIZER;

KEEP static void enter_name(void)
{
	pthread_rwlock_wrlock(&register_guard);
	COMPUTE(SLOW(1500 * US));
	pthread_rwlock_unlock(&register_guard);
}

KEEP static void *looker(void *data)
{
	while (!over) {
		pthread_rwlock_rdlock(&register_guard);
		pause_ns(400 * US);
		pthread_rwlock_unlock(&register_guard);
		pause_ns(2 * MS);
	}
	return data;
}

static void registry(void)
{
	start(looker, NULL);
	for (unsigned i = 0; i < 180; i++) {
		enter_name();
		COMPUTE(500 * US);
	}
}

/* ---- who has the ledger's lock asks a helper, and waits for its answer ---- */

static pthread_mutex_t ledger_guard = PTHREAD_MUTEX_INITIALIZER;
static sem_t question, answer;

KEEP static void verify_entry(void)
{
	pause_ns(SLOW(900 * US));
}

KEEP static void *verifier(void *data)
{
	for (unsigned i = 0; i < 300; i++) {
		sem_wait(&question);
		verify_entry();
		sem_post(&answer);
	}
	return data;
}

KEEP static void *clerk(void *data)
{
	for (unsigned i = 0; i < 100; i++) {
		COMPUTE(300 * US);
		pthread_mutex_lock(&ledger_guard);
		sem_post(&question);
		sem_wait(&answer);
		COMPUTE(100 * US);
		pthread_mutex_unlock(&ledger_guard);
	}
	return data;
}

static void verified(void)
{
	pthread_t thread = start(verifier, NULL);

	sem_init(&question, 0, 0);
	sem_init(&answer, 0, 0);
	run_threads(3, clerk);
	pthread_join(thread, NULL);
}

/* ---- three stages, a queue of eight between each two; the second computes long ---- */

static pthread_mutex_t stage_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stage_changed = PTHREAD_COND_INITIALIZER;
static unsigned filled[4];

KEEP static void compress_item(void)
{
	COMPUTE(SLOW(1300 * US));
}

KEEP static void *stage(void *data)
{
	unsigned at = (unsigned)(uintptr_t)data;

	for (unsigned i = 0; i < 300; i++) {
		pthread_mutex_lock(&stage_mutex);
		while ((at && !filled[at]) || (at < 2 && filled[at + 1] == 8))
			pthread_cond_wait(&stage_changed, &stage_mutex);
		filled[at] -= at != 0;
		pthread_mutex_unlock(&stage_mutex);
		if (at == 1)
			compress_item();
		else
			COMPUTE(250 * US);
		pthread_mutex_lock(&stage_mutex);
		filled[at + 1]++;
		pthread_cond_broadcast(&stage_changed);
		pthread_mutex_unlock(&stage_mutex);
	}
	return data;
}

static void three_stages(void)
{
	run_threads(3, stage);
}

/* ---- who looks every 2 ms whether two that compute are done with their round ---- */

static _Atomic unsigned rounds_done;

KEEP static void simulate(void)
{
	COMPUTE(SLOW(320 * MS));
}

KEEP static void *simulator(void *data)
{
	COMPUTE(100 * MS);
	if (!data)
		simulate();
	rounds_done++;
	return data;
}

static void watch_done(void)
{
	pthread_t threads[2];

	start_all(threads, 2, simulator);
	while (rounds_done < 2)
		pause_ns(2 * MS);
	COMPUTE(50 * MS);
	join_all(threads, 2);
}

/* ---- one loads what all need, with the lock; then each works for itself ---- */

static pthread_mutex_t load_guard = PTHREAD_MUTEX_INITIALIZER;
static bool is_loaded;

KEEP static void load_all(void)
{
	for (unsigned i = 0; i < 60; i++) {
		pause_ns(SLOW(4 * MS));
		COMPUTE(SLOW(500 * US));
	}
}

KEEP static void *needs_it(void *data)
{
	pthread_mutex_lock(&load_guard);
	if (!is_loaded)
		load_all();
	is_loaded = true;
	pthread_mutex_unlock(&load_guard);
	for (unsigned i = 0; i < 40; i++) {
		COMPUTE(MS);
		pause_ns(2 * MS);
	}
	return data;
}

static void load_first(void)
{
	run_threads(3, needs_it);
}

/* ---- items are handed on in groups: when five are there, or after 6 ms ---- */

static pthread_mutex_t group_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t group_grew = PTHREAD_COND_INITIALIZER;
static unsigned in_group;
static bool no_more;

KEEP static void make_item(void)
{
	COMPUTE(SLOW(800 * US));
	pause_ns(SLOW(400 * US));
}

KEEP static void *item_maker(void *data)
{
	for (unsigned i = 0; i < 320; i++) {
		make_item();
		pthread_mutex_lock(&group_mutex);
		in_group++;
		no_more = i == 319;
		pthread_cond_signal(&group_grew);
		pthread_mutex_unlock(&group_mutex);
	}
	return data;
}

static void groups(void)
{
	pthread_t thread = start(item_maker, NULL);
	bool end = false;

	while (!end) {
		struct timespec until;
		int late = 0;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 6000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_mutex_lock(&group_mutex);
		while (in_group < 5 && !no_more && !late)
			late = pthread_cond_timedwait(&group_grew, &group_mutex, &until);
		end = no_more;
		in_group = 0;
		pthread_mutex_unlock(&group_mutex);
		COMPUTE(600 * US);
	}
	pthread_join(thread, NULL);
}

MAIN(,
	PROGRAM(letters), PROGRAM(gather), PROGRAM(registry), PROGRAM(verified), PROGRAM(three_stages), PROGRAM(watch_done),
	PROGRAM(load_first), PROGRAM(groups))
