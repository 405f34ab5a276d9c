/* Programs that replay was never tuned on: written, recorded and measured before it was asked
 * about them, and asked once (whatif.py). `unseen NAME` runs one; what is slow is SLOW_WORK
 * per cent of what it was; SLOW_HOLDERS=2 may have its lock; SLOW_MORE=1 more thread does it;
 * SLOW_CPUS=2 processors for those that otherwise have one. */
#define _GNU_SOURCE
#include "common.h"

#include <arpa/inet.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

/* A mutex, or a semaphore of two where two may have it at once. */
struct guard {
	pthread_mutex_t mutex;
	sem_t two;
};

static bool two_holders;

static inline __attribute__((always_inline)) void take(struct guard *guard)
{
	if (two_holders)
		while (sem_wait(&guard->two))
			;
	else
		pthread_mutex_lock(&guard->mutex);
}

static inline __attribute__((always_inline)) void give(struct guard *guard)
{
	if (two_holders)
		sem_post(&guard->two);
	else
		pthread_mutex_unlock(&guard->mutex);
}

/* ---- a lock that is often free ---- */

static struct guard index_guard = { .mutex = PTHREAD_MUTEX_INITIALIZER };

KEEP static void insert_key(void)
{
	take(&index_guard);
	COMPUTE(SLOW(250 * US));
	give(&index_guard);
}

KEEP static void parse_record(void)
{
	COMPUTE(200 * US);
}

KEEP static void *loader(void *data)
{
	for (unsigned i = 0; i < 500; i++) {
		parse_record();
		insert_key();
	}
	return data;
}

static void often_free(void)
{
	run_threads(3, loader);
}

/* ---- a lock that is spun for before it is slept for ---- */

static struct guard cache_guard = { .mutex = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP };

KEEP static void refresh_cache(void)
{
	take(&cache_guard);
	COMPUTE(SLOW(60 * US));
	give(&cache_guard);
}

KEEP static void *cache_user(void *data)
{
	for (unsigned i = 0; i < 2000; i++) {
		COMPUTE(30 * US);
		refresh_cache();
	}
	return data;
}

static void adaptive(void)
{
	run_threads(4, cache_user);
}

/* ---- a lock, and clocks outside of it ---- */

static struct guard ticket_guard = { .mutex = PTHREAD_MUTEX_INITIALIZER };

KEEP static void sell_ticket(void)
{
	take(&ticket_guard);
	pause_ns(SLOW(800 * US));
	give(&ticket_guard);
}

KEEP static void *clerk(void *data)
{
	for (unsigned i = 0; i < 80; i++) {
		pause_ns((1000 + 150 * (uintptr_t)data) * US);
		sell_ticket();
	}
	return data;
}

static void tickets(void)
{
	run_threads(8, clerk);
}

/* ---- two locks one after the other: behind the first stands the second ---- */

static struct guard stock_guard = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static pthread_mutex_t bill_lock = PTHREAD_MUTEX_INITIALIZER;

KEEP static void reserve_stock(void)
{
	take(&stock_guard);
	COMPUTE(SLOW(350 * US));
	give(&stock_guard);
}

KEEP static void write_bill(void)
{
	pthread_mutex_lock(&bill_lock);
	COMPUTE(150 * US);
	pthread_mutex_unlock(&bill_lock);
}

KEEP static void *seller(void *data)
{
	for (unsigned i = 0; i < 300; i++) {
		reserve_stock();
		write_bill();
		COMPUTE(50 * US);
	}
	return data;
}

static void two_locks(void)
{
	run_threads(4, seller);
}

/* ---- one syncs for all that came meanwhile ---- */

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t log_synced = PTHREAD_COND_INITIALIZER;
static uint64_t appended, synced;
static bool syncing;

KEEP static void sync_log(void)
{
	pause_ns(SLOW(2 * MS));
}

KEEP static void commit(void)
{
	uint64_t mine, until;

	pthread_mutex_lock(&log_lock);
	mine = ++appended;
	while (synced < mine) {
		if (syncing) {
			pthread_cond_wait(&log_synced, &log_lock);
			continue;
		}
		syncing = true;
		until = appended;
		pthread_mutex_unlock(&log_lock);
		sync_log();
		pthread_mutex_lock(&log_lock);
		syncing = false;
		synced = until;
		pthread_cond_broadcast(&log_synced);
	}
	pthread_mutex_unlock(&log_lock);
}

