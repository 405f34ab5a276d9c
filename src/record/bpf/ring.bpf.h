/* Writing records into this processor's ring; record/ring.h says how it works.
 *
 *	struct ring *ring = ring_here();
 *	struct event_exit *e = ring_begin(ring, EVENT_exit, tid, now, sizeof(*e));
 *	if (!e)
 *		return 0;       (dropped and counted)
 *	e->... = ...            (every field: what was there before is still there)
 *	ring_end(ring);
 *
 * A program never returns between the two, and calls nothing that can. */
#ifndef RECORD_BPF_RING_BPF_H
#define RECORD_BPF_RING_BPF_H

#include "record/bpf/config.bpf.h"
#include "record/ring.h"

struct record {
	u64 time_ns;
	u32 tid;
	u16 type;
	u16 size;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);         /* the loader sets both for the machine */
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(u32));
	__uint(value_size, RING_DATA + RING_SLACK + 4096);
} rings SEC(".maps");

/* Wakes the agent; what is in it means nothing. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring_wakes SEC(".maps");

#define ring_barrier() __asm__ volatile("" ::: "memory")

static __always_inline struct ring *ring_here(void)
{
	u32 cpu = bpf_get_smp_processor_id();
	return bpf_map_lookup_elem(&rings, &cpu);
}

static __always_inline void *ring_drop(struct ring *ring, u64 now)
{
	if (!ring->open)
		return NULL;
	if (ring->lost == ring->lost_seen)
		ring->lost_from_ns = now;
	ring->lost_to_ns = now;
	ring->lost++;
	return NULL;
}

/* The fill is beyond the limit: wakes the agent if that was its meaning. Whether
 * the ring is full, or closed. */
static __noinline int ring_crowded(struct ring *ring, u64 fill)
{
	u64 full = config.ring_bytes - RING_RESERVE, word = 0;

	if (!ring->open)
		return 1;
	if (ring->limit != full) {
		ring->limit = full;
		bpf_ringbuf_output(&ring_wakes, &word, sizeof(word), BPF_RB_FORCE_WAKEUP);
	}
	return fill > full;
}

/* With so many bytes more. The agent's place is read first: an interrupt between the two
 * may write, and the agent read that, so that it would have gone past an older head. */
static __always_inline u64 ring_fill(struct ring *ring, u64 size)
{
	u64 tail = ring->tail;

	ring_barrier();
	return ring->head + size - tail;
}

/* Takes room for a payload of so many bytes (a multiple of 8 with the tail);
 * the payload's address, NULL when the ring is full. `bytes` need not be a
 * constant, but at most RING_SLACK less a record's head. */
static __always_inline void *ring_begin(struct ring *ring, u16 type, u32 tid, u64 now, u64 bytes)
{
	u64 size = sizeof(struct record) + bytes, fill = ring_fill(ring, size);

	if (fill > ring->limit && ring_crowded(ring, fill))
		return ring_drop(ring, now);
	ring->depth++;
	ring_barrier();
	u64 at = __sync_fetch_and_add(&ring->head, size) & (config.ring_bytes - 1);
	struct record *record = (void *)ring + RING_DATA + at;
	record->time_ns = now;
	record->tid = tid;
	record->type = type;
	record->size = size;
	return record + 1;
}

/* The same for programs that another thread's may interrupt without ending before
 * they go on: `depth` is changed by one operation. */
static __always_inline void *ring_begin_shared(struct ring *ring, u16 type, u32 tid, u64 now, u64 bytes)
{
	u64 size = sizeof(struct record) + bytes, fill = ring_fill(ring, size);

	if (fill > ring->limit && ring_crowded(ring, fill))
		return ring_drop(ring, now);
	__sync_fetch_and_add(&ring->depth, 1);
	u64 at = __sync_fetch_and_add(&ring->head, size) & (config.ring_bytes - 1);
	struct record *record = (void *)ring + RING_DATA + at;
	record->time_ns = now;
	record->tid = tid;
	record->type = type;
	record->size = size;
	return record + 1;
}

static __always_inline void ring_end_shared(struct ring *ring)
{
	u64 done = ring->done, head = ring->head;

	ring_barrier();
	/* all that began before `head` was read is whole when nobody else is between */
	if (__sync_fetch_and_add(&ring->depth, (u32)-1) == 1 && done < head)
		__sync_val_compare_and_swap(&ring->done, done, head);
}

static __always_inline void ring_end(struct ring *ring)
{
	ring_barrier();
	u32 depth = ring->depth - 1;
	ring->depth = depth;
	ring_barrier();
	if (!depth)
		ring->done = ring->head;
}

/* The same for programs that run with interrupts off, where nothing can come
 * between: no atomic addition. */
static __always_inline void *ring_begin_quiet(struct ring *ring, u16 type, u32 tid, u64 now, u64 bytes)
{
	u64 size = sizeof(struct record) + bytes, head = ring->head, fill = head + size - ring->tail;

	if (fill > ring->limit && ring_crowded(ring, fill))
		return ring_drop(ring, now);
	ring->head = head + size;
	struct record *record = (void *)ring + RING_DATA + (head & (config.ring_bytes - 1));
	record->time_ns = now;
	record->tid = tid;
	record->type = type;
	record->size = size;
	return record + 1;
}

static __always_inline void ring_end_quiet(struct ring *ring)
{
	ring_barrier();
	if (!ring->depth)
		ring->done = ring->head;
}

#endif
