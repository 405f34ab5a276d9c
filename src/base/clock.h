/* The machine's clocks, in nanoseconds. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

uint64_t clock_ns(clockid_t clock);

/* CLOCK_MONOTONIC, by which everything is told. */
uint64_t clock_now_ns(void);

/* What that clock shows beyond CLOCK_MONOTONIC. Who reads one after the other may be put off
 * in between: of several readings the closest holds. */
int64_t clock_ahead_ns(clockid_t clock);

#endif