KEEP static void *transaction(void *data)
{
	for (unsigned i = 0; i < 120; i++) {
		COMPUTE(300 * US);
		commit();
	}
	return data;
}

static void group_commit(void)
{
	run_threads(5, transaction);
}

/* ---- queues and pools ---- */

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied;
	unsigned length, most;
};

#define QUEUE(n) { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, n }

KEEP static void queue_put(struct queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->length == queue->most)
		pthread_cond_wait(&queue->emptied, &queue->lock);
	queue->length++;
	pthread_cond_signal(&queue->filled);
	pthread_mutex_unlock(&queue->lock);
}

KEEP static void queue_take(struct queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	while (!queue->length)
		pthread_cond_wait(&queue->filled, &queue->lock);
	queue->length--;
	pthread_cond_signal(&queue->emptied);
	pthread_mutex_unlock(&queue->lock);
}

static struct queue log_lines = QUEUE(8), orders = QUEUE(32);
static unsigned taken;

KEEP static void write_line(void)
{
	pause_ns(SLOW(400 * US));
	COMPUTE(SLOW(200 * US));
}

KEEP static void *log_writer(void *data)
{
	while (__atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED) < 750) {
		queue_take(&log_lines);
		write_line();
	}
	return data;
}

KEEP static void *service(void *data)
{
	for (unsigned i = 0; i < 250; i++) {
		COMPUTE(250 * US);
		queue_put(&log_lines);
	}
	return data;
}

static void log_queue(void)
{
	pthread_t threads[5];

	start_all(threads, 3, service);
	start_all(threads + 3, 1 + more, log_writer);
	join_all(threads, 4 + more);
}

KEEP static void ship_order(void)
{
	COMPUTE(SLOW(400 * US));
	pause_ns(SLOW(3 * MS));
}

KEEP static void *shipper(void *data)
{
	while (__atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED) < 400) {
		queue_take(&orders);
		ship_order();
	}
	return data;
}

static void io_pool(void)
{
	pthread_t threads[4];

	start_all(threads, 3 + more, shipper);
	for (unsigned i = 0; i < 400; i++) {
		COMPUTE(100 * US);
		queue_put(&orders);
	}
	join_all(threads, 3 + more);
}

/* ---- work that is divided beforehand ---- */

KEEP static void solve_dense(void)
{
	COMPUTE(SLOW(2 * MS));
}

KEEP static void solve_sparse(void)
{
	COMPUTE(700 * US);
}

KEEP static void *solver(void *data)
{
	for (unsigned i = 0; i < 250; i++)
		if (data)
			solve_sparse();
		else
			solve_dense();
	return data;
}

static void divided(void)
{
	run_threads(3, solver);
}

KEEP static void decode_part(void)
{
	COMPUTE(1 * MS);
}

KEEP static void *decoder(void *data)
{
	for (unsigned i = 0; i < 6; i++)
		decode_part();
	return data;
}

KEEP static void write_output(void)
{
	COMPUTE(SLOW(4 * MS));
	pause_ns(SLOW(4 * MS));
}

static void serial_part(void)
{
	for (unsigned i = 0; i < 40; i++) {
		run_threads(4, decoder);
		write_output();
	}
}

/* ---- other processes ---- */

KEEP static void render_page(void)
{
	COMPUTE(SLOW(300 * US));
}

#define CLIENTS 4u

KEEP static void *page_server(void *data)
{
	int loop = epoll_create1(0), listener = (int)(intptr_t)data;
	unsigned left = CLIENTS;

	for (unsigned i = 0; i < CLIENTS; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data.fd = accept(listener, NULL, NULL) };

		need(!epoll_ctl(loop, EPOLL_CTL_ADD, event.data.fd, &event), "epoll");
	}
	while (left) {
		struct epoll_event event[CLIENTS];
		int count = epoll_wait(loop, event, CLIENTS, -1);
		char text[128];

		for (int i = 0; i < count; i++) {
			if (read(event[i].data.fd, text, sizeof(text)) <= 0) {
				close(event[i].data.fd);
				left--;
				continue;
			}
			render_page();
			need(write(event[i].data.fd, text, sizeof(text)) == sizeof(text), "write");
		}
	}
	return NULL;
}

