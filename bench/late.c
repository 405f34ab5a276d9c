/* How late a thread of ordinary priority is woken by a timer of 1 kHz, for bench/now.py: for
 * so many seconds; prints the 99.9th percentile and the median in microseconds. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int by_size(const void *a, const void *b)
{
	long x = *(const long *)a, y = *(const long *)b;

	return x < y ? -1 : x > y;
}

int main(int count, char **words)
{
	long wanted = count > 1 ? atol(words[1]) * 1000 : 2000, *late = calloc((size_t)wanted, sizeof(*late));
	struct timespec next, now;

	if (!late || wanted < 1)
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (long i = 0; i < wanted; i++) {
		next.tv_nsec += 1000000;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
		late[i] = (now.tv_sec - next.tv_sec) * 1000000000 + now.tv_nsec - next.tv_nsec;
	}
	qsort(late, (size_t)wanted, sizeof(*late), by_size);
	printf("%.1f %.1f\n", (double)late[wanted * 999 / 1000] / 1000, (double)late[wanted / 2] / 1000);
}
