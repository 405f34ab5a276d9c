/* Programs that are slow for a known reason: `programs NAME` runs one. What is true of each
 * stands in truth.json; score.py asks `argus path`. Each has a bystander that is busy now
 * and then and delays nobody. For whatif.py what is slow can be otherwise: SLOW_WORK per cent
 * of it, SLOW_HOLDERS=2 of the lock, SLOW_MORE=1 more thread that does it. */
#define _GNU_SOURCE
#include "common.h"

#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ---- one lock ---- */

static sem_t holders;
static bool two_holders;

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER, journal_lock = PTHREAD_MUTEX_INITIALIZER;
static int journal = -1;
static uint64_t stood_ns, queued_ns; /* how long those who use the disk waited for it, and for a processor meanwhile */

/* How long this thread has waited for processors. */
static uint64_t queued(void)
{
	unsigned long long ran, waited = 0;
	FILE *file = fopen("/proc/thread-self/schedstat", "r");

	if (!file || fscanf(file, "%llu %llu", &ran, &waited) != 2)
		waited = 0;
	if (file)
		fclose(file);
	return waited;
}

struct use_of_disk {
	uint64_t begun, computed, queued;
};

static struct use_of_disk disk_begin(void)
{
	return (struct use_of_disk){ .queued = queued(), .computed = now(CLOCK_THREAD_CPUTIME_ID), .begun = now(CLOCK_MONOTONIC) };
}

static void disk_end(const struct use_of_disk *use)
{
	uint64_t all = now(CLOCK_MONOTONIC) - use->begun, computed = now(CLOCK_THREAD_CPUTIME_ID) - use->computed;
	uint64_t waited = queued() - use->queued;

	queued_ns += waited;
	stood_ns += all > computed + waited ? all - computed - waited : 0;
}

/* A disk may be so fast that its file system's own work, and what goes on beside it, is what takes the time. */
static void tell_fast_disk(uint64_t begun)
{
	if (4 * stood_ns < 3 * (now(CLOCK_MONOTONIC) - begun - queued_ns))
		puts("doing: computing");
}

static inline __attribute__((always_inline)) void take(pthread_mutex_t *lock)
{
	if (two_holders)
		sem_wait(&holders);
	else
		pthread_mutex_lock(lock);
}

static inline __attribute__((always_inline)) void give(pthread_mutex_t *lock)
{
	if (two_holders)
		sem_post(&holders);
	else
		pthread_mutex_unlock(lock);
}

KEEP static void prepare_row(void)
{
	COMPUTE(40 * US);
}

KEEP static void update_table(void)
{
	take(&table_lock);
	COMPUTE(SLOW(400 * US));
	give(&table_lock);
}

KEEP static void commit_journal(void)
{
	static const char record[512];
	struct use_of_disk use;

	take(&journal_lock);
	use = disk_begin();
	if (work) {
		need(write(journal, record, sizeof(record)) == sizeof(record), "write");
		fsync(journal);
	}
	disk_end(&use);
	give(&journal_lock);
}

KEEP static void *worker(void *data)
{
	(void)data;
	for (unsigned i = 0; i < (journal < 0 ? 400 : 120); i++) {
		prepare_row();
		if (journal < 0)
			update_table();
		else
			commit_journal();
	}
	return NULL;
}

static void convoy(void)
{
	pthread_t threads[6];

	start_all(threads, 6, worker);
	join_all(threads, 6);
}

static void fsync_lock(void)
{
	char path[] = "/var/tmp/argus-slow-XXXXXX";
	uint64_t begun;

	journal = mkstemp(path);
	need(journal >= 0, path);
	unlink(path);
	begun = now(CLOCK_MONOTONIC);
	convoy();
	tell_fast_disk(begun);
}

/* ---- queues ---- */

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied;
	unsigned length, most;
	uintptr_t items[64];
};

#define QUEUE(n) { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, n, { 0 } }

KEEP static void queue_put(struct queue *queue, uintptr_t item)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->length == queue->most)
		pthread_cond_wait(&queue->emptied, &queue->lock);
	queue->items[queue->length++] = item;
	pthread_cond_signal(&queue->filled);
	pthread_mutex_unlock(&queue->lock);
}

KEEP static uintptr_t queue_take(struct queue *queue)
{
	uintptr_t item;

	pthread_mutex_lock(&queue->lock);
	while (!queue->length)
		pthread_cond_wait(&queue->filled, &queue->lock);
	item = queue->items[0];
	memmove(queue->items, queue->items + 1, --queue->length * sizeof(*queue->items));
	pthread_cond_signal(&queue->emptied);
	pthread_mutex_unlock(&queue->lock);
	return item;
}

static struct queue to_compress = QUEUE(4), to_write = QUEUE(4), jobs = QUEUE(64);
#define ITEMS 300u
#define NO_MORE UINTPTR_MAX

KEEP static void read_item(void)
{
	COMPUTE(300 * US);
}

