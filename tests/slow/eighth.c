/* A fifth set of programs that replay was not made with: written, recorded, measured and asked
 * about once (whatif.py). `eighth NAME` runs one; what is slow is SLOW_WORK per cent of what it was. */
#define _GNU_SOURCE
#include "common.h"

#include <fcntl.h>
#include <mqueue.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

/* ---- who has something to do at each tick, and is not done with it when the next one comes ---- */

KEEP static void draw_frame(void)
{
	COMPUTE(SLOW(5 * MS));
	pause_ns(SLOW(2 * MS));
}

static void paced(void)
{
	struct itimerspec each = { { 0, 4 * MS }, { 0, 4 * MS } };
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	uint64_t ticks;

	timerfd_settime(fd, 0, &each, NULL);
	for (unsigned i = 0; i < 70; i++) {
		need(read(fd, &ticks, sizeof(ticks)) == sizeof(ticks), "read");
		draw_frame();
	}
}

/* ---- batches of six for three workers; who hands them out waits for the last of each ---- */

static pthread_mutex_t batch_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t batch_there = PTHREAD_COND_INITIALIZER, batch_done = PTHREAD_COND_INITIALIZER;
static unsigned batch_left, batch_open;

KEEP static void fetch_part(void)
{
	pause_ns(SLOW(3 * MS));
}

KEEP static void *part_worker(void *data)
{
	pthread_mutex_lock(&batch_mutex);
	while (!over) {
		if (!batch_left) {
			pthread_cond_wait(&batch_there, &batch_mutex);
			continue;
		}
		batch_left--;
		pthread_mutex_unlock(&batch_mutex);
		fetch_part();
		COMPUTE(150 * US);
		pthread_mutex_lock(&batch_mutex);
		if (!--batch_open)
			pthread_cond_signal(&batch_done);
	}
	pthread_mutex_unlock(&batch_mutex);
	return data;
}

static void batch_latch(void)
{
	for (unsigned i = 0; i < 3; i++)
		start(part_worker, NULL);
	for (unsigned i = 0; i < 55; i++) {
		COMPUTE(MS);
		pthread_mutex_lock(&batch_mutex);
		batch_left = batch_open = 6;
		pthread_cond_broadcast(&batch_there);
		while (batch_open)
			pthread_cond_wait(&batch_done, &batch_mutex);
		pthread_mutex_unlock(&batch_mutex);
	}
}

/* ---- three workers that each hand a part of their work to one store, and wait for it ---- */

static sem_t store_asked, store_free[3];
static _Atomic unsigned store_for[512];
static _Atomic unsigned store_in, store_out;

KEEP static void write_store(void)
{
	pause_ns(SLOW(1100 * US));
}

KEEP static void *store(void *data)
{
	for (unsigned i = 0; i < 300; i++) {
		sem_wait(&store_asked);
		write_store();
		sem_post(&store_free[store_for[store_out++ % 512]]);
	}
	return data;
}

KEEP static void *asker(void *data)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	unsigned me = (unsigned)(uintptr_t)data;

	for (unsigned i = 0; i < 100; i++) {
		COMPUTE(300 * US);
		pthread_mutex_lock(&mutex);
		store_for[store_in++ % 512] = me;
		pthread_mutex_unlock(&mutex);
		sem_post(&store_asked);
		sem_wait(&store_free[me]);
	}
	return NULL;
}

static void nested_pools(void)
{
	pthread_t thread;

	sem_init(&store_asked, 0, 0);
	for (unsigned i = 0; i < 3; i++)
		sem_init(&store_free[i], 0, 0);
	thread = start(store, NULL);
	run_threads(3, asker);
	pthread_join(thread, NULL);
}

/* ---- two processes and a ring of four places between them, with semaphores in shared memory ---- */

struct ring {
	sem_t room, there;
};

KEEP static void encode_picture(void)
{
	COMPUTE(SLOW(1400 * US));
}