static void epoll_server(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	pthread_t thread;

	need(!bind(listener, (struct sockaddr *)&at, sizeof(at)) && !listen(listener, 8) && !getsockname(listener, (struct sockaddr *)&at, &size),
	     "listen");
	for (unsigned c = 0; c < CLIENTS; c++)
		if (!fork()) {
			int fd = socket(AF_INET, SOCK_STREAM, 0);
			char text[128] = "page";

			prctl(PR_SET_NAME, "browser");
			need(!connect(fd, (struct sockaddr *)&at, sizeof(at)), "connect");
			for (unsigned i = 0; i < 400; i++) {
				COMPUTE(60 * US);
				need(write(fd, text, sizeof(text)) == sizeof(text) && read(fd, text, sizeof(text)) == sizeof(text), "ask");
			}
			_exit(0);
		}
	thread = start(page_server, (void *)(intptr_t)listener);
	pthread_join(thread, NULL);
	while (wait(NULL) > 0)
		;
}

KEEP static void look_up(void)
{
	COMPUTE(SLOW(350 * US));
}

static void answer_on(int fd, int next)
{
	char byte;

	while (read(fd, &byte, 1) == 1) {
		if (next < 0) {
			look_up();
		} else {
			COMPUTE(80 * US);
			need(write(next, &byte, 1) == 1 && read(next, &byte, 1) == 1, "relay");
		}
		need(write(fd, &byte, 1) == 1, "answer");
	}
	_exit(0);
}

/* A relay of one's own between who asks and who knows. */
static void relay(void)
{
	int front[2], back[2];
	char byte = 0;

	need(!socketpair(AF_UNIX, SOCK_STREAM, 0, front) && !socketpair(AF_UNIX, SOCK_STREAM, 0, back), "socketpair");
	if (!fork()) {
		prctl(PR_SET_NAME, "directory");
		close(front[0]);
		close(front[1]);
		close(back[0]);
		answer_on(back[1], -1);
	}
	if (!fork()) {
		prctl(PR_SET_NAME, "gateway");
		close(front[0]);
		close(back[1]);
		answer_on(front[1], back[0]);
	}
	close(back[0]);
	close(back[1]);
	close(front[1]);
	for (unsigned i = 0; i < 1000; i++) {
		COMPUTE(60 * US);
		need(write(front[0], &byte, 1) == 1 && read(front[0], &byte, 1) == 1, "ask");
	}
	close(front[0]);
	while (wait(NULL) > 0)
		;
}

/* ---- stages over pipes ---- */

static int stages[4][2];
#define BLOCKS 250u

KEEP static void encrypt_block(void)
{
	pause_ns(SLOW(1500 * US));
	COMPUTE(SLOW(300 * US));
}

KEEP static void *stage(void *data)
{
	uintptr_t at = (uintptr_t)data;
	char block[2048];

	while (read(stages[at][0], block, sizeof(block)) == sizeof(block)) {
		COMPUTE(120 * US);
		need(write(stages[at + 1][1], block, sizeof(block)) == sizeof(block), "write");
	}
	close(stages[at + 1][1]);
	return NULL;
}

KEEP static void *encrypter(void *data)
{
	char block[2048];

	while (read(stages[1][0], block, sizeof(block)) == sizeof(block)) {
		encrypt_block();
		need(write(stages[2][1], block, sizeof(block)) == sizeof(block), "write");
	}
	if (!__atomic_sub_fetch(&taken, 1, __ATOMIC_RELAXED))
		close(stages[2][1]);
	return data;
}

KEEP static void *sink_stage(void *data)
{
	char block[2048];

	while (read(stages[3][0], block, sizeof(block)) == sizeof(block))
		COMPUTE(80 * US);
	return data;
}

static void pipe_stages(void)
{
	char block[2048] = "";
	pthread_t threads[5];

	for (unsigned i = 0; i < 4; i++)
		need(!pipe(stages[i]), "pipe");
	taken = 1 + more;
	threads[0] = start(stage, (void *)0);
	threads[1] = start(stage, (void *)2);
	threads[2] = start(sink_stage, NULL);
	start_all(threads + 3, 1 + more, encrypter);
	for (unsigned i = 0; i < BLOCKS; i++)
		need(write(stages[0][1], block, sizeof(block)) == sizeof(block), "write");
	close(stages[0][1]);
	join_all(threads, 4 + more);
}

