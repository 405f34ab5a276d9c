/* A queue in the heap whose consumer waits until a job is finished by looking at it: the flag
 * lies behind two pointers, and the structures are of no use to a tool, for the program is stripped.
 *
 *	queue FIFO ROUNDS OUT */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct job {
	char text[36];
	int finished;
	long number;
};

struct queue {
	long served;
	char name[48];
	struct job *current;
};

static struct queue *queue;
static int input;

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static void *serve(void *data)
{
	struct job *job = data;

	if (read(input, job->text, sizeof(job->text)) > 0)
		__atomic_store_n(&job->finished, 1, __ATOMIC_RELEASE);
	return NULL;
}

static __attribute__((noinline)) int is_finished(const struct queue *q)
{
	return __atomic_load_n(&q->current->finished, __ATOMIC_ACQUIRE);
}

static __attribute__((noinline)) void await(void)
{
	while (!is_finished(queue)) {
		sched_yield();
		usleep(500);
	}
}

int main(int count, char **words)
{
	long long slowest = 0, start = 0, end = 0;
	pthread_t worker;
	FILE *out;

	if (count < 4)
		return 2;
	input = open(words[1], O_RDONLY);
	queue = calloc(1, sizeof(*queue));
	for (int round = atoi(words[2]); round > 0; round--) {
		long long from = now_ns(), to;

		if (!queue->current)
			queue->current = calloc(1, sizeof(*queue->current));
		__atomic_store_n(&queue->current->finished, 0, __ATOMIC_RELAXED);
		pthread_create(&worker, NULL, serve, queue->current);
		await();
		pthread_join(worker, NULL);
		to = now_ns();
		if (to - from > slowest) {
			slowest = to - from;
			start = from;
			end = to;
		}
		queue->served++;
	}
	out = fopen(words[3], "w");
	fprintf(out, "%d %lld %lld 0\n", (int)getpid(), start, end);
	return fclose(out);
}
