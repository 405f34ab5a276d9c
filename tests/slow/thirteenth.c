/* A tenth set of programs that replay was not made with: ordinary ones, each with a change that somebody might make to
 * it. Written, recorded, measured and asked about once (whatif.py). `thirteenth NAME` runs one; what is slow is SLOW_WORK
 * per cent of what it was. */
#define _GNU_SOURCE
#include "common.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* ---- rows from a cache; each fifth is not there and is fetched ---- */

static pthread_mutex_t cache_mutex = PTHREAD_MUTEX_INITIALIZER;

KEEP static void fetch_row(void)
{
	pause_ns(SLOW(4 * MS));
}

KEEP static void *looker(void *data)
{
	for (unsigned i = 0; i < 300; i++) {
		pthread_mutex_lock(&cache_mutex);
		COMPUTE(30 * US);
		pthread_mutex_unlock(&cache_mutex);
		if (i % 5 == 4)
			fetch_row();
		COMPUTE(150 * US);
	}
	return data;
}

static void cached_rows(void)
{
	run_threads(3, looker);
}

/* ---- two processes take page numbers from one pipe and report on another one ---- */

KEEP static void render_page(void)
{
	COMPUTE(SLOW(2 * MS));
}

static void pages(void)
{
	int jobs[2], done[2];
	char page = 'p';

	need(!pipe(jobs) && !pipe(done), "pipe");
	for (unsigned k = 0; k < 2; k++)
		if (!fork_named("renderer")) {
			close(jobs[1]);
			while (read(jobs[0], &page, 1) == 1) {
				render_page();
				need(write(done[1], &page, 1) == 1, "write");
			}
			_exit(0);
		}
	for (unsigned i = 0; i < 300; i++) {
		need(write(jobs[1], &page, 1) == 1, "write");
		if (i >= 4)
			need(read(done[0], &page, 1) == 1, "read");
		COMPUTE(60 * US);
	}
	close(jobs[1]);
	while (wait(NULL) > 0)
		;
}

/* ---- records are made, and flushed by twenties ---- */

KEEP static void flush_records(void)
{
	pause_ns(SLOW(7 * MS));
	COMPUTE(SLOW(1 * MS));
}

KEEP static void make_record(void)
{
	COMPUTE(120 * US);
}

static void records(void)
{
	for (unsigned i = 1; i <= 700; i++) {
		make_record();
		if (i % 20 == 0)
			flush_records();
	}
}

/* ---- three workers with a queue, each job a call to a backend ---- */

static pthread_mutex_t jobs_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t jobs_grew = PTHREAD_COND_INITIALIZER, jobs_done = PTHREAD_COND_INITIALIZER;
static unsigned jobs_waiting, jobs_left = 330;

KEEP static void call_backend(void)
{
	pause_ns(SLOW(2500 * US));
}

KEEP static void *worker(void *data)
{
	for (;;) {
		pthread_mutex_lock(&jobs_mutex);
		while (!jobs_waiting)
			pthread_cond_wait(&jobs_grew, &jobs_mutex);
		jobs_waiting--;
		pthread_mutex_unlock(&jobs_mutex);
		COMPUTE(300 * US);
		call_backend();
		pthread_mutex_lock(&jobs_mutex);
		if (!--jobs_left)
			pthread_cond_signal(&jobs_done);
		pthread_mutex_unlock(&jobs_mutex);
	}
	return data;
}

static void backend(void)
{
	pthread_t threads[3];

	start_all(threads, 3, worker);
	for (unsigned i = 0; i < 330; i++) {
		COMPUTE(100 * US);
		pthread_mutex_lock(&jobs_mutex);
		jobs_waiting++;
		pthread_cond_signal(&jobs_grew);
		pthread_mutex_unlock(&jobs_mutex);
	}
	pthread_mutex_lock(&jobs_mutex);
	while (jobs_left)
		pthread_cond_wait(&jobs_done, &jobs_mutex);
	pthread_mutex_unlock(&jobs_mutex);
}

/* ---- questions through a front process to the one behind it ---- */

KEEP static void query_store(void)
{
	COMPUTE(SLOW(900 * US));
}

static void serve(int from, int to)
{
	char question[32];

	while (read(from, question, sizeof(question)) > 0) {
		if (to >= 0) {
			COMPUTE(80 * US);
			need(write(to, question, sizeof(question)) > 0 && read(to, question, sizeof(question)) > 0, "behind");
		} else {
			query_store();
		}
		need(write(from, question, sizeof(question)) > 0, "answer");
	}
	_exit(0);
}

static void front_and_store(void)
{
	char question[32] = "?";
	int front[2], store[2];

	need(!socketpair(AF_UNIX, SOCK_STREAM, 0, front) && !socketpair(AF_UNIX, SOCK_STREAM, 0, store), "socketpair");
	if (!fork_named("store")) {
		close(front[0]);
		close(front[1]);
		close(store[0]);
		serve(store[1], -1);
	}
	close(store[1]);
	if (!fork_named("front")) {
		close(front[0]);
		serve(front[1], store[0]);
	}
	close(front[1]);
	close(store[0]);
	for (unsigned i = 0; i < 260; i++) {
		COMPUTE(100 * US);
		need(write(front[0], question, sizeof(question)) > 0 && read(front[0], question, sizeof(question)) > 0, "front");
	}
	close(front[0]);
	while (wait(NULL) > 0)
		;
}

