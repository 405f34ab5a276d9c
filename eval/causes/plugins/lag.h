/* The delay that is injected: $LAG_MS milliseconds, 0 when it is not set. */
#ifndef LAG_H
#define LAG_H

#include <stdlib.h>
#include <time.h>

static inline long lag_ms(void)
{
	const char *text = getenv("LAG_MS");

	return text ? atol(text) : 0;
}

/* Inlined into the function that is to be found. */
#define LAG_SPIN() \
	do { \
		struct timespec lag_from, lag_now; \
		clock_gettime(CLOCK_MONOTONIC, &lag_from); \
		do { \
			for (volatile int lag_i = 0; lag_i < 2000; lag_i++) \
				; \
			clock_gettime(CLOCK_MONOTONIC, &lag_now); \
		} while ((lag_now.tv_sec - lag_from.tv_sec) * 1000 + (lag_now.tv_nsec - lag_from.tv_nsec) / 1000000 < lag_ms()); \
	} while (0)

#define LAG_SLEEP() \
	do { \
		struct timespec lag_time = { lag_ms() / 1000, lag_ms() % 1000 * 1000000 }; \
		if (lag_ms()) \
			nanosleep(&lag_time, NULL); \
	} while (0)

#endif
