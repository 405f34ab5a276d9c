/* See place.h. */
#include "record/place.h"

#include <string.h>

#define LOOK_NS 100000000u
#define WORTH_SHIFT 3   /* an eighth of the time */
#define CROWDED_SHIFT 1 /* who rests less than half of the time */

static uint32_t most_rested(const uint64_t *rested, uint32_t cpus, const cpu_set_t *among, uint32_t otherwise)
{
	uint32_t best = otherwise;
	uint64_t most = 0;

	for (uint32_t cpu = 0; cpu < cpus; cpu++) {
		if (CPU_ISSET(cpu, among) && (rested[cpu] > most || best >= cpus)) {
			most = rested[cpu];
			best = cpu;
		}
	}
	return best;
}

uint32_t place_choose(const uint64_t *rested, uint32_t cpus, const cpu_set_t *allowed, uint32_t current, uint64_t elapsed_ns)
{
	uint32_t best;

	if (current >= cpus)
		return current;
	best = most_rested(rested, cpus, allowed, current);
	return rested[best] > rested[current] + (elapsed_ns >> WORTH_SHIFT) ? best : current;
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

/* Each of the others on another processor; where there are too few, some stay where they were. */
static void settle_others(const uint64_t *rested, uint32_t cpus, cpu_set_t *among, uint32_t own, struct share *share)
{
	CPU_CLR(own, among);
	for (uint32_t i = 1; i <= share->started; i++) {
		uint32_t cpu = most_rested(rested, cpus, among, UINT32_MAX);

		if (cpu >= cpus)
			return;
		share->sharers[i].cpu = cpu;
		CPU_CLR(cpu, among);
	}
}

void place_step(struct place *place, const struct rings *rings, uint64_t now_ns, struct share *share)
{
	uint64_t idle[PLACE_CPUS], rested[PLACE_CPUS], elapsed = now_ns - place->looked_ns;
	cpu_set_t active;
	uint32_t to;
	int current;

	if (rings->cpus < 2 || rings->cpus > PLACE_CPUS || elapsed < LOOK_NS)
		return;
	if (!place->known && sched_getaffinity(0, sizeof(place->allowed), &place->allowed))
		return;
	place->known = true;
	for (uint32_t cpu = 0; cpu < rings->cpus; cpu++) {
		idle[cpu] = idle_ns(rings_of(rings, cpu), now_ns);
		rested[cpu] = place_rested(place->idle_ns[cpu], idle[cpu]);
	}
	current = sched_getcpu();
	/* of those, the ones that are on line */
	if (place->looked_ns && current >= 0 && !sched_getaffinity(0, sizeof(active), &active)) {
		to = place_choose(rested, rings->cpus, &active, (uint32_t)current, elapsed);
		if (to != (uint32_t)current)
			go(place, to);
		place->crowded = to < rings->cpus && rested[to] < elapsed >> CROWDED_SHIFT;
		settle_others(rested, rings->cpus, &active, to, share);
	}
	place->looked_ns = now_ns;
	memcpy(place->idle_ns, idle, rings->cpus * sizeof(idle[0]));
}