static void shared_ring(void)
{
	struct ring *ring = mmap(NULL, sizeof(*ring), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	need(ring != MAP_FAILED, "mmap");
	sem_init(&ring->room, 1, 4);
	sem_init(&ring->there, 1, 0);
	if (!fork()) {
		prctl(PR_SET_NAME, "encoder");
		for (unsigned i = 0; i < 260; i++) {
			sem_wait(&ring->there);
			encode_picture();
			sem_post(&ring->room);
		}
		_exit(0);
	}
	for (unsigned i = 0; i < 260; i++) {
		COMPUTE(500 * US);
		sem_wait(&ring->room);
		sem_post(&ring->there);
	}
	wait(NULL);
}

/* ---- a message queue of the kernel's with ten places ---- */

KEEP static void handle_letter(void)
{
	COMPUTE(SLOW(300 * US));
	pause_ns(SLOW(1200 * US));
}

KEEP static void *post_box(void *data)
{
	mqd_t queue = *(mqd_t *)data;
	char text[16];

	for (unsigned i = 0; i < 250; i++) {
		need(mq_receive(queue, text, sizeof(text), NULL) >= 0, "mq_receive");
		handle_letter();
	}
	return NULL;
}

static void letter_queue(void)
{
	struct mq_attr attr = { .mq_maxmsg = 10, .mq_msgsize = 16 };
	char name[32];
	mqd_t queue;
	pthread_t thread;

	snprintf(name, sizeof(name), "/slow-%d", getpid());
	queue = mq_open(name, O_CREAT | O_RDWR, 0600, &attr);
	need(queue >= 0, "mq_open");
	mq_unlink(name);
	thread = start(post_box, &queue);
	for (unsigned i = 0; i < 250; i++) {
		COMPUTE(400 * US);
		need(!mq_send(queue, "letter", 6, 0), "mq_send");
	}
	pthread_join(thread, NULL);
}

/* ---- two buffers: one fills them, the other empties them ---- */

static sem_t empty_ones, full_ones;

KEEP static void read_block(void)
{
	pause_ns(SLOW(2300 * US));
	COMPUTE(SLOW(300 * US));
}

KEEP static void *filler(void *data)
{
	for (unsigned i = 0; i < 160; i++) {
		sem_wait(&empty_ones);
		read_block();
		sem_post(&full_ones);
	}
	return data;
}

static void two_buffers(void)
{
	pthread_t thread;

	sem_init(&empty_ones, 0, 2);
	sem_init(&full_ones, 0, 0);
	thread = start(filler, NULL);
	for (unsigned i = 0; i < 160; i++) {
		sem_wait(&full_ones);
		COMPUTE(900 * US);
		pause_ns(400 * US);
		sem_post(&empty_ones);
	}
	pthread_join(thread, NULL);
}

/* ---- a thread for each job, at most two at once ---- */

static sem_t may_run;

KEEP static void fetch_page(void)
{
	pause_ns(SLOW(7 * MS));
}

KEEP static void *page_job(void *data)
{
	sem_wait(&may_run);
	fetch_page();
	COMPUTE(300 * US);
	sem_post(&may_run);
	return data;
}

static void thread_each(void)
{
	pthread_t threads[120];

	sem_init(&may_run, 0, 2);
	start_all(threads, 120, page_job);
	join_all(threads, 120);
}

/* ---- who does not get the lock at once sleeps 300 us and tries again ---- */

static pthread_mutex_t tried = PTHREAD_MUTEX_INITIALIZER;

KEEP static void change_table(void)
{
	COMPUTE(SLOW(900 * US));
}

KEEP static void *trier(void *data)
{
	for (unsigned i = 0; i < 110; i++) {
		while (pthread_mutex_trylock(&tried))
			pause_ns(300 * US);
		change_table();
		pthread_mutex_unlock(&tried);
		COMPUTE(200 * US);
		pause_ns(300 * US);
	}
	return data;
}

static void try_again(void)
{
	run_threads(3, trier);
}

/* ---- work that signals bring, and a signal back ---- */

KEEP static void serve_signal(void)
{
	COMPUTE(SLOW(1200 * US));
}

static pthread_t signal_from;

KEEP static void *signal_server(void *data)
{
	int number;

	for (unsigned i = 0; i < 220; i++) {
		sigwait(data, &number);
		serve_signal();
		pthread_kill(signal_from, SIGUSR2);
	}
	return NULL;
}

static void by_signal(void)
{
	sigset_t to, back;
	pthread_t thread;
	int number;

	sigemptyset(&to);
	sigaddset(&to, SIGUSR1);
	sigemptyset(&back);
	sigaddset(&back, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &to, NULL);
	pthread_sigmask(SIG_BLOCK, &back, NULL);
	signal_from = pthread_self();
	thread = start(signal_server, &to);
	for (unsigned i = 0; i < 220; i++) {
		COMPUTE(600 * US);
		pthread_kill(thread, SIGUSR1);
		sigwait(&back, &number);
	}
	pthread_join(thread, NULL);
}

/* ---- three compute for two processors, one of them twice as long ---- */

KEEP static void fold_protein(void)
{
	COMPUTE(SLOW(300 * MS));
}

KEEP static void *computer(void *data)
{
	for (unsigned i = 0; i < 10; i++)
		COMPUTE(15 * MS);
	if (!data)
		fold_protein();
	return NULL;
}

static void three_compute(void)
{
	run_threads(3, computer);
}

/* ---- lines are written into a pipe with the lock, and its reader is slow ---- */

static pthread_mutex_t line_mutex = PTHREAD_MUTEX_INITIALIZER;
static int line_pipe[2];

KEEP static void print_line(void)
{
	COMPUTE(SLOW(1000 * US));
}

KEEP static void *printer(void *data)
{
	char line[4096];

	for (unsigned i = 0; i < 300; i++) {
		size_t got = 0;

		for (ssize_t n; got < sizeof(line) && (n = read(line_pipe[0], line + got, sizeof(line) - got)) > 0; )
			got += (size_t)n;
		print_line();
	}
	return data;
}

KEEP static void *line_writer(void *data)
{
	static char line[4096];

	for (unsigned i = 0; i < 100; i++) {
		COMPUTE(150 * US);
		pause_ns(200 * US);
		pthread_mutex_lock(&line_mutex);
		need(write(line_pipe[1], line, sizeof(line)) == sizeof(line), "write");
		pthread_mutex_unlock(&line_mutex);
	}
	return data;
}

static void slow_printer(void)
{
	pthread_t thread;

	need(!pipe(line_pipe), "pipe");
	fcntl(line_pipe[1], F_SETPIPE_SZ, 8192);
	thread = start(printer, NULL);
	run_threads(3, line_writer);
	pthread_join(thread, NULL);
}

/* ---- two write what four read, all with one read-write lock; the writers are slow ---- */

static pthread_rwlock_t map_guard = PTHREAD_RWLOCK_INITIALIZER;

KEEP static void update_map(void)
{
	pthread_rwlock_wrlock(&map_guard);
	COMPUTE(SLOW(1500 * US));
	pthread_rwlock_unlock(&map_guard);
}

KEEP static void *map_writer(void *data)
{
	for (unsigned i = 0; i < 90; i++) {
		update_map();
		pause_ns(700 * US);
	}
	return data;
}

KEEP static void *map_reader(void *data)
{
	while (!over) {
		pthread_rwlock_rdlock(&map_guard);
		COMPUTE(100 * US);
		pthread_rwlock_unlock(&map_guard);
		pause_ns(2 * MS);
	}
	return data;
}

static void map_writers(void)
{
	for (unsigned i = 0; i < 4; i++)
		start(map_reader, NULL);
	run_threads(2, map_writer);
}

MAIN(,
	PROGRAM(paced), PROGRAM(batch_latch), PROGRAM(nested_pools), PROGRAM(shared_ring), PROGRAM(letter_queue),
	PROGRAM(two_buffers), PROGRAM(thread_each), PROGRAM(try_again), PROGRAM(by_signal), PROGRAM(three_compute),
	PROGRAM(slow_printer), PROGRAM(map_writers))
