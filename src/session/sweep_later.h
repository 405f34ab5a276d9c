/* When threads that wait where a part of a trace ends go on. */
#ifndef SESSION_SWEEP_LATER_H
#define SESSION_SWEEP_LATER_H

#include <stdint.h>

struct map;
struct trace;

/* `tids`: each thread's number, to UINT64_MAX; in its place comes the moment from `from_ns` on at which it is first woken or comes to a processor.
 * Reads switches and wake-ups from there up to the last of those moments. */
void sweep_go_on(const struct trace *trace, uint64_t from_ns, struct map *tids);

#endif
