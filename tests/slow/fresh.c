/* Programs of other kinds than replay was made with: written, recorded and measured before it
 * was asked about them (whatif.py). `fresh NAME` runs one; what is slow is SLOW_WORK per cent
 * of what it was; SLOW_MORE=1 more worker does it. */
#define _GNU_SOURCE
#include "common.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* ---- writers of a read-write lock, and readers that look in between ---- */

static pthread_rwlock_t table_guard = PTHREAD_RWLOCK_INITIALIZER;

KEEP static void rebuild_entry(void)
{
	pthread_rwlock_wrlock(&table_guard);
	COMPUTE(SLOW(400 * US));
	pthread_rwlock_unlock(&table_guard);
}

KEEP static void *rebuilder(void *data)
{
	for (unsigned i = 0; i < 300; i++) {
		rebuild_entry();
		COMPUTE(100 * US);
	}
	return data;
}

KEEP static void *looker(void *data)
{
	while (!over) {
		pthread_rwlock_rdlock(&table_guard);
		COMPUTE(20 * US);
		pthread_rwlock_unlock(&table_guard);
		pause_ns(2 * MS);
	}
	return data;
}

static void rw_writers(void)
{
	start(looker, NULL);
	run_threads(4, rebuilder);
}

/* ---- a baton that goes round: whose turn it is, by a mutex and a condition ---- */

static pthread_mutex_t turn_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static unsigned turn;

KEEP static void carry_baton(void)
{
	pause_ns(SLOW(1200 * US));
}

KEEP static void *runner(void *data)
{
	for (unsigned i = 0; i < 100; i++) {
		pthread_mutex_lock(&turn_mutex);
		while (turn != (uintptr_t)data)
			pthread_cond_wait(&turn_changed, &turn_mutex);
		pthread_mutex_unlock(&turn_mutex);
		COMPUTE(300 * US);
		carry_baton();
		pthread_mutex_lock(&turn_mutex);
		turn = (turn + 1) % 4;
		pthread_cond_broadcast(&turn_changed);
		pthread_mutex_unlock(&turn_mutex);
	}
	return data;
}

static void baton(void)
{
	run_threads(4, runner);
}

/* ---- who hands out jobs to processes, each over its own socket, to whoever is free ---- */

KEEP static void convert_file(void)
{
	pause_ns(SLOW(4 * MS));
}

static void dispatch(void)
{
	struct pollfd ends[4];
	unsigned count = 2 + more, sent = 0, done = 0;
	char job = 0;

	for (unsigned i = 0; i < count; i++) {
		int pair[2];

		need(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), "socketpair");
		if (!fork_named("converter")) {
			close(pair[0]);
			while (read(pair[1], &job, 1) == 1) {
				COMPUTE(200 * US);
				convert_file();
				need(write(pair[1], &job, 1) == 1, "write");
			}
			_exit(0);
		}
		close(pair[1]);
		ends[i] = (struct pollfd){ pair[0], POLLIN, 0 };
		sent += (unsigned)write(pair[0], &job, 1);
	}
	while (done < 250) {
		poll(ends, count, -1);
		for (unsigned i = 0; i < count; i++) {
			if (!(ends[i].revents & POLLIN) || read(ends[i].fd, &job, 1) != 1)
				continue;
			done++;
			COMPUTE(100 * US);
			if (sent < 250)
				sent += (unsigned)write(ends[i].fd, &job, 1);
		}
	}
	for (unsigned i = 0; i < count; i++)
		close(ends[i].fd);
	while (wait(NULL) > 0)
		;
}

/* ---- rounds of threads that are made and joined each time ---- */

KEEP static void solve_block(void)
{
	COMPUTE(SLOW(3 * MS));
}

KEEP static void *solver(void *data)
{
	if ((uintptr_t)data == 1)
		solve_block();
	else
		COMPUTE(MS);
	return data;
}

static void rounds(void)
{
	for (unsigned i = 0; i < 120; i++) {
		pthread_t threads[2];

		start_all(threads, 2, solver);
		join_all(threads, 2);
		COMPUTE(500 * US);
	}
}

