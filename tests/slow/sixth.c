/* A third set of programs that replay was not made with: written, recorded and measured before
 * it was asked about them (whatif.py). `sixth NAME` runs one; what is slow is SLOW_WORK per
 * cent of what it was; SLOW_MORE=1 more worker does it, SLOW_HOLDERS=2 may have the lock. */
#define _GNU_SOURCE
#include "common.h"

#include <fcntl.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* ---- two look prices up all the time; one writes them anew from time to time ---- */

static pthread_rwlock_t prices = PTHREAD_RWLOCK_INITIALIZER;

KEEP static void write_prices(void)
{
	pthread_rwlock_wrlock(&prices);
	COMPUTE(SLOW(1800 * US));
	pthread_rwlock_unlock(&prices);
}

KEEP static void *price_writer(void *data)
{
	while (!over) {
		write_prices();
		pause_ns(MS);
	}
	return data;
}

KEEP static void *price_reader(void *data)
{
	for (unsigned i = 0; i < 150; i++) {
		pthread_rwlock_rdlock(&prices);
		COMPUTE(200 * US);
		pthread_rwlock_unlock(&prices);
		pause_ns(300 * US);
	}
	return data;
}

static void shared_read(void)
{
	start(price_writer, NULL);
	run_threads(2, price_reader);
}

/* ---- each piece is found and then read; both take a short while at a device ---- */

KEEP static void find_track(void)
{
	pause_ns(SLOW(1500 * US));
}

KEEP static void read_track(void)
{
	pause_ns(900 * US);
}

static void double_sleep(void)
{
	for (unsigned i = 0; i < 200; i++) {
		find_track();
		read_track();
		COMPUTE(150 * US);
	}
}

/* ---- who looks every half a millisecond whether what is computed is there ---- */

static _Atomic unsigned computed;

KEEP static void solve(void)
{
	COMPUTE(SLOW(4 * MS));
}

KEEP static void *solver(void *data)
{
	for (unsigned i = 0; i < 100; i++) {
		solve();
		computed++;
	}
	return data;
}

static void flag_look(void)
{
	pthread_t thread = start(solver, NULL);

	for (unsigned i = 1; i <= 100; i++) {
		while (computed < i)
			pause_ns(500 * US);
		COMPUTE(200 * US);
	}
	pthread_join(thread, NULL);
}

/* ---- lines into a pipe that another process reads and stores ---- */

KEEP static void store_line(void)
{
	COMPUTE(SLOW(600 * US));
}

static void pipe_jam(void)
{
	static char block[4096];
	int ends[2];
	pid_t pid;

	need(!pipe(ends), "pipe");
	fcntl(ends[1], F_SETPIPE_SZ, 16384);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_NAME, "storer");
		close(ends[1]);
		while (read(ends[0], block, sizeof(block)) > 0)
			store_line();
		_exit(0);
	}
	close(ends[0]);
	for (unsigned i = 0; i < 600; i++) {
		COMPUTE(250 * US);
		need(write(ends[1], block, sizeof(block)) == sizeof(block), "write");
	}
	close(ends[1]);
	waitpid(pid, NULL, 0);
}

/* ---- three take turns; what one does in its turn takes long ---- */

static pthread_mutex_t turn_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static unsigned turn;

KEEP static void long_turn(void)
{
	pause_ns(SLOW(2500 * US));
}

KEEP static void *player(void *data)
{
	for (unsigned i = 0; i < 130; i++) {
		pthread_mutex_lock(&turn_mutex);
		while (turn != (uintptr_t)data)
			pthread_cond_wait(&turn_changed, &turn_mutex);
		pthread_mutex_unlock(&turn_mutex);
		if ((uintptr_t)data == 1)
			long_turn();
		else
			COMPUTE(400 * US);
		pthread_mutex_lock(&turn_mutex);
		turn = (turn + 1) % 3;
		pthread_cond_broadcast(&turn_changed);
		pthread_mutex_unlock(&turn_mutex);
	}
	return data;
}

static void turns(void)
{
	run_threads(3, player);
}

/* ---- a lock that is had for long, and that hardly anybody wants ---- */

static pthread_mutex_t quiet_guard = PTHREAD_MUTEX_INITIALIZER;

KEEP static void update_table(void)
{
	pthread_mutex_lock(&quiet_guard);
	COMPUTE(SLOW(1200 * US));
	pthread_mutex_unlock(&quiet_guard);
}

KEEP static void *counter(void *data)
{
	while (!over) {
		pause_ns(15 * MS);
		pthread_mutex_lock(&quiet_guard);
		COMPUTE(50 * US);
		pthread_mutex_unlock(&quiet_guard);
	}
	return data;
}

static void quiet_lock(void)
{
	start(counter, NULL);
	for (unsigned i = 0; i < 300; i++) {
		update_table();
		COMPUTE(400 * US);
	}
}

/* ---- for each batch two threads are made, and one of them has more to do ---- */

KEEP static void larger_part(void)
{
	COMPUTE(SLOW(5 * MS));
}

KEEP static void *part_thread(void *data)
{
	COMPUTE(1500 * US);
	if (data)
		larger_part();
	return data;
}

static void fork_join(void)
{
	for (unsigned i = 0; i < 70; i++) {
		run_threads(2, part_thread);
		COMPUTE(500 * US);
	}
}

/* ---- a buffer of four between who makes and who sends ---- */

static pthread_mutex_t buffer_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t buffer_changed = PTHREAD_COND_INITIALIZER;
static unsigned made, sent;

KEEP static void send_item(void)
{
	pause_ns(SLOW(1400 * US));
}

