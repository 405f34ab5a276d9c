/* What is hard to walk: tail calls, alloca, frames larger than a page, realigned
 * stacks, signal handlers on both stacks, deep recursion, threads. Works until
 * it is killed. */
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile uint64_t sink;
#define HARD __attribute__((noinline, noclone))

HARD static void work(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sink += i * n;
}

HARD static void pause_a_little(unsigned n)
{
	struct timeval tv = { .tv_usec = n % 50 + 1 };
	select(0, NULL, NULL, NULL, &tv);
}

HARD static void tail_callee(unsigned n)
{
	work(n);
	pause_a_little(n);
	sink++;
}

HARD static void tail_caller(unsigned n)
{
	sink += n;
	tail_callee(n * 3);
}

HARD static void with_alloca(unsigned n)
{
	char *room = alloca(n % 5000 + 16);
	memset(room, (int)n, n % 5000 + 16);
	tail_caller(n);
	sink += (unsigned char)room[n % 16];
}

HARD static void large_frame(unsigned n)
{
	volatile char room[20000];
	room[n % sizeof(room)] = (char)n;
	with_alloca(n);
	sink += (unsigned char)room[(n * 7) % sizeof(room)];
}

HARD static void realigned(unsigned n)
{
	volatile char room[64] __attribute__((aligned(64)));
	room[n % 64] = (char)n;
	large_frame(n);
	sink += (unsigned char)room[n % 64];
}

HARD static unsigned recurse(unsigned depth, unsigned n)
{
	if (depth == 0) {
		realigned(n);
		return n;
	}
	unsigned below = recurse(depth - 1, n + 1);
	sink += below;
	return below * 3 + depth;
}

HARD static void on_signal(int number)
{
	work((unsigned)number * 1000);
	recurse(3, 5);
}

HARD static int compare(const void *a, const void *b)
{
	work(20);
	return *(const int *)a - *(const int *)b;
}

static void *thread(void *data)
{
	unsigned n = (unsigned)(uintptr_t)data;
	int numbers[64];
	if (n % 2) {
		stack_t own = { .ss_size = 256 << 10 };
		own.ss_sp = malloc(own.ss_size);
		sigaltstack(&own, NULL);
	}
	for (;;) {
		recurse(n % 130, n);
		for (int i = 0; i < 64; i++)
			numbers[i] = (int)((n * 31 + (unsigned)i * 17) % 101);
		qsort(numbers, 64, sizeof(numbers[0]), compare);
		pthread_kill(pthread_self(), SIGUSR1);
		n = n * 5 + 1;
	}
	return NULL;
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART };
	pthread_t t;
	sigaction(SIGUSR1, &action, NULL);
	for (uintptr_t i = 1; i < 5; i++)
		pthread_create(&t, NULL, thread, (void *)i);
	thread((void *)0);
}
