/* Where the agent runs, and where those that share its rounds. A real-time thread wakes on the processor it slept on,
 * whoever is busy there, though another one may be idle. So ten times a second the agent
 * looks which processor has rested most, by what sched_switch's program adds up, and
 * moves there when that is worth it; it is bound to none. */
#ifndef RECORD_PLACE_H
#define RECORD_PLACE_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/rings.h"
#include "record/share.h"

#define PLACE_CPUS CPU_SETSIZE /* on larger machines the agent stays where it is */

struct place {
	uint64_t looked_ns;              /* 0 not yet */
	uint64_t idle_ns[PLACE_CPUS];    /* of each processor then */
	cpu_set_t allowed;               /* processors on which the agent may run */
	bool known;                      /* these are */
	bool crowded;                    /* no processor rests much */
};

/* Called by the agent's thread in each round. */
void place_step(struct place *place, const struct rings *rings, uint64_t now_ns, struct share *share);

/* How long a processor has rested between two sums; one that comes to rest meanwhile can
 * seem to have rested less. */
static inline uint64_t place_rested(uint64_t before, uint64_t after)
{
	return after > before ? after - before : 0;
}

/* The processor to go to from `current`, which may be that one: of those in `allowed` the
 * one that rested longest, if by an eighth of `elapsed_ns` longer. */
uint32_t place_choose(const uint64_t *rested, uint32_t cpus, const cpu_set_t *allowed, uint32_t current, uint64_t elapsed_ns);

#endif
