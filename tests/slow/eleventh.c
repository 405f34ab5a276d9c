/* An eighth set of programs that replay was not made with: written, recorded, measured and asked
 * about once (whatif.py). `eleventh NAME` runs one; what is slow is SLOW_WORK per cent of what it was. */
#define _GNU_SOURCE
#include "common.h"

#include <semaphore.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* ---- three ask a device, each with a look into a table before it ---- */

static pthread_mutex_t table_mutex = PTHREAD_MUTEX_INITIALIZER;

KEEP static void ask_device(void)
{
	pause_ns(SLOW(4 * MS));
}

KEEP static void *asker(void *data)
{
	for (unsigned i = 0; i < 70; i++) {
		pthread_mutex_lock(&table_mutex);
		COMPUTE(200 * US);
		pthread_mutex_unlock(&table_mutex);
		ask_device();
		COMPUTE(300 * US);
	}
	return data;
}

static void device(void)
{
	run_threads(3, asker);
}

/* ---- pieces for a process that sums them up and says so after each fourth ---- */

KEEP static void sum_piece(void)
{
	COMPUTE(SLOW(1200 * US));
}

static void upload(void)
{
	static char piece[1024];
	int pair[2];

	need(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), "socketpair");
	if (!fork_named("summer")) {
		close(pair[0]);
		for (unsigned i = 0; read(pair[1], piece, sizeof(piece)) == sizeof(piece); i++) {
			sum_piece();
			if (i % 4 == 3)
				need(write(pair[1], piece, 1) == 1, "write");
		}
		_exit(0);
	}
	close(pair[1]);
	for (unsigned i = 0; i < 240; i++) {
		COMPUTE(300 * US);
		need(write(pair[0], piece, sizeof(piece)) == sizeof(piece), "write");
		if (i % 4 == 3)
			need(read(pair[0], piece, 1) == 1, "read");
	}
	close(pair[0]);
	wait(NULL);
}

/* ---- three ovens for six bakers ---- */

static sem_t ovens;

KEEP static void bake(void)
{
	pause_ns(SLOW(3 * MS));
}

KEEP static void *baker(void *data)
{
	for (unsigned i = 0; i < 60; i++) {
		COMPUTE(150 * US);
		sem_wait(&ovens);
		bake();
		sem_post(&ovens);
	}
	return data;
}

static void bakery(void)
{
	sem_init(&ovens, 0, 3);
	run_threads(6, baker);
}

/* ---- a queue of eight places; who takes from it is slow ---- */

static pthread_mutex_t row_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t row_grew = PTHREAD_COND_INITIALIZER, row_shrank = PTHREAD_COND_INITIALIZER;
static unsigned row_length;

KEEP static void stamp_letter(void)
{
	COMPUTE(SLOW(1800 * US));
}

KEEP static void *stamper(void *data)
{
	for (unsigned i = 0; i < 200; i++) {
		pthread_mutex_lock(&row_mutex);
		while (!row_length)
			pthread_cond_wait(&row_grew, &row_mutex);
		row_length--;
		pthread_cond_signal(&row_shrank);
		pthread_mutex_unlock(&row_mutex);
		stamp_letter();
	}
	return data;
}

static void post_office(void)
{
	pthread_t thread = start(stamper, NULL);

	for (unsigned i = 0; i < 200; i++) {
		COMPUTE(600 * US);
		pthread_mutex_lock(&row_mutex);
		while (row_length == 8)
			pthread_cond_wait(&row_shrank, &row_mutex);
		row_length++;
		pthread_cond_signal(&row_grew);
		pthread_mutex_unlock(&row_mutex);
	}
	pthread_join(thread, NULL);
}

/* ---- a lock around something that waits ---- */

static pthread_mutex_t archive_mutex = PTHREAD_MUTEX_INITIALIZER;

KEEP static void store_file(void)
{
	pthread_mutex_lock(&archive_mutex);
	pause_ns(SLOW(800 * US));
	pthread_mutex_unlock(&archive_mutex);
}

KEEP static void *archivist(void *data)
{
	for (unsigned i = 0; i < 100; i++) {
		COMPUTE(500 * US);
		store_file();
	}
	return data;
}

static void archive(void)
{
	run_threads(4, archivist);
}

/* ---- rounds in which another one has the large part each time ---- */

static pthread_barrier_t round_end;

KEEP static void large_part(void)
{
	pause_ns(SLOW(3 * MS));
}

KEEP static void *partner(void *data)
{
	for (unsigned i = 0; i < 100; i++) {
		if (i % 3 == (uintptr_t)data)
			large_part();
		else
			COMPUTE(500 * US);
		pthread_barrier_wait(&round_end);
	}
	return data;
}

static void rotating(void)
{
	pthread_barrier_init(&round_end, NULL, 3);
	run_threads(3, partner);
}

/* ---- two filters behind each other; the second is slow ---- */

KEEP static void translate_line(void)
{
	COMPUTE(SLOW(1500 * US));
}

static void filter_through(int from, int to, bool slow)
{
	char line[128];

	while (read(from, line, sizeof(line)) == sizeof(line)) {
		if (slow)
			translate_line();
		else
			COMPUTE(400 * US);
		if (to >= 0)
			need(write(to, line, sizeof(line)) == sizeof(line), "write");
	}
	_exit(0);
}

static void filters(void)
{
	char line[128] = "";
	int in[2], middle[2];

	need(!pipe(in) && !pipe(middle), "pipe");
	if (!fork_named("splitter")) {
		close(in[1]);
		close(middle[0]);
		filter_through(in[0], middle[1], false);
	}
	if (!fork_named("translator")) {
		close(in[0]);
		close(in[1]);
		close(middle[1]);
		filter_through(middle[0], -1, true);
	}
	close(in[0]);
	close(middle[0]);
	close(middle[1]);
	for (unsigned i = 0; i < 250; i++)
		need(write(in[1], line, sizeof(line)) == sizeof(line), "write");
	close(in[1]);
	while (wait(NULL) > 0)
		;
}

/* ---- works, rests for a millisecond, and works again ---- */

KEEP static void take_picture(void)
{
	COMPUTE(SLOW(2 * MS));
}

static void rests(void)
{
	for (unsigned i = 0; i < 120; i++) {
		take_picture();
		pause_ns(MS);
	}
}

MAIN(,
	PROGRAM(device), PROGRAM(upload), PROGRAM(bakery), PROGRAM(post_office), PROGRAM(archive), PROGRAM(rotating),
	PROGRAM(filters), PROGRAM(rests))
