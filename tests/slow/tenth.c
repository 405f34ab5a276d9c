/* A seventh set of programs that replay was not made with: written, recorded, measured and asked
 * about once (whatif.py). `tenth NAME` runs one; what is slow is SLOW_WORK per cent of what it was. */
#define _GNU_SOURCE
#include "common.h"

#include <fcntl.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* ---- a pipeline of three processes; the middle one packs each block ---- */

KEEP static void pack_block(void)
{
	COMPUTE(SLOW(2500 * US));
}

static void packers(void)
{
	static char block[4096];
	int in[2], out[2];

	need(!pipe(in) && !pipe(out), "pipe");
	if (!fork_named("packer")) {
		close(in[1]);
		close(out[0]);
		while (read(in[0], block, sizeof(block)) == sizeof(block)) {
			pack_block();
			need(write(out[1], block, 512) == 512, "write");
		}
		_exit(0);
	}
	if (!fork_named("storer")) {
		close(in[1]);
		close(in[0]);
		close(out[1]);
		while (read(out[0], block, 512) == 512)
			COMPUTE(300 * US);
		_exit(0);
	}
	close(in[0]);
	close(out[0]);
	close(out[1]);
	for (unsigned i = 0; i < 150; i++) {
		COMPUTE(500 * US);
		need(write(in[1], block, sizeof(block)) == sizeof(block), "write");
	}
	close(in[1]);
	while (wait(NULL) > 0)
		;
}

/* ---- three with jobs of their own each, who take others' when they have none ---- */

static pthread_mutex_t box_mutex[3] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
static unsigned box_left[3] = { 120, 30, 30 };

KEEP static void run_job(void)
{
	pause_ns(SLOW(5 * MS));
	COMPUTE(300 * US);
}

static bool take_job(unsigned box)
{
	bool got;

	pthread_mutex_lock(&box_mutex[box]);
	got = box_left[box] > 0;
	box_left[box] -= got;
	pthread_mutex_unlock(&box_mutex[box]);
	return got;
}

KEEP static void *stealer(void *data)
{
	unsigned own = (unsigned)(uintptr_t)data;

	while (take_job(own) || take_job((own + 1) % 3) || take_job((own + 2) % 3))
		run_job();
	return data;
}

static void stealing(void)
{
	run_threads(3, stealer);
}

/* ---- two clients that think between their questions, one process that answers ---- */

KEEP static void look_price(void)
{
	COMPUTE(SLOW(2 * MS));
}

static int lines[2][2];

KEEP static void *shopper(void *data)
{
	int line = lines[(uintptr_t)data][0];
	char answer;

	for (unsigned i = 0; i < 70; i++) {
		need(write(line, "q", 1) == 1 && read(line, &answer, 1) == 1, "ask");
		pause_ns(1500 * US);
	}
	shutdown(line, SHUT_WR);
	return data;
}

static void shoppers(void)
{
	pthread_t threads[2];

	for (unsigned i = 0; i < 2; i++)
		need(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, lines[i]), "socketpair");
	if (!fork_named("shop")) {
		bool open[2] = { true, true };
		char question;

		for (unsigned at = 0; open[0] || open[1]; at ^= 1) {
			if (!open[at])
				continue;
			if (read(lines[at][1], &question, 1) != 1) {
				open[at] = false;
				continue;
			}
			look_price();
			need(write(lines[at][1], "a", 1) == 1, "write");
		}
		_exit(0);
	}
	start_all(threads, 2, shopper);
	join_all(threads, 2);
	wait(NULL);
}

/* ---- by the clock, each 3 ms; each fourth piece is a large one ---- */

KEEP static void send_burst(void)
{
	COMPUTE(SLOW(11 * MS));
}

static void rate_limit(void)
{
	struct timespec next;

	clock_gettime(CLOCK_MONOTONIC, &next);
	for (unsigned i = 0; i < 100; i++) {
		next.tv_nsec += 3000000;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
		if (i % 4 == 3)
			send_burst();
		else
			COMPUTE(500 * US);
	}
}

/* ---- a ring in shared memory, from one process to another ---- */

struct shared_box {
	sem_t full, empty;
};

KEEP static void take_in(void)
{
	pause_ns(SLOW(1 * MS));
	COMPUTE(SLOW(1 * MS));
}