KEEP static void *sender(void *data)
{
	for (;;) {
		bool any;

		pthread_mutex_lock(&buffer_mutex);
		while (made == sent && made < 300)
			pthread_cond_wait(&buffer_changed, &buffer_mutex);
		any = sent < made;
		sent += any;
		pthread_cond_broadcast(&buffer_changed);
		pthread_mutex_unlock(&buffer_mutex);
		if (!any)
			return data;
		send_item();
	}
}

KEEP static void *maker(void *data)
{
	for (unsigned i = 0; i < 300; i++) {
		COMPUTE(500 * US);
		pthread_mutex_lock(&buffer_mutex);
		while (made - sent >= 4)
			pthread_cond_wait(&buffer_changed, &buffer_mutex);
		made++;
		pthread_cond_broadcast(&buffer_changed);
		pthread_mutex_unlock(&buffer_mutex);
	}
	return data;
}

static void bounded(void)
{
	pthread_t making = start(maker, NULL);

	run_threads(1 + more, sender);
	pthread_join(making, NULL);
}

/* ---- questions to another process, which looks something up and computes ---- */

KEEP static void look_up(void)
{
	COMPUTE(SLOW(400 * US));
	pause_ns(SLOW(700 * US));
}

static void rpc(void)
{
	int ends[2];
	char word = 0;

	need(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
	if (!fork()) {
		prctl(PR_SET_NAME, "librarian");
		close(ends[0]);
		while (read(ends[1], &word, 1) == 1) {
			look_up();
			need(write(ends[1], &word, 1) == 1, "write");
		}
		_exit(0);
	}
	close(ends[1]);
	for (unsigned i = 0; i < 300; i++) {
		need(write(ends[0], &word, 1) == 1 && read(ends[0], &word, 1) == 1, "ask");
		COMPUTE(250 * US);
	}
	close(ends[0]);
	wait(NULL);
}

/* ---- the next block is loaded while the one before is worked on ---- */

static sem_t loaded, wanted;

KEEP static void load_block(void)
{
	pause_ns(SLOW(1800 * US));
}

KEEP static void *loader(void *data)
{
	for (unsigned i = 0; i < 240; i++) {
		sem_wait(&wanted);
		load_block();
		sem_post(&loaded);
	}
	return data;
}

static void prefetch(void)
{
	pthread_t thread;

	sem_init(&loaded, 0, 0);
	sem_init(&wanted, 0, 2);
	thread = start(loader, NULL);
	for (unsigned i = 0; i < 240; i++) {
		sem_wait(&loaded);
		COMPUTE(700 * US);
		sem_post(&wanted);
	}
	pthread_join(thread, NULL);
}

/* ---- who finds the lock taken does something else for a while and tries again ---- */

static pthread_mutex_t tried = PTHREAD_MUTEX_INITIALIZER;

KEEP static void with_tried(void)
{
	pause_ns(SLOW(1000 * US));
}

KEEP static void *trier(void *data)
{
	for (unsigned i = 0; i < 120; i++) {
		while (pthread_mutex_trylock(&tried))
			pause_ns(300 * US);
		with_tried();
		pthread_mutex_unlock(&tried);
		COMPUTE(300 * US);
	}
	return data;
}

static void retries(void)
{
	run_threads(3, trier);
}

/* ---- three answers, each awaited in turn; the second comes late ---- */

static sem_t asked[3], answered[3];

KEEP static void late_answer(void)
{
	pause_ns(SLOW(4 * MS));
}

KEEP static void *answering(void *data)
{
	for (unsigned i = 0; i < 90; i++) {
		sem_wait(&asked[(uintptr_t)data]);
		COMPUTE(300 * US);
		if ((uintptr_t)data == 1)
			late_answer();
		else
			pause_ns(MS);
		sem_post(&answered[(uintptr_t)data]);
	}
	return data;
}

static void futures(void)
{
	pthread_t threads[3];

	for (unsigned i = 0; i < 3; i++) {
		sem_init(&asked[i], 0, 0);
		sem_init(&answered[i], 0, 0);
	}
	start_all(threads, 3, answering);
	for (unsigned i = 0; i < 90; i++) {
		for (unsigned k = 0; k < 3; k++)
			sem_post(&asked[k]);
		for (unsigned k = 0; k < 3; k++)
			sem_wait(&answered[k]);
		COMPUTE(400 * US);
	}
	join_all(threads, 3);
}

/* ---- four write entries, one after the other; each entry is computed before ---- */

static pthread_mutex_t ledgers[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
static sem_t ledger_places;
static bool two_places;

KEEP static void post_entry(void)
{
	if (two_places)
		sem_wait(&ledger_places);
	else
		pthread_mutex_lock(&ledgers[0]);
	COMPUTE(SLOW(150 * US));
	pause_ns(SLOW(1000 * US));
	if (two_places)
		sem_post(&ledger_places);
	else
		pthread_mutex_unlock(&ledgers[0]);
}

KEEP static void *bookkeeper(void *data)
{
	for (unsigned i = 0; i < 110; i++) {
		COMPUTE(400 * US);
		post_entry();
	}
	return data;
}

static void ledger(void)
{
	two_places = getenv("SLOW_HOLDERS") != NULL;
	sem_init(&ledger_places, 0, 2);
	run_threads(4, bookkeeper);
}

MAIN(,
	PROGRAM(shared_read), PROGRAM(double_sleep), PROGRAM(flag_look), PROGRAM(pipe_jam), PROGRAM(turns),
	PROGRAM(quiet_lock), PROGRAM(fork_join), PROGRAM(bounded), PROGRAM(rpc), PROGRAM(prefetch), PROGRAM(retries),
	PROGRAM(futures), PROGRAM(ledger))