/* ---- what is sent when ten have come or 6 ms are over ---- */

static pthread_mutex_t batch_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t batch_grew = PTHREAD_COND_INITIALIZER;
static unsigned batch, made, batches_sent;

KEEP static void measure_sensor(void)
{
	pause_ns(SLOW(900 * US));
}

KEEP static void *sensor(void *data)
{
	for (unsigned i = 0; i < 500; i++) {
		measure_sensor();
		pthread_mutex_lock(&batch_mutex);
		batch++;
		made++;
		pthread_cond_signal(&batch_grew);
		pthread_mutex_unlock(&batch_mutex);
	}
	return data;
}

static void batch_flush(void)
{
	pthread_t thread = start(sensor, NULL);
	unsigned sent = 0;

	while (sent < 500) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 6000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_mutex_lock(&batch_mutex);
		while (batch < 10 && made < 500)
			if (pthread_cond_timedwait(&batch_grew, &batch_mutex, &until))
				break;
		sent += batch;
		batch = 0;
		pthread_mutex_unlock(&batch_mutex);
		COMPUTE(300 * US);
		batches_sent++;
	}
	pthread_join(thread, NULL);
}

/* ---- so many tokens a second ---- */

static int tokens;

KEEP static void refill_bucket(void)
{
	pause_ns(SLOW(2 * MS));
}

KEEP static void *refiller(void *data)
{
	uint64_t one = 1;

	for (unsigned i = 0; i < 300; i++) {
		refill_bucket();
		need(write(tokens, &one, sizeof(one)) == sizeof(one), "write");
	}
	return data;
}

KEEP static void *sender(void *data)
{
	uint64_t one;

	for (unsigned i = 0; i < 150; i++) {
		need(read(tokens, &one, sizeof(one)) == sizeof(one), "read");
		COMPUTE(400 * US);
	}
	return data;
}

static void token_bucket(void)
{
	tokens = eventfd(0, EFD_SEMAPHORE);
	start(refiller, NULL);
	run_threads(2, sender);
}

/* ---- no more than four questions in flight, by datagrams, to a server that does one at a time ---- */

KEEP static void scan_index(void)
{
	COMPUTE(SLOW(700 * US));
	pause_ns(SLOW(700 * US));
}

static void window(void)
{
	int pair[2];
	unsigned asked = 0, answered = 0;
	char word = 0;
	pid_t server;

	need(!socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), "socketpair");
	server = fork_named("index_server");
	if (!server) {
		while (recv(pair[1], &word, 1, 0) == 1) {
			scan_index();
			send(pair[1], &word, 1, 0);
		}
		_exit(0);
	}
	while (answered < 400) {
		while (asked < 400 && asked - answered < 4) {
			COMPUTE(100 * US);
			asked++;
			send(pair[0], &word, 1, 0);
		}
		recv(pair[0], &word, 1, 0);
		COMPUTE(200 * US);
		answered++;
	}
	kill(server, SIGTERM);
	waitpid(server, NULL, 0);
}

/* ---- more threads than processors, and a part that only one may do at a time ---- */

static pthread_mutex_t merge_guard = PTHREAD_MUTEX_INITIALIZER;

KEEP static void merge_result(void)
{
	pthread_mutex_lock(&merge_guard);
	COMPUTE(SLOW(900 * US));
	pthread_mutex_unlock(&merge_guard);
}

KEEP static void map_part(void)
{
	COMPUTE(600 * US);
}

KEEP static void *mapper(void *data)
{
	for (unsigned i = 0; i < 120; i++) {
		map_part();
		merge_result();
	}
	return data;
}

static void merge(void)
{
	run_threads(6, mapper);
}

/* ---- two processes that wake each other by signals ---- */

KEEP static void check_page(void)
{
	COMPUTE(SLOW(500 * US));
	pause_ns(SLOW(500 * US));
}