/* ---- whoever needs a part first loads it, and the others stand at its lock ---- */

static pthread_mutex_t parts_mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned parts_loaded;

KEEP static void load_part(unsigned part)
{
	pthread_mutex_lock(&parts_mutex);
	if (parts_loaded <= part) {
		pause_ns(SLOW(6 * MS));
		parts_loaded = part + 1;
	}
	pthread_mutex_unlock(&parts_mutex);
}

KEEP static void *reader(void *data)
{
	for (unsigned i = 0; i < 45; i++) {
		load_part(i);
		COMPUTE(800 * US + 100 * US * (uintptr_t)data);
	}
	return data;
}

static void parts(void)
{
	run_threads(3, reader);
}

/* ---- from a device into one of two buffers, and from there to a slower one ---- */

static sem_t empty, filled;

KEEP static void write_chunk(void)
{
	pause_ns(SLOW(2200 * US));
}

KEEP static void *writer(void *data)
{
	for (unsigned i = 0; i < 150; i++) {
		sem_wait(&filled);
		write_chunk();
		sem_post(&empty);
	}
	return data;
}

KEEP static void read_chunk(void)
{
	pause_ns(900 * US);
	COMPUTE(100 * US);
}

static void copying(void)
{
	pthread_t thread;

	sem_init(&empty, 0, 2);
	sem_init(&filled, 0, 0);
	thread = start(writer, NULL);
	for (unsigned i = 0; i < 150; i++) {
		sem_wait(&empty);
		read_chunk();
		sem_post(&filled);
	}
	pthread_join(thread, NULL);
}

/* ---- three parts of a file are counted, and what they found is put together ---- */

KEEP static void count_words(unsigned part)
{
	COMPUTE(SLOW(100 * MS + part * 40 * MS));
}

KEEP static void *counter(void *data)
{
	COMPUTE(10 * MS);
	count_words((unsigned)(uintptr_t)data);
	return data;
}

KEEP static void put_together(void)
{
	COMPUTE(60 * MS);
}

static void word_count(void)
{
	run_threads(3, counter);
	put_together();
}

/* ---- who waits for items says every 10 ms how far it is ---- */

static pthread_mutex_t items_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t items_moved = PTHREAD_COND_INITIALIZER;
static unsigned items_done;

KEEP static void crunch_item(void)
{
	COMPUTE(SLOW(6 * MS));
}

KEEP static void *cruncher(void *data)
{
	for (unsigned i = 0; i < 50; i++) {
		COMPUTE(600 * US);
		crunch_item();
		pthread_mutex_lock(&items_mutex);
		items_done++;
		if (i == 49)
			pthread_cond_signal(&items_moved);
		pthread_mutex_unlock(&items_mutex);
	}
	return data;
}

static void progress(void)
{
	pthread_t thread = start(cruncher, NULL);
	struct timespec until;

	pthread_mutex_lock(&items_mutex);
	while (items_done < 50) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 10 * (long)MS;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		if (pthread_cond_timedwait(&items_moved, &items_mutex, &until) == ETIMEDOUT)
			COMPUTE(50 * US);
	}
	pthread_mutex_unlock(&items_mutex);
	pthread_join(thread, NULL);
}

/* ---- three clients over sockets, and one that polls them all ---- */

static int clients[3][2];

KEEP static void answer_client(void)
{
	COMPUTE(SLOW(500 * US));
}

KEEP static void *poll_server(void *data)
{
	struct pollfd polled[3];
	char letter[16];

	for (unsigned k = 0; k < 3; k++)
		polled[k] = (struct pollfd){ .fd = clients[k][1], .events = POLLIN };
	for (unsigned left = 3; left; ) {
		need(poll(polled, 3, -1) > 0, "poll");
		for (unsigned k = 0; k < 3; k++) {
			if (polled[k].fd < 0 || !polled[k].revents)
				continue;
			if (read(polled[k].fd, letter, sizeof(letter)) <= 0) {
				polled[k].fd = -1;
				left--;
				continue;
			}
			answer_client();
			need(write(polled[k].fd, letter, sizeof(letter)) > 0, "write");
		}
	}
	return data;
}

KEEP static void *client(void *data)
{
	int fd = clients[(uintptr_t)data][0];
	char letter[16] = "hello";

	for (unsigned i = 0; i < 180; i++) {
		pause_ns(400 * US);
		COMPUTE(50 * US);
		need(write(fd, letter, sizeof(letter)) > 0 && read(fd, letter, sizeof(letter)) > 0, "ask");
	}
	close(fd);
	return data;
}

static void polled_clients(void)
{
	pthread_t thread;

	for (unsigned k = 0; k < 3; k++)
		need(!socketpair(AF_UNIX, SOCK_STREAM, 0, clients[k]), "socketpair");
	thread = start(poll_server, NULL);
	run_threads(3, client);
	pthread_join(thread, NULL);
}