/* ---- clocks ---- */

static pthread_mutex_t slot_lock = PTHREAD_MUTEX_INITIALIZER;

KEEP static void use_slot(void)
{
	COMPUTE(SLOW(700 * US));
}

/* Tries, and sleeps, and tries again. */
KEEP static void *tenant(void *data)
{
	for (unsigned i = 0; i < 200; i++) {
		while (pthread_mutex_trylock(&slot_lock))
			pause_ns(200 * US);
		use_slot();
		pthread_mutex_unlock(&slot_lock);
		pause_ns(500 * US);
	}
	return data;
}

static void backoff(void)
{
	run_threads(3, tenant);
}

KEEP static void mix_audio(void)
{
	COMPUTE(SLOW(3 * MS));
}

/* Each turn begins with a tick of the clock, and not before. */
static void ticks(void)
{
	int timer = timerfd_create(CLOCK_MONOTONIC, 0);
	struct itimerspec each = { { 0, 5000000 }, { 0, 5000000 } };
	uint64_t count, had = 0;

	need(!timerfd_settime(timer, 0, &each, NULL), "timerfd");
	while (had < 120) {
		need(read(timer, &count, sizeof(count)) == sizeof(count), "timerfd");
		had += count;
		mix_audio();
	}
}

/* ---- one processor ---- */

static void pin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int i = 0; i < (getenv("SLOW_CPUS") ? atoi(getenv("SLOW_CPUS")) : 1); i++)
		CPU_SET(i, &set);
	need(!sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity");
}

KEEP static void trace_ray(void)
{
	COMPUTE(SLOW(2 * MS));
}

KEEP static void *tracer(void *data)
{
	for (unsigned i = 0; i < 100; i++)
		trace_ray();
	return data;
}

static void pinned_threads(void)
{
	pin();
	run_threads(3, tracer);
}

static struct queue frames = QUEUE(4);

KEEP static void encode_frame(void)
{
	COMPUTE(SLOW(1500 * US));
}

KEEP static void *encoder(void *data)
{
	for (unsigned i = 0; i < 200; i++) {
		queue_take(&frames);
		encode_frame();
	}
	return data;
}

KEEP static void grab_frame(void)
{
	COMPUTE(900 * US);
}

static void pinned_stages(void)
{
	pthread_t thread;

	pin();
	thread = start(encoder, NULL);
	for (unsigned i = 0; i < 200; i++) {
		grab_frame();
		queue_put(&frames);
	}
	pthread_join(thread, NULL);
}

static struct guard list_guard = { .mutex = PTHREAD_MUTEX_INITIALIZER };

KEEP static void sort_list(void)
{
	take(&list_guard);
	COMPUTE(SLOW(300 * US));
	pause_ns(SLOW(300 * US));
	give(&list_guard);
}

KEEP static void *lister(void *data)
{
	for (unsigned i = 0; i < 150; i++) {
		COMPUTE(500 * US);
		sort_list();
	}
	return data;
}

static void pinned_lock(void)
{
	pin();
	run_threads(4, lister);
}

static void prepare(void)
{
	struct guard *guards[] = { &index_guard, &cache_guard, &ticket_guard, &stock_guard, &list_guard };

	two_holders = getenv("SLOW_HOLDERS") != NULL;
	for (size_t i = 0; i < sizeof(guards) / sizeof(*guards); i++)
		sem_init(&guards[i]->two, 0, 2);
}

MAIN(prepare(),
	PROGRAM(often_free), PROGRAM(adaptive), PROGRAM(tickets), PROGRAM(two_locks), PROGRAM(group_commit),
	PROGRAM(log_queue), PROGRAM(io_pool), PROGRAM(divided), PROGRAM(serial_part), PROGRAM(epoll_server), PROGRAM(relay),
	PROGRAM(pipe_stages), PROGRAM(backoff), PROGRAM(ticks), PROGRAM(pinned_threads), PROGRAM(pinned_stages),
	PROGRAM(pinned_lock))
