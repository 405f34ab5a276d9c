/* How late a thread of ordinary priority is woken by a timer of 1 kHz, for bench/now.py: until its
 * standard input ends, at most so many seconds, and on one processor where that is given. Then it prints
 * each tick: when it was due, by the monotonic clock, and how late it came, in microseconds. */
#define _GNU_SOURCE
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PERIOD_NS 1000000
#define TICKS_A_LOOK 50 /* between two looks at standard input */

struct tick { double due_s; float late_us; };

int main(int count, char **words)
{
	size_t most = count > 1 ? strtoul(words[1], NULL, 10) * 1000 : 2000, n = 0;
	struct tick *ticks = malloc(most * sizeof(*ticks));
	struct pollfd end = { .fd = 0, .events = POLLIN };
	struct timespec next, now;
	cpu_set_t one;

	if (!ticks || !most)
		return 1;
	memset(ticks, 0xff, most * sizeof(*ticks)); /* no page is touched first in a tick */
	if (count > 2) {
		CPU_ZERO(&one);
		CPU_SET(strtoul(words[2], NULL, 10), &one);
		if (sched_setaffinity(0, sizeof(one), &one))
			return 1;
	}
	clock_gettime(CLOCK_MONOTONIC, &next);
	while (n < most && (n % TICKS_A_LOOK || poll(&end, 1, 0) == 0)) {
		next.tv_nsec += PERIOD_NS;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
		ticks[n].due_s = (double)next.tv_sec + (double)next.tv_nsec / 1e9;
		ticks[n++].late_us = (float)(now.tv_sec - next.tv_sec) * 1e6f + (float)(now.tv_nsec - next.tv_nsec) / 1e3f;
	}
	for (size_t i = 0; i < n; i++)
		printf("%.6f %.1f\n", ticks[i].due_s, (double)ticks[i].late_us);
	return 0;
}