static void shared_box(void)
{
	struct shared_box *box = mmap(NULL, sizeof(*box), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	need(box != MAP_FAILED, "mmap");
	sem_init(&box->full, 1, 0);
	sem_init(&box->empty, 1, 4);
	if (!fork_named("taker")) {
		for (unsigned i = 0; i < 180; i++) {
			sem_wait(&box->full);
			take_in();
			sem_post(&box->empty);
		}
		_exit(0);
	}
	for (unsigned i = 0; i < 180; i++) {
		COMPUTE(600 * US);
		sem_wait(&box->empty);
		sem_post(&box->full);
	}
	wait(NULL);
}

/* ---- routes that two read all the time and one changes ---- */

static pthread_rwlock_t routes = PTHREAD_RWLOCK_INITIALIZER;

KEEP static void change_routes(void)
{
	pthread_rwlock_wrlock(&routes);
	pause_ns(SLOW(2500 * US));
	pthread_rwlock_unlock(&routes);
}

KEEP static void *route_writer(void *data)
{
	while (!over) {
		pause_ns(2 * MS);
		change_routes();
	}
	return data;
}

KEEP static void *traveller(void *data)
{
	for (unsigned i = 0; i < 250; i++) {
		pthread_rwlock_rdlock(&routes);
		COMPUTE(200 * US);
		pthread_rwlock_unlock(&routes);
		COMPUTE(400 * US);
	}
	return data;
}

static void travel(void)
{
	start(route_writer, NULL);
	run_threads(2, traveller);
}

/* ---- rounds of three children that take differently long ---- */

KEEP static void solve_part(unsigned part)
{
	pause_ns(SLOW((part + 1) * 4 * MS));
}

static void child_rounds(void)
{
	for (unsigned i = 0; i < 25; i++) {
		for (unsigned part = 0; part < 3; part++)
			if (!fork_named("solver")) {
				COMPUTE(300 * US);
				solve_part((part + i) % 3);
				_exit(0);
			}
		while (wait(NULL) > 0)
			;
		COMPUTE(2 * MS);
	}
}

/* ---- records are made and then synced to the disk, one after the other ---- */

KEEP static void make_record(void)
{
	COMPUTE(SLOW(4 * MS));
}

static void sync_loop(void)
{
	char name[] = "/var/tmp/slow-records.XXXXXX", record[4096] = "";
	int fd = mkstemp(name);

	need(fd >= 0, "mkstemp");
	unlink(name);
	for (unsigned i = 0; i < 80; i++) {
		make_record();
		need(write(fd, record, sizeof(record)) == sizeof(record) && !fdatasync(fd), "write");
	}
	close(fd);
}

/* ---- at most two of five threads at once may use the scanner ---- */

static sem_t scanners;

KEEP static void scan_page(void)
{
	sem_wait(&scanners);
	pause_ns(SLOW(3 * MS));
	sem_post(&scanners);
}

KEEP static void *clerk(void *data)
{
	for (unsigned i = 0; i < 50; i++) {
		COMPUTE(200 * US);
		scan_page();
		pause_ns(500 * US);
	}
	return data;
}

static void scanning(void)
{
	sem_init(&scanners, 0, 2);
	run_threads(5, clerk);
}

/* ---- one publishes, and wakes six at once, of which each does a little ---- */

static pthread_mutex_t news_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news_there = PTHREAD_COND_INITIALIZER, news_read = PTHREAD_COND_INITIALIZER;
static unsigned issue, readers_left;

KEEP static void write_news(void)
{
	COMPUTE(SLOW(4 * MS));
}

KEEP static void *news_reader(void *data)
{
	for (unsigned seen = 0; seen < 70; seen++) {
		pthread_mutex_lock(&news_mutex);
		while (issue == seen)
			pthread_cond_wait(&news_there, &news_mutex);
		pthread_mutex_unlock(&news_mutex);
		COMPUTE(200 * US);
		pthread_mutex_lock(&news_mutex);
		if (!--readers_left)
			pthread_cond_signal(&news_read);
		pthread_mutex_unlock(&news_mutex);
	}
	return data;
}

static void news(void)
{
	pthread_t threads[6];

	start_all(threads, 6, news_reader);
	for (unsigned i = 0; i < 70; i++) {
		write_news();
		pthread_mutex_lock(&news_mutex);
		readers_left = 6;
		issue++;
		pthread_cond_broadcast(&news_there);
		while (readers_left)
			pthread_cond_wait(&news_read, &news_mutex);
		pthread_mutex_unlock(&news_mutex);
	}
	join_all(threads, 6);
}

MAIN(,
	PROGRAM(packers), PROGRAM(stealing), PROGRAM(shoppers), PROGRAM(rate_limit), PROGRAM(shared_box), PROGRAM(travel),
	PROGRAM(child_rounds), PROGRAM(sync_loop), PROGRAM(scanning), PROGRAM(news))
