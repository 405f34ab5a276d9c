/* See place.h. */
#include "record/place.h"

#include <string.h>

#define LOOK_NS 100000000u
#define WORTH_SHIFT 3 /* an eighth of the time */

uint32_t place_choose(const uint64_t *before, const uint64_t *after, uint32_t cpus, const cpu_set_t *allowed, uint32_t current,
		      uint64_t elapsed_ns)
{
	uint64_t most = 0, own;
	uint32_t best = current;

	if (current >= cpus)
		return current;
	for (uint32_t cpu = 0; cpu < cpus; cpu++) {
		/* a processor that comes to rest meanwhile can seem to have rested less */
		uint64_t rested = after[cpu] > before[cpu] ? after[cpu] - before[cpu] : 0;

		if (rested > most && CPU_ISSET(cpu, allowed)) {
			most = rested;
			best = cpu;
		}
	}
	own = after[current] > before[current] ? after[current] - before[current] : 0;
	return most > own + (elapsed_ns >> WORTH_SHIFT) ? best : current;
}

static uint64_t idle_ns(const struct ring *ring, uint64_t now_ns)
{
	uint64_t from = __atomic_load_n(&ring->idle_from_ns, __ATOMIC_RELAXED), all = __atomic_load_n(&ring->idle_ns, __ATOMIC_RELAXED);

	return from && from < now_ns ? all + (now_ns - from) : all;
}

/* Goes there, and may be moved from there again. */
static void go(const struct place *place, uint32_t cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (!sched_setaffinity(0, sizeof(one), &one))
		sched_setaffinity(0, sizeof(place->allowed), &place->allowed);
}

void place_step(struct place *place, const struct rings *rings, uint64_t now_ns)
{
	uint64_t after[PLACE_CPUS];
	cpu_set_t active;
	uint32_t to;
	int current;

	if (rings->cpus < 2 || rings->cpus > PLACE_CPUS || now_ns - place->looked_ns < LOOK_NS)
		return;
	if (!place->known && sched_getaffinity(0, sizeof(place->allowed), &place->allowed))
		return;
	place->known = true;
	for (uint32_t cpu = 0; cpu < rings->cpus; cpu++)
		after[cpu] = idle_ns(rings_of(rings, cpu), now_ns);
	current = sched_getcpu();
	/* of those, the ones that are on line */
	if (place->looked_ns && current >= 0 && !sched_getaffinity(0, sizeof(active), &active)) {
		to = place_choose(place->idle_ns, after, rings->cpus, &active, (uint32_t)current, now_ns - place->looked_ns);
		if (to != (uint32_t)current)
			go(place, to);
	}
	place->looked_ns = now_ns;
	memcpy(place->idle_ns, after, rings->cpus * sizeof(after[0]));
}
