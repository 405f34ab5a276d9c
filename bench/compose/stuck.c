/* Programs that hang at a known moment, for traces whose truth is known:
 * stuck KIND SECONDS. Each works for a second, is stuck for so long, works on and
 * ends; then it prints "hang KIND FROM_NS TO_NS VICTIM CULPRIT" (threads; times of
 * CLOCK_MONOTONIC).
 *
 * mutex: another thread sleeps while it holds the mutex. pipe: the process that is
 * asked over a pipe sleeps before it answers. socket: it computes. lock: another
 * process holds the file lock. child: the child that is waited for reads what nobody
 * writes. chain: the process that is asked waits for the file lock of a third. */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 50        /* of good work before and after */
#define ROUND_US 20000
#define HEAD_START_US 100000

struct hang {
	uint64_t from_ns, to_ns;
	int victim, culprit;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void nap(uint64_t us)
{
	struct timespec left = { (time_t)(us / 1000000), (long)(us % 1000000 * 1000) };

	nanosleep(&left, NULL);
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void move(bool out, int fd, char *byte)
{
	if ((out ? write(fd, byte, 1) : read(fd, byte, 1)) != 1)
		fail("a peer ended");
}

/* ---- a mutex ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int holder;
static unsigned hold_us;

static void *hold(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		nap(ROUND_US / 10);
		pthread_mutex_unlock(&mutex);
		nap(ROUND_US);
	}
	pthread_mutex_lock(&mutex);
	holder = gettid();
	nap(hold_us);
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void take_mutex(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	nap(ROUND_US);
}

static struct hang stuck_mutex(void)
{
	struct hang hang = { .victim = gettid() };
	pthread_t thread;

	if (pthread_create(&thread, NULL, hold, NULL))
		fail("a thread");
	while (!holder)
		take_mutex();
	hang.culprit = holder;
	hang.from_ns = now_ns();
	take_mutex();
	hang.to_ns = now_ns();
	for (int i = 0; i < ROUNDS; i++)
		take_mutex();
	pthread_join(thread, NULL);
	return hang;
}

/* ---- one that is asked ---- */

static void compute(uint64_t us)
{
	uint64_t end = now_ns() + us * 1000;

	while (now_ns() < end)
		;
}

static void wait_for_lock(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_EX))
		fail(path);
	close(fd);
}

/* Answers byte for byte; '!' in the way that is wanted. */
static void serve(int in, int out, const char *kind, const char *path)
{
	char byte;

	while (read(in, &byte, 1) == 1) {
		if (byte == '!' && !strcmp(kind, "chain"))
			wait_for_lock(path);
		else if (byte == '!' && !strcmp(kind, "socket"))
			compute(hold_us);
		else if (byte == '!')
			nap(hold_us);
		move(true, out, &byte);
	}
	_exit(0);
}

static void ask(int out, int in, char byte)
{
	move(true, out, &byte);
	move(false, in, &byte);
	if (byte != '!')
		nap(ROUND_US);
}

/* A process that takes the lock, tells so and keeps it. */
static int lock_elsewhere(const char *path)
{
	int ends[2], pid = 0;
	char byte = 0;

	if (pipe(ends) || (pid = fork()) < 0)
		fail("a process");
	if (!pid) {
		int fd = open(path, O_RDWR | O_CLOEXEC);

		if (fd < 0 || flock(fd, LOCK_EX))
			fail(path);
		move(true, ends[1], &byte);
		nap(hold_us);
		_exit(0);
	}
	move(false, ends[0], &byte);
	close(ends[0]);
	close(ends[1]);
	return pid;
}

static struct hang stuck_request(const char *kind, const char *path)
{
	struct hang hang = { .victim = gettid() };
	int there[2], back[2], pid;

	if (!strcmp(kind, "socket") ? socketpair(AF_UNIX, SOCK_STREAM, 0, there) : pipe(there) || pipe(back))
		fail("a channel");
	if (!strcmp(kind, "socket")) {
		back[0] = there[1];
		back[1] = there[0];
	}
	pid = fork();
	if (pid < 0)
		fail("a process");
	if (!pid) {
		close(there[1]);
		close(back[0] == there[1] ? -1 : back[0]);
		serve(there[0], back[1], kind, path);
	}
	close(there[0]);
	close(back[1] == there[0] ? -1 : back[1]);
	for (int i = 0; i < ROUNDS; i++)
		ask(there[1], back[0], 'x');
	hang.culprit = strcmp(kind, "chain") ? pid : lock_elsewhere(path);
	hang.from_ns = now_ns();
	ask(there[1], back[0], '!');
	hang.to_ns = now_ns();
	for (int i = 0; i < ROUNDS; i++)
		ask(there[1], back[0], 'x');
	close(there[1]);
	while (wait(NULL) > 0)
		;
	return hang;
}

/* ---- a file lock, a child ---- */

static struct hang stuck_lock(const char *path)
{
	struct hang hang = { .victim = gettid() };

	for (int i = 0; i < ROUNDS; i++) {
		wait_for_lock(path);
		nap(ROUND_US);
	}
	hang.culprit = lock_elsewhere(path);
	hang.from_ns = now_ns();
	wait_for_lock(path);
	hang.to_ns = now_ns();
	wait(NULL);
	for (int i = 0; i < ROUNDS; i++)
		nap(ROUND_US);
	return hang;
}

static void read_in_vain(int fd)
{
	char byte;

	alarm(hold_us / 1000000);
	move(false, fd, &byte);
	_exit(0);
}

static struct hang stuck_child(void)
{
	struct hang hang = { .victim = gettid() };
	int ends[2];

	if (pipe(ends))
		fail("a pipe");
	for (int i = 0; i < ROUNDS / 5; i++) {
		if (!fork())
			_exit(0);
		wait(NULL);
		nap(ROUND_US * 5);
	}
	hang.from_ns = now_ns();
	hang.culprit = fork();
	if (!hang.culprit)
		read_in_vain(ends[0]);
	wait(NULL);
	hang.to_ns = now_ns();
	return hang;
}

int main(int count, char **words)
{
	char path[] = "/tmp/stuck-XXXXXX";
	const char *kind = count > 1 ? words[1] : "";
	struct hang hang = { 0 };

	hold_us = (unsigned)(count > 2 ? strtod(words[2], NULL) * 1e6 : 0);
	if (!hold_us || close(mkstemp(path))) {
		fprintf(stderr, "usage: stuck mutex|pipe|socket|lock|child|chain SECONDS\n");
		return 2;
	}
	if (!strcmp(kind, "mutex"))
		hang = stuck_mutex();
	else if (!strcmp(kind, "lock"))
		hang = stuck_lock(path);
	else if (!strcmp(kind, "child"))
		hang = stuck_child();
	else
		hang = stuck_request(kind, path);
	unlink(path);
	printf("hang %s %" PRIu64 " %" PRIu64 " %d %d\n", kind, hang.from_ns, hang.to_ns, hang.victim, hang.culprit);
	return 0;
}
