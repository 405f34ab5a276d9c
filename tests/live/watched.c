/* Writes and reads its variables in ways that the live tests of watchpoints know.
 *
 *	watched writes COUNT     once a line comes in: COUNT writes of `counter` by one
 *	                         thread, as many of `twin` by a thread made then
 *	watched each             looks at six flags, one after the other, each for a while before it is set
 *	watched kinds            reads, writes, writes of the same value, exchanges */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct job {
	int id, done;
};

struct queue {
	char name[16];
	struct job *first;
};

volatile unsigned long counter;
volatile int flag;
static volatile int twin;
struct queue *queue;
_Thread_local volatile int own;

static unsigned long wanted;

static void *write_twin(void *data)
{
	for (unsigned long i = 0; i < wanted; i++)
		twin++;
	return data;
}

static void __attribute__((noinline)) write_counter(void)
{
	for (unsigned long i = 1; i <= wanted; i++)
		counter = i;
}

static void __attribute__((noinline)) read_flag(int times)
{
	for (int i = 0; i < times; i++)
		(void)flag;
}

static void __attribute__((noinline)) write_flag(int value)
{
	flag = value;
}

static void __attribute__((noinline)) swap_flag(int value)
{
	__atomic_exchange_n(&flag, value, __ATOMIC_SEQ_CST);
}

static void *write_own(void *data)
{
	own = 7;
	return data;
}

static volatile int six[6 * 16];

#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noinline, noclone))
#endif

static int KEPT look(volatile int *at)
{
	__asm__ volatile("");
	return *at;
}

static void each(void)
{
	for (int i = 0; i < 6; i++) {
		for (int turn = 0; turn < (i == 5 ? 1500 : 300) && !look(&six[i * 16]); turn++)
			usleep(1000);
		six[i * 16] = i + 1;
	}
}

static void kinds(void)
{
	ssize_t n;
	int ends[2];

	read_flag(3);
	write_flag(5);
	write_flag(5);
	swap_flag(6);
	/* the kernel's writing, and its reading */
	if (pipe(ends) || write(ends[1], "abcd", 4) != 4)
		exit(1);
	n = read(ends[0], (void *)&flag, 4);
	if (n != 4)
		exit(1);
	queue->first->done = 1;
	own = 3;
}

int main(int count, char **words)
{
	pthread_t thread;
	char line[16];

	if (count < 2)
		return 2;
	wanted = count > 2 ? strtoul(words[2], NULL, 10) : 1;
	queue = calloc(1, sizeof(*queue));
	queue->first = calloc(1, sizeof(*queue->first));
	own = 1;
	printf("ready %p\n", (void *)&queue->first->done);
	fflush(stdout);
	if (strcmp(words[1], "at-once") && strcmp(words[1], "each") && !fgets(line, sizeof(line), stdin))
		return 1;
	if (!strcmp(words[1], "each")) {
		each();
	} else if (strcmp(words[1], "kinds")) {
		pthread_create(&thread, NULL, write_twin, NULL);
		write_counter();
		pthread_join(thread, NULL);
	} else {
		kinds();
		pthread_create(&thread, NULL, write_own, NULL);
		pthread_join(thread, NULL);
	}
	printf("%lu %d %d\n", counter, twin, flag);
	return 0;
}
