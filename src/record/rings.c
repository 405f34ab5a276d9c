/* See rings.h. */
#include "record/rings.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "record/stacks.h"
#include "record/watchpoints.h"

int rings_map(int fd, uint64_t ring_bytes, uint32_t cpus, struct rings *ret_rings, struct err *err)
{
	struct rings rings = { .ring_bytes = ring_bytes, .cpus = cpus };
	void *base;

	rings.stride = RING_DATA + ring_bytes + RING_SLACK;
	base = mmap(NULL, rings.stride * cpus, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return err_sys(err, -errno, "mapping the rings");
	rings.base = base;
	rings.seen = mem_zalloc(arena_array_bytes(sizeof(*rings.seen), cpus));
	*ret_rings = rings;
	return 0;
}

int rings_map_wakes(struct rings *rings, int fd, struct err *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *wakes;

	if (fd < 0)
		return err_sys(err, fd, "finding the map that wakes the agent");
	wakes = mmap(NULL, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (wakes == MAP_FAILED)
		return err_sys(err, -errno, "mapping what wakes the agent");
	/* the kernel lets only the first be written to */
	if (mmap(wakes, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED ||
	    mmap(wakes + page, page, PROT_READ, MAP_SHARED | MAP_FIXED, fd, (off_t)page) == MAP_FAILED) {
		int r = -errno;

		munmap(wakes, 2 * page);
		return err_sys(err, r, "mapping what wakes the agent");
	}
	rings->wakes_fd = fd;
	rings->wakes = (uint64_t *)(void *)wakes;
	return 0;
}

void rings_sleep(struct rings *rings, bool is_long)
{
	uint64_t full = rings->ring_bytes - RING_RESERVE;
	const uint64_t *written;

	if (!rings->wakes)
		return;
	written = rings->wakes + (size_t)sysconf(_SC_PAGESIZE) / sizeof(*written);
	__atomic_store_n(rings->wakes, __atomic_load_n(written, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
	for (uint32_t cpu = 0; cpu < rings->cpus; cpu++) {
		struct ring *ring = rings_of(rings, cpu);

		__atomic_store_n(&ring->limit, is_long ? rings->ring_bytes >> RING_WAKE_SHIFT : full, __ATOMIC_SEQ_CST);
		/* closed, perhaps meanwhile */
		if (!__atomic_load_n(&ring->open, __ATOMIC_SEQ_CST))
			__atomic_store_n(&ring->limit, 0, __ATOMIC_SEQ_CST);
	}
}

void rings_open(struct rings *rings, bool open)
{
	for (uint32_t cpu = 0; rings->base && cpu < rings->cpus; cpu++) {
		struct ring *ring = rings_of(rings, cpu);

		__atomic_store_n(&ring->open, open, __ATOMIC_SEQ_CST);
		if (!open)
			__atomic_store_n(&ring->limit, 0, __ATOMIC_SEQ_CST);
	}
}

void rings_unmap(struct rings *rings)
{
	if (rings->wakes)
		munmap(rings->wakes, 2 * (size_t)sysconf(_SC_PAGESIZE));
	rings->wakes = NULL;
	if (rings->base)
		munmap(rings->base, rings->stride * rings->cpus);
	rings->base = NULL;
	free(rings->seen);
	rings->seen = NULL;
}

/* Bytes from `at` up to the end of the record that reaches the ring's end; 0
 * when a record's size cannot be true. */
static uint64_t stretch_bytes(const struct ring *ring, uint64_t at, uint64_t ring_bytes)
{
	const char *data = (const char *)ring + RING_DATA;
	uint64_t from = at;

	while (at < ring_bytes) {
		const struct record *record = (const struct record *)(data + at);

		if (record->size < sizeof(*record) || record->size % 8 || record->size > RING_SLACK)
			return 0;
		at += record->size;
	}
	return at - from;
}

void rings_look(struct rings *rings, bool last, uint64_t *ret_bytes, uint64_t *ret_fill)
{
	for (uint32_t cpu = 0; cpu < rings->cpus; cpu++) {
		struct ring *ring = rings_of(rings, cpu);
		uint64_t done = __atomic_load_n(last ? &ring->head : &ring->done, __ATOMIC_ACQUIRE), bytes = done - ring->tail;

		rings->seen[cpu] = done;
		if ((int64_t)bytes <= 0)
			continue;
		*ret_bytes += bytes;
		*ret_fill = bytes > *ret_fill ? bytes : *ret_fill;
	}
	/* what published records may name is told before them */
	stacks_take(rings->stacks);
}

static int hand_over_one(struct rings *rings, uint32_t cpu, struct writer *writer, struct err *err)
{
	struct ring *ring = rings_of(rings, cpu);
	uint64_t done = rings->seen[cpu], tail = ring->tail, lost;
	int r = 0;

	while (!r && (int64_t)(done - tail) > 0) {
		uint64_t at = tail & (rings->ring_bytes - 1), bytes = done - tail;

		if (at + bytes > rings->ring_bytes)
			bytes = stretch_bytes(ring, at, rings->ring_bytes);
		if (!bytes || bytes > done - tail) {
			r = err_set(err, -EPROTO, "the ring of processor %u is damaged", cpu);
			tail = done;
			break;
		}
		stacks_replace(rings->stacks, (char *)ring + RING_DATA + at, bytes);
		watchpoints_settle(rings->watchpoints, (char *)ring + RING_DATA + at, bytes);
		r = writer_add(writer, cpu, (const char *)ring + RING_DATA + at, bytes, err);
		tail += bytes;
		__atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
	}
	lost = __atomic_load_n(&ring->lost, __ATOMIC_ACQUIRE);
	if (!r && lost != ring->lost_seen) {
		r = writer_add_gap(writer, cpu, ring->lost_from_ns, ring->lost_to_ns, lost - ring->lost_seen,
				   GAP_REASON_ring_full, err);
		__atomic_store_n(&ring->lost_seen, lost, __ATOMIC_RELEASE);
	}
	return r;
}

int rings_hand_over(struct rings *rings, struct writer *writer, uint32_t first, uint32_t step, struct err *err)
{
	int r = 0;

	for (uint32_t cpu = first; cpu < rings->cpus && !r; cpu += step)
		r = hand_over_one(rings, cpu, writer, err);
	return r;
}

int rings_drain(struct rings *rings, struct writer *writer, bool last, struct err *err)
{
	uint64_t bytes = 0, fill = 0;

	rings_look(rings, last, &bytes, &fill);
	return rings_hand_over(rings, writer, 0, 1, err);
}

uint64_t rings_lost(const struct rings *rings)
{
	uint64_t lost = 0;

	for (uint32_t cpu = 0; cpu < rings->cpus; cpu++)
		lost += __atomic_load_n(&rings_of(rings, cpu)->lost, __ATOMIC_RELAXED);
	return lost;
}
