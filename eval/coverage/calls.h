/* The full record of calls and returns that a rebuilt program writes: one file a
 * thread, $ARGUS_CALLS/TID.calls. First a head, then a record for each call and
 * return; the file's end is zeros. */
#ifndef EVAL_CALLS_H
#define EVAL_CALLS_H

#include <stdint.h>

#define CALLS_MAGIC 0x31736c6c61636772ull

struct calls_head {
	uint64_t magic;
	uint64_t base;        /* where the program's first byte lies in memory */
	uint32_t pid, tid;
	uint64_t start_ns;    /* CLOCK_MONOTONIC; calls that were open at a fork begin here */
};

struct calls_record {
	uint64_t time_ns;     /* CLOCK_MONOTONIC; 0: the end */
	uint64_t place;       /* function's first byte * 2, + 1 for a return */
};

#endif
