/* See clock.h. */
#include "base/clock.h"

#define READINGS_MOST 8
#define CLOSE_NS 5000u

uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t clock_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

int64_t clock_ahead_ns(clockid_t clock)
{
	uint64_t closest = UINT64_MAX;
	int64_t ahead = 0;

	for (int i = 0; i < READINGS_MOST && closest > CLOSE_NS; i++) {
		uint64_t before = clock_now_ns(), there = clock_ns(clock), took = clock_now_ns() - before;

		if (took >= closest)
			continue;
		closest = took;
		ahead = (int64_t)(there - before - took / 2);
	}
	return ahead;
}
