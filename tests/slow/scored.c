/* Programs whose change whatif.py only scores: what replay is made better by are those of
 * programs.c. `scored NAME` runs one; what is slow is SLOW_WORK per cent of what it was. */
#define _GNU_SOURCE
#include "common.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* ---- two locks, one inside of the other ---- */

static pthread_mutex_t accounts_lock = PTHREAD_MUTEX_INITIALIZER, ledger_lock = PTHREAD_MUTEX_INITIALIZER;

KEEP static void write_ledger(void)
{
	pthread_mutex_lock(&ledger_lock);
	COMPUTE(SLOW(300 * US));
	pthread_mutex_unlock(&ledger_lock);
}

KEEP static void transfer(void)
{
	pthread_mutex_lock(&accounts_lock);
	COMPUTE(60 * US);
	write_ledger();
	pthread_mutex_unlock(&accounts_lock);
}

KEEP static void *teller(void *data)
{
	for (unsigned i = 0; i < 300; i++) {
		COMPUTE(80 * US);
		if ((uintptr_t)data & 1)
			write_ledger();
		else
			transfer();
	}
	return NULL;
}

static void nested_locks(void)
{
	pthread_t threads[4];

	start_all(threads, 4, teller);
	join_all(threads, 4);
}

/* ---- so many at once ---- */

static sem_t connections;

KEEP static void query(void)
{
	while (sem_wait(&connections))
		;
	pause_ns(SLOW(4 * MS));
	sem_post(&connections);
}

KEEP static void *session(void *data)
{
	(void)data;
	for (unsigned i = 0; i < 60; i++) {
		COMPUTE(200 * US);
		query();
	}
	return NULL;
}

static void semaphore(void)
{
	pthread_t threads[5];

	sem_init(&connections, 0, 2);
	start_all(threads, 5, session);
	join_all(threads, 5);
}

/* ---- processes ---- */

KEEP static void resize_image(void)
{
	COMPUTE(SLOW(3 * MS));
}

#define CHILDREN 3

/* Children take jobs from one pipe, a byte each, and answer on another. */
static void process_pool(void)
{
	int jobs[2], answers[2];
	char byte = 0;

	need(!pipe(jobs) && !pipe(answers), "pipe");
	for (unsigned i = 0; i < CHILDREN; i++)
		if (!fork()) {
			prctl(PR_SET_NAME, "resizer");
			close(jobs[1]);
			while (read(jobs[0], &byte, 1) == 1) {
				resize_image();
				need(write(answers[1], &byte, 1) == 1, "write");
			}
			_exit(0);
		}
	for (unsigned i = 0; i < 300; i++) {
		if (i >= CHILDREN)
			need(read(answers[0], &byte, 1) == 1, "read");
		COMPUTE(100 * US);
		need(write(jobs[1], &byte, 1) == 1, "write");
	}
	close(jobs[1]);
	while (wait(NULL) > 0)
		;
}

KEEP static void filter_block(void)
{
	COMPUTE(SLOW(800 * US));
}

KEEP static void produce_block(void)
{
	COMPUTE(200 * US);
}

KEEP static void store_block(void)
{
	COMPUTE(150 * US);
}

static bool read_all(int fd, char *block, size_t size)
{
	for (size_t had = 0; had < size; ) {
		ssize_t n = read(fd, block + had, size - had);

		if (n <= 0)
			return false;
		had += (size_t)n;
	}
	return true;
}

/* As a shell's pipeline: three processes, blocks of data. */
static void pipeline(void)
{
	static char block[16384];
	int first[2], second[2];

	need(!pipe(first) && !pipe(second), "pipe");
	if (!fork()) {
		prctl(PR_SET_NAME, "producer");
		for (unsigned i = 0; i < 600; i++) {
			produce_block();
			need(write(first[1], block, sizeof(block)) == sizeof(block), "write");
		}
		_exit(0);
	}
	close(first[1]);
	if (!fork()) {
		prctl(PR_SET_NAME, "filter");
		while (read_all(first[0], block, sizeof(block))) {
			filter_block();
			need(write(second[1], block, sizeof(block)) == sizeof(block), "write");
		}
		_exit(0);
	}
	close(first[0]);
	close(second[1]);
	while (read_all(second[0], block, sizeof(block)))
		store_block();
	while (wait(NULL) > 0)
		;
}

/* ---- a loop of events ---- */

static int posted;
static pthread_mutex_t post_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t post_done = PTHREAD_COND_INITIALIZER;
static unsigned done_count;

KEEP static void handle_event(void)
{
	COMPUTE(SLOW(500 * US));
	pause_ns(SLOW(1 * MS));
}

KEEP static void *event_loop(void *data)
{
	int loop = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLIN };
	uint64_t count;

	(void)data;
	need(!epoll_ctl(loop, EPOLL_CTL_ADD, posted, &event), "epoll");
	for (;;) {
		if (epoll_wait(loop, &event, 1, -1) != 1 || read(posted, &count, sizeof(count)) != sizeof(count))
			continue;
		handle_event();
		pthread_mutex_lock(&post_lock);
		done_count++;
		pthread_cond_signal(&post_done);
		pthread_mutex_unlock(&post_lock);
	}
	return NULL;
}

