/* Rounds of work by a thread that the main thread awaits by looking at a flag. Each round's result is
 * checked, and its number written to a file: whoever looks at the program sees that it goes on and is right.
 *
 *	flag_rounds FILE */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noinline, noclone))
#endif

#define TURNS 20000

static volatile int done;
static volatile uint64_t result;

static uint64_t __attribute__((noinline)) compute(uint64_t from)
{
	for (int i = 0; i < TURNS; i++)
		from = from % 3 ? from * 6364136223846793005u + 1442695040888963407u : from / 3 + (uint64_t)i;
	return from;
}

static void *work(void *data)
{
	usleep(2000);
	result = compute((uintptr_t)data);
	done = 1;
	return NULL;
}

static int KEPT look(volatile int *at)
{
	__asm__ volatile("");
	return *at;
}

static void KEPT await(void)
{
	while (!look(&done))
		usleep(200);
}

int main(int count, char **words)
{
	int out = count > 1 ? open(words[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	pthread_t worker;

	if (out < 0)
		return 2;
	for (uint64_t round = 1;; round++) {
		done = 0;
		if (pthread_create(&worker, NULL, work, (void *)(uintptr_t)round))
			return 2;
		await();
		pthread_join(worker, NULL);
		if (result != compute(round))
			return 3;
		if (pwrite(out, &round, sizeof(round), 0) != sizeof(round))
			return 2;
	}
}
