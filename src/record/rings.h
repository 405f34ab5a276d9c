/* The agent's side of the rings: mapped memory that programs fill and the agent
 * empties in large stretches. Allocates nothing. */
#ifndef RECORD_RINGS_H
#define RECORD_RINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "record/ring.h"
#include "trace/writer.h"

struct stacks;
struct watchpoints;

struct rings {
	void *base;
	uint64_t stride;      /* from one processor's ring to the next */
	uint64_t ring_bytes;
	uint32_t cpus;
	uint64_t *seen;       /* of each ring, how far it is being handed over */
	int wakes_fd;         /* readable when a ring has reached its limit while the agent slept long */
	uint64_t *wakes;      /* pages of that map: how far it was read, how far it was written; NULL none */
	struct stacks *stacks; /* replaces stacks' numbers on the way; NULL none */
	struct watchpoints *watchpoints; /* tells reads from writes on the way; NULL none */
};

/* `fd`: the map of the rings. */
int rings_map(int fd, uint64_t ring_bytes, uint32_t cpus, struct rings *ret_rings, struct err *err);
void rings_unmap(struct rings *rings);

static inline struct ring *rings_of(const struct rings *rings, uint32_t cpu)
{
	return (struct ring *)((char *)rings->base + cpu * rings->stride);
}

/* Maps the map by which programs wake the agent. */
int rings_map_wakes(struct rings *rings, int fd, struct err *err);
/* Before a sleep: what ends it early from now on. A long one ends when a ring is an eighth full. */
void rings_sleep(struct rings *rings, bool is_long);
/* Programs write from now on, or no more: what they would is not there, and not lost. */
void rings_open(struct rings *rings, bool open);

/* Sees how far each ring is to be handed over, and takes the stacks that are named
 * there. `last`: no program runs any more, so that all that was begun is whole. Adds
 * the bytes to *ret_bytes and raises *ret_fill to the fullest ring's. */
void rings_look(struct rings *rings, bool last, uint64_t *ret_bytes, uint64_t *ret_fill);
/* Hands what was seen in each `step`th ring from `first` on to the writer, losses too;
 * others may do so with other rings at the same time. */
int rings_hand_over(struct rings *rings, struct writer *writer, uint32_t first, uint32_t step, struct err *err);
/* Both, all rings. */
int rings_drain(struct rings *rings, struct writer *writer, bool last, struct err *err);
uint64_t rings_lost(const struct rings *rings);

/* True when a processor went off line or came back since `*seen` was taken,
 * which it takes anew: its perf events have ended, or can be had again. */
static inline bool rings_hotplugged(const struct rings *rings, uint32_t cpu, uint32_t *seen)
{
	uint32_t now = cpu < rings->cpus ? __atomic_load_n(&rings_of(rings, cpu)->hotplugs, __ATOMIC_ACQUIRE) : *seen;
	bool changed = now != *seen;

	*seen = now;
	return changed;
}

#endif
