/* Who had a processor when. */
#ifndef PATH_CPU_RUNS_H
#define PATH_CPU_RUNS_H

#include "path/naming.h"

/* The run of a processor that has the moment, or is the next one; its row's count when there is none. */
uint32_t cpu_runs_at(const struct cpu_row *row, uint64_t time);
/* Who has the processor at the moment, 0 nobody or not known; *until is lowered to when that changes. */
uint32_t cpu_runs_who(const struct naming *naming, uint16_t cpu, uint64_t time, uint64_t *until);

#endif