KEEP static void compress_item(void)
{
	COMPUTE(SLOW(3 * MS));
}

KEEP static void write_item(void)
{
	COMPUTE(300 * US);
}

KEEP static void *read_stage(void *data)
{
	(void)data;
	for (uintptr_t i = 0; i < ITEMS; i++) {
		read_item();
		queue_put(&to_compress, i);
	}
	for (unsigned i = 0; i <= more; i++)
		queue_put(&to_compress, NO_MORE);
	return NULL;
}

KEEP static void *compress_stage(void *data)
{
	uintptr_t item;

	(void)data;
	while ((item = queue_take(&to_compress)) != NO_MORE) {
		compress_item();
		queue_put(&to_write, item);
	}
	queue_put(&to_write, NO_MORE);
	return NULL;
}

KEEP static void *write_stage(void *data)
{
	(void)data;
	for (unsigned left = 1 + more; left; )
		if (queue_take(&to_write) == NO_MORE)
			left--;
		else
			write_item();
	return NULL;
}

static void slow_stage(void)
{
	pthread_t threads[4] = { start(read_stage, NULL), start(compress_stage, NULL), start(write_stage, NULL) };

	if (more)
		threads[3] = start(compress_stage, NULL);
	join_all(threads, 3 + more);
}

KEEP static void fetch_page(void)
{
	pause_ns(SLOW(8 * MS));
}

KEEP static void render_tile(void)
{
	COMPUTE(2 * MS);
}

KEEP static void render_scene(void)
{
	COMPUTE(SLOW(700 * MS));
}

enum job { JOB_PAGE, JOB_TILE, JOB_SCENE };

KEEP static void *pool_worker(void *data)
{
	uintptr_t job;

	(void)data;
	while ((job = queue_take(&jobs)) != NO_MORE) {
		if (job == JOB_PAGE)
			fetch_page();
		else if (job == JOB_TILE)
			render_tile();
		else
			render_scene();
	}
	return NULL;
}

static void small_pool(void)
{
	pthread_t threads[3];

	start_all(threads, 2 + more, pool_worker);
	for (unsigned i = 0; i < 200; i++)
		queue_put(&jobs, JOB_PAGE);
	for (unsigned i = 0; i < 2 + more; i++)
		queue_put(&jobs, NO_MORE);
	join_all(threads, 2 + more);
}

static void long_job(void)
{
	pthread_t threads[3];

	start_all(threads, 3, pool_worker);
	for (unsigned i = 0; i < 40; i++)
		queue_put(&jobs, JOB_TILE);
	queue_put(&jobs, JOB_SCENE);
	for (unsigned i = 0; i < 3; i++)
		queue_put(&jobs, NO_MORE);
	join_all(threads, 3);
}

/* ---- meeting ---- */

static pthread_barrier_t meeting;

KEEP static void solve_inner(void)
{
	COMPUTE(500 * US);
}

KEEP static void solve_border(void)
{
	COMPUTE(SLOW(6 * MS));
}

KEEP static void *solver(void *data)
{
	for (unsigned i = 0; i < 100; i++) {
		if (data)
			solve_inner();
		else
			solve_border();
		pthread_barrier_wait(&meeting);
	}
	return NULL;
}

static void barrier(void)
{
	pthread_t threads[4];

	pthread_barrier_init(&meeting, NULL, 4);
	start_all(threads, 4, solver);
	join_all(threads, 4);
}

static pthread_rwlock_t config_lock = PTHREAD_RWLOCK_INITIALIZER;

KEEP static void read_config(void)
{
	pthread_rwlock_rdlock(&config_lock);
	pause_ns(SLOW(10 * MS));
	pthread_rwlock_unlock(&config_lock);
}

KEEP static void *reader(void *data)
{
	for (unsigned i = 0; i < 50 && !over; i++) {
		read_config();
		pause_ns((1 + (uintptr_t)data) * MS);
	}
	return NULL;
}

KEEP static void write_config(void)
{
	pthread_rwlock_wrlock(&config_lock);
	COMPUTE(100 * US);
	pthread_rwlock_unlock(&config_lock);
}

static void readers(void)
{
	pthread_t threads[3];

	start_all(threads, 3, reader);
	for (unsigned i = 0; i < 20; i++) {
		write_config();
		pause_ns(1 * MS);
	}
}

/* ---- other processes ---- */

KEEP static void answer_question(void)
{
	COMPUTE(SLOW(400 * US));
}

KEEP static void answerer(int from, int to)
{
	char byte;

	prctl(PR_SET_NAME, "answerer");
	while (read(from, &byte, 1) == 1) {
		answer_question();
		need(write(to, &byte, 1) == 1, "write");
	}
	_exit(0);
}

KEEP static void ask(int to, int from)
{
	char byte = 0;

	COMPUTE(30 * US);
	need(write(to, &byte, 1) == 1 && read(from, &byte, 1) == 1, "pipe");
}

