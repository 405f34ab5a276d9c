/* When a thread began and last ran, of what /proc tells by clocks other than CLOCK_MONOTONIC. */
#ifndef RECORD_PROC_CLOCKS_H
#define RECORD_PROC_CLOCKS_H

#include <stdint.h>

#include "base/vec.h"

struct task_found;

struct proc_clocks {
	int64_t boot_ahead_ns;    /* the clock that runs on while the machine sleeps */
	struct vec(int64_t) late; /* each processor's queue; INT64_MIN: not yet asked */
};

void proc_clocks_open(struct proc_clocks *clocks);
void proc_clocks_close(struct proc_clocks *clocks);
uint64_t proc_clocks_monotonic(const struct proc_clocks *clocks, uint64_t boottime_ns);

/* Of a thread that does not run, when it last did; where the kernel does not tell, from now on. */
uint64_t proc_clocks_ran(struct proc_clocks *clocks, const struct task_found *t, uint32_t processor);

#endif
