/* Rounds of work by a thread, for each of which the main thread waits by looking at a flag.
 * The thread reads its input from a FIFO; who feeds it decides how long a round takes.
 *
 *	poller FIFO ROUNDS OUT */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile int done;
static int input;

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static void *work(void *data)
{
	char line[256];
	ssize_t n = read(input, line, sizeof(line));

	done = n > 0;
	return data;
}

int main(int count, char **words)
{
	long long slowest = 0, start = 0, end = 0;
	pthread_t worker;
	FILE *out;

	if (count < 4)
		return 2;
	input = open(words[1], O_RDONLY);
	for (int round = atoi(words[2]); round > 0; round--) {
		long long from = now_ns(), to;

		done = 0;
		pthread_create(&worker, NULL, work, NULL);
		while (!done)
			usleep(1000);
		pthread_join(worker, NULL);
		to = now_ns();
		if (to - from > slowest) {
			slowest = to - from;
			start = from;
			end = to;
		}
	}
	out = fopen(words[3], "w");
	fprintf(out, "%d %lld %lld 0\n", (int)getpid(), start, end);
	return fclose(out);
}