static void ping_pong(void)
{
	int there[2], back[2];

	need(!pipe(there) && !pipe(back), "pipe");
	if (!fork()) {
		close(there[1]);
		answerer(there[0], back[1]);
	}
	for (unsigned i = 0; i < 1500; i++)
		ask(there[1], back[0]);
	close(there[1]);
	wait(NULL);
}

#define SHARDS 8u
static int shard_ends[SHARDS][2];

KEEP static void scan_warm_shard(void)
{
	pause_ns(700 * US);
}

KEEP static void scan_cold_shard(void)
{
	pause_ns(SLOW(15 * MS));
}

KEEP static void *shard(void *data)
{
	char byte;

	while (read(shard_ends[(uintptr_t)data][1], &byte, 1) == 1) {
		if ((uintptr_t)data == 3)
			scan_cold_shard();
		else
			scan_warm_shard();
		need(write(shard_ends[(uintptr_t)data][1], &byte, 1) == 1, "write");
	}
	return NULL;
}

KEEP static void gather(void)
{
	struct pollfd ends[SHARDS];
	unsigned missing = SHARDS;
	char byte = 0;

	for (unsigned i = 0; i < SHARDS; i++) {
		ends[i] = (struct pollfd){ .fd = shard_ends[i][0], .events = POLLIN };
		need(write(ends[i].fd, &byte, 1) == 1, "write");
	}
	while (missing) {
		need(poll(ends, SHARDS, -1) > 0, "poll");
		for (unsigned i = 0; i < SHARDS; i++)
			if (ends[i].revents && read(ends[i].fd, &byte, 1) == 1) {
				ends[i].fd = -1;
				missing--;
			}
	}
}

static void fan_out(void)
{
	pthread_t threads[SHARDS];

	for (unsigned i = 0; i < SHARDS; i++)
		need(!socketpair(AF_UNIX, SOCK_STREAM, 0, shard_ends[i]), "socketpair");
	start_all(threads, SHARDS, shard);
	for (unsigned i = 0; i < 40; i++)
		gather();
}

/* ---- what the machine has ---- */

#define BLOCK 65536u
#define BLOCKS 1024u

KEEP static void checksum(const char *block)
{
	for (unsigned i = 0; i < BLOCK; i += 64)
		sink += (unsigned char)block[i];
}

KEEP static void read_block(int fd, void *block, unsigned number)
{
	need(pread(fd, block, BLOCK, (off_t)number * BLOCK) == BLOCK, "pread");
}

static void disk(void)
{
	char path[] = "/var/tmp/argus-slow-XXXXXX";
	int fd = mkstemp(path);
	void *block = NULL;
	struct use_of_disk use;

	need(fd >= 0 && !posix_memalign(&block, 4096, BLOCK), path);
	memset(block, 7, BLOCK);
	for (unsigned i = 0; i < BLOCKS; i++)
		need(write(fd, block, BLOCK) == BLOCK, "write");
	fdatasync(fd);
	close(fd);
	fd = open(path, O_RDONLY | O_DIRECT);
	unlink(path);
	need(fd >= 0, "O_DIRECT");
	use = disk_begin();
	for (unsigned i = 0; i < BLOCKS * 6; i++) {
		if (i % 100 >= work) {
			checksum(block);
			continue;
		}
		read_block(fd, block, i * 37 % BLOCKS);
		checksum(block);
	}
	disk_end(&use);
	tell_fast_disk(use.begun);
}

KEEP static void crunch_numbers(void)
{
	COMPUTE(SLOW(300 * MS));
}

static void quota(void)
{
	const char *group = getenv("SLOW_GROUP"); /* file of the group's processes: score.py makes it */
	FILE *file = group ? fopen(group, "w") : NULL;

	need(file != NULL, "SLOW_GROUP");
	fprintf(file, "%d\n", getpid());
	need(!fclose(file), "SLOW_GROUP");
	crunch_numbers();
}

KEEP static void hash_blocks(void)
{
	COMPUTE(SLOW(6 * MS));
}

KEEP static void parse_lines(void)
{
	COMPUTE(2 * MS);
}

static void cpu(void)
{
	for (unsigned i = 0; i < 120; i++) {
		hash_blocks();
		parse_lines();
	}
}

static const struct program programs[] = {
	{ "convoy", convoy }, { "fsync_lock", fsync_lock }, { "slow_stage", slow_stage }, { "small_pool", small_pool },
	{ "long_job", long_job }, { "barrier", barrier }, { "readers", readers }, { "ping_pong", ping_pong },
	{ "fan_out", fan_out }, { "disk", disk }, { "quota", quota }, { "cpu", cpu },
};

int main(int count, char **words)
{
	two_holders = getenv("SLOW_HOLDERS") != NULL;
	sem_init(&holders, 0, 2);
	return run_program(programs, sizeof(programs) / sizeof(*programs), count, words);
}