static void signal_pair(void)
{
	sigset_t set;
	pid_t child, parent = getpid();
	int number;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	child = fork_named("checker");
	if (!child) {
		for (unsigned i = 0; i < 400; i++) {
			sigwait(&set, &number);
			check_page();
			kill(parent, SIGUSR1);
		}
		_exit(0);
	}
	for (unsigned i = 0; i < 400; i++) {
		COMPUTE(300 * US);
		kill(child, SIGUSR1);
		sigwait(&set, &number);
	}
	waitpid(child, NULL, 0);
}

/* ---- no more than two (three) children at once, a child a job ---- */

KEEP static void render_frame(unsigned job)
{
	pause_ns(SLOW((6 + job % 5 * 3) * MS));
}

static void children(void)
{
	unsigned running = 0;

	for (unsigned i = 0; i < 80; i++) {
		if (running == 2 + more) {
			wait(NULL);
			running--;
		}
		if (!fork_named("renderer")) {
			COMPUTE(2 * MS);
			render_frame(i);
			_exit(0);
		}
		running++;
	}
	while (wait(NULL) > 0)
		;
}

/* ---- a queue that is fair: who came first has it first, and all look when it moves ---- */

static pthread_mutex_t line_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t line_moved = PTHREAD_COND_INITIALIZER;
static unsigned next_number, now_served;

KEEP static void use_printer(void)
{
	unsigned mine;

	pthread_mutex_lock(&line_mutex);
	mine = next_number++;
	while (now_served != mine)
		pthread_cond_wait(&line_moved, &line_mutex);
	pthread_mutex_unlock(&line_mutex);
	pause_ns(SLOW(1300 * US));
	pthread_mutex_lock(&line_mutex);
	now_served++;
	pthread_cond_broadcast(&line_moved);
	pthread_mutex_unlock(&line_mutex);
}

KEEP static void *customer(void *data)
{
	for (unsigned i = 0; i < 80; i++) {
		pause_ns((2000 + 300 * (uintptr_t)data) * US);
		use_printer();
	}
	return data;
}

static void fair_line(void)
{
	run_threads(5, customer);
}

/* ---- who looks every millisecond whether it is there ---- */

static volatile unsigned ready;

KEEP static void prepare_item(void)
{
	COMPUTE(SLOW(3300 * US));
}

KEEP static void *preparer(void *data)
{
	for (unsigned i = 1; i <= 120; i++) {
		while (ready != 2 * i - 2)
			pause_ns(MS);
		prepare_item();
		ready++;
	}
	return data;
}

static void poller(void)
{
	pthread_t thread = start(preparer, NULL);

	for (unsigned i = 1; i <= 120; i++) {
		while (ready != 2 * i - 1)
			pause_ns(MS);
		COMPUTE(400 * US);
		ready++;
	}
	pthread_join(thread, NULL);
}

/* ---- a tree of tasks: two halves at a time, four deep ---- */

static unsigned leaves;

KEEP static void sort_leaf(void)
{
	pause_ns(SLOW(40 * MS));
}

KEEP static void *sorter(void *data)
{
	uintptr_t depth = (uintptr_t)data;

	if (depth) {
		pthread_t other = start(sorter, (void *)(depth - 1));

		sorter((void *)(depth - 1));
		pthread_join(other, NULL);
		COMPUTE(depth * MS);
	} else {
		sort_leaf();
		__atomic_add_fetch(&leaves, 1, __ATOMIC_RELAXED);
	}
	return data;
}

static void tree(void)
{
	for (unsigned i = 0; i < 10; i++)
		sorter((void *)3);
}

static void prepare(void)
{
	sigset_t set;

	/* in the bystander, too */
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

MAIN(prepare(),
	PROGRAM(rw_writers), PROGRAM(baton), PROGRAM(dispatch), PROGRAM(rounds), PROGRAM(batch_flush), PROGRAM(token_bucket),
	PROGRAM(window), PROGRAM(merge), PROGRAM(signal_pair), PROGRAM(children), PROGRAM(fair_line), PROGRAM(poller),
	PROGRAM(tree))