/* ---- lines are formatted and appended to one log, which begins a new file each fortieth time ---- */

static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER, file_mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned lines;

KEEP static void new_file(void)
{
	pthread_mutex_lock(&file_mutex);
	pause_ns(2 * MS);
	pthread_mutex_unlock(&file_mutex);
}

KEEP static void append_line(void)
{
	pthread_mutex_lock(&log_mutex);
	COMPUTE(SLOW(450 * US));
	if (++lines % 40 == 0)
		new_file();
	pthread_mutex_unlock(&log_mutex);
}

KEEP static void *logger(void *data)
{
	for (unsigned i = 0; i < 150; i++) {
		COMPUTE(200 * US);
		append_line();
	}
	return data;
}

static void log_lines(void)
{
	run_threads(4, logger);
}

/* ---- who waits for a frame yields until it is there ---- */

static atomic_uint frame_asked, frame_made;

KEEP static void mix_frame(void)
{
	COMPUTE(SLOW(2 * MS));
}

KEEP static void *mixer(void *data)
{
	for (unsigned i = 1; i <= 140; i++) {
		while (atomic_load(&frame_asked) < i)
			sched_yield();
		mix_frame();
		atomic_store(&frame_made, i);
	}
	return data;
}

static void mixing(void)
{
	pthread_t thread = start(mixer, NULL);

	for (unsigned i = 1; i <= 140; i++) {
		COMPUTE(400 * US);
		atomic_store(&frame_asked, i);
		while (atomic_load(&frame_made) < i)
			sched_yield();
	}
	pthread_join(thread, NULL);
}

/* ---- three fill a heap, and one stops them all to clean it up ---- */

static pthread_mutex_t world_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t world_stopped = PTHREAD_COND_INITIALIZER, world_goes_on = PTHREAD_COND_INITIALIZER;
static unsigned stopped, live = 3, heap;
static bool stop;

KEEP static void sweep_heap(void)
{
	pause_ns(SLOW(5 * MS));
}

KEEP static void *collector(void *data)
{
	pthread_mutex_lock(&world_mutex);
	while (live) {
		while (live && !stop)
			pthread_cond_wait(&world_stopped, &world_mutex);
		while (live && stopped < live)
			pthread_cond_wait(&world_stopped, &world_mutex);
		if (!live)
			break;
		pthread_mutex_unlock(&world_mutex);
		sweep_heap();
		pthread_mutex_lock(&world_mutex);
		heap = 0;
		stop = false;
		pthread_cond_broadcast(&world_goes_on);
	}
	pthread_mutex_unlock(&world_mutex);
	return data;
}

KEEP static void *mutator(void *data)
{
	for (unsigned i = 0; i < 500; i++) {
		COMPUTE(200 * US);
		pthread_mutex_lock(&world_mutex);
		stop |= ++heap == 30;
		if (stop) {
			stopped++;
			pthread_cond_signal(&world_stopped);
			while (stop)
				pthread_cond_wait(&world_goes_on, &world_mutex);
			stopped--;
		}
		pthread_mutex_unlock(&world_mutex);
	}
	pthread_mutex_lock(&world_mutex);
	live--;
	pthread_cond_signal(&world_stopped);
	pthread_mutex_unlock(&world_mutex);
	return data;
}

static void heap_sweeps(void)
{
	pthread_t thread = start(collector, NULL);

	run_threads(3, mutator);
	pthread_join(thread, NULL);
}

/* ---- parts come in, are checked by one and stored by three, each in its own order ---- */

static int inbox[2], checked[2];

KEEP static void store_part(void)
{
	pause_ns(SLOW(3 * MS));
	COMPUTE(100 * US);
}

KEEP static void *storer(void *data)
{
	char part;

	while (read(checked[0], &part, 1) == 1)
		store_part();
	return data;
}

KEEP static void *checker(void *data)
{
	char part;

	while (read(inbox[0], &part, 1) == 1) {
		COMPUTE(350 * US);
		need(write(checked[1], &part, 1) == 1, "write");
	}
	close(checked[1]);
	return data;
}

static void deliveries(void)
{
	pthread_t check, store[3];

	need(!pipe(inbox) && !pipe(checked), "pipe");
	check = start(checker, NULL);
	start_all(store, 3, storer);
	for (unsigned i = 0; i < 330; i++) {
		COMPUTE(120 * US);
		need(write(inbox[1], "p", 1) == 1, "write");
	}
	close(inbox[1]);
	pthread_join(check, NULL);
	join_all(store, 3);
}

MAIN(,
	PROGRAM(cached_rows), PROGRAM(pages), PROGRAM(records), PROGRAM(backend), PROGRAM(front_and_store), PROGRAM(parts),
	PROGRAM(copying), PROGRAM(word_count), PROGRAM(progress), PROGRAM(polled_clients), PROGRAM(log_lines), PROGRAM(mixing),
	PROGRAM(heap_sweeps), PROGRAM(deliveries))