static void events(void)
{
	uint64_t one = 1;

	posted = eventfd(0, 0);
	start(event_loop, NULL);
	for (unsigned i = 0; i < 300; i++) {
		COMPUTE(400 * US);
		need(write(posted, &one, sizeof(one)) == sizeof(one), "eventfd");
		pthread_mutex_lock(&post_lock);
		while (done_count <= i)
			pthread_cond_wait(&post_done, &post_lock);
		pthread_mutex_unlock(&post_lock);
	}
}

/* ---- serial and parallel ---- */

KEEP static void *simulate_part(void *data)
{
	(void)data;
	COMPUTE(8 * MS);
	return NULL;
}

KEEP static void merge_parts(void)
{
	COMPUTE(SLOW(12 * MS));
}

static void phases(void)
{
	pthread_t threads[2];

	for (unsigned i = 0; i < 40; i++) {
		start_all(threads, 2, simulate_part);
		join_all(threads, 2);
		merge_parts();
	}
}

/* ---- client and server ---- */

KEEP static void render_reply(void)
{
	COMPUTE(SLOW(500 * US));
}

KEEP static void *serve(void *data)
{
	int fd = (int)(intptr_t)data;
	char text[256];

	while (recv(fd, text, sizeof(text), 0) > 0) {
		render_reply();
		need(send(fd, text, sizeof(text), MSG_NOSIGNAL) == sizeof(text), "send");
	}
	close(fd);
	return NULL;
}

static void server(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	need(!bind(listener, (struct sockaddr *)&at, sizeof(at)) && !listen(listener, 8) && !getsockname(listener, (struct sockaddr *)&at, &size),
	     "listen");
	for (unsigned c = 0; c < 3; c++)
		if (!fork()) {
			int fd = socket(AF_INET, SOCK_STREAM, 0);
			char text[256] = "question";

			prctl(PR_SET_NAME, "client");
			need(!connect(fd, (struct sockaddr *)&at, sizeof(at)), "connect");
			for (unsigned i = 0; i < 400; i++) {
				COMPUTE(50 * US);
				need(send(fd, text, sizeof(text), 0) == sizeof(text) && recv(fd, text, sizeof(text), MSG_WAITALL) == sizeof(text), "ask");
			}
			_exit(0);
		}
	for (unsigned c = 0; c < 3; c++)
		start(serve, (void *)(intptr_t)accept(listener, NULL, NULL));
	while (wait(NULL) > 0)
		;
}

/* ---- a file that processes lock ---- */

KEEP static void append_entry(int fd)
{
	need(!flock(fd, LOCK_EX), "flock");
	COMPUTE(SLOW(600 * US));
	need(write(fd, "entry\n", 6) == 6, "write");
	flock(fd, LOCK_UN);
}

static void file_lock(void)
{
	char path[] = "/var/tmp/argus-slow-XXXXXX";
	int fd = mkstemp(path);

	need(fd >= 0, path);
	close(fd);
	for (unsigned c = 0; c < 3; c++)
		if (!fork()) {
			prctl(PR_SET_NAME, "logger");
			fd = open(path, O_WRONLY | O_APPEND);
			for (unsigned i = 0; i < 300; i++) {
				COMPUTE(100 * US);
				append_entry(fd);
			}
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	unlink(path);
}

/* ---- batches ---- */

static pthread_mutex_t batch_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t batch_ready = PTHREAD_COND_INITIALIZER, batch_done = PTHREAD_COND_INITIALIZER;
static unsigned batch, batch_left;

KEEP static void score_rows(void)
{
	pause_ns(SLOW(3 * MS));
	COMPUTE(SLOW(500 * US));
}

KEEP static void *scorer(void *data)
{
	(void)data;
	for (unsigned mine = 1;; mine++) {
		pthread_mutex_lock(&batch_lock);
		while (batch < mine)
			pthread_cond_wait(&batch_ready, &batch_lock);
		pthread_mutex_unlock(&batch_lock);
		score_rows();
		pthread_mutex_lock(&batch_lock);
		if (!--batch_left)
			pthread_cond_signal(&batch_done);
		pthread_mutex_unlock(&batch_lock);
	}
	return NULL;
}

KEEP static void prepare_batch(void)
{
	COMPUTE(1 * MS);
}

static void batches(void)
{
	for (uintptr_t i = 0; i < 3; i++)
		start(scorer, (void *)i);
	for (unsigned i = 0; i < 120; i++) {
		prepare_batch();
		pthread_mutex_lock(&batch_lock);
		batch++;
		batch_left = 3;
		pthread_cond_broadcast(&batch_ready);
		while (batch_left)
			pthread_cond_wait(&batch_done, &batch_lock);
		pthread_mutex_unlock(&batch_lock);
	}
}

/* ---- commands one after the other ---- */

KEEP static void compile_file(void)
{
	COMPUTE(SLOW(5 * MS));
}

/* As make does it: two at a time, each a process of its own. */
static void commands(void)
{
	unsigned alive = 0;

	for (unsigned i = 0; i < 80; i++) {
		if (alive == 2 && wait(NULL) > 0)
			alive--;
		if (!fork()) {
			prctl(PR_SET_NAME, "compiler");
			compile_file();
			_exit(0);
		}
		alive++;
	}
	while (wait(NULL) > 0)
		;
}

MAIN(,
	PROGRAM(nested_locks), PROGRAM(semaphore), PROGRAM(process_pool), PROGRAM(pipeline), PROGRAM(events),
	PROGRAM(phases), PROGRAM(server), PROGRAM(file_lock), PROGRAM(batches), PROGRAM(commands))
