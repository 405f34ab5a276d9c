/* Threads taken off the processor because their group's quota is used up. No
 * trace point tells: they leave as runnable, and the task (since 6.18) or its
 * queue says why. One that is off is kept in a map until it runs again. */
#ifndef RECORD_BPF_THROTTLE_BPF_H
#define RECORD_BPF_THROTTLE_BPF_H

#include "record/bpf/ring.bpf.h"

#define THROTTLE_LEVELS 8

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, u64);     /* its group's address */
} throttled SEC(".maps");

/* Threads in the map: saves the search at each switch while there are none. */
u64 throttled_count;

/* The group whose quota is used up: the thread's own or one above it. */
static __always_inline struct task_group *throttle_group(struct task_struct *task)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct task_group *group = GET(task, sched_task_group);

	for (int i = 0; i < THROTTLE_LEVELS && group; i++) {
		struct cfs_rq **queues = GET(group, cfs_rq);
		struct cfs_rq *queue = queues ? (struct cfs_rq *)kernel_word(queues + cpu) : NULL;
		if (queue && GET_BITS(queue, throttled))
			return group;
		group = GET(group, parent);
	}
	return GET(task, sched_task_group);
}

static __always_inline void throttle_event(struct ring *ring, u64 now, struct task_group *group, u32 tid, bool begins)
{
	struct cgroup *cgroup = group ? GET(group, css.cgroup) : NULL;
	struct kernfs_node *node = cgroup ? GET(cgroup, kn) : NULL;
	struct event_throttle *e = ring_begin_quiet(ring, EVENT_throttle, tid, now, sizeof(*e));

	if (!e)
		return;
	e->cgroup = node ? GET(node, id) : 0;
	e->quota_ns = group ? GET(group, cfs_bandwidth.quota) : 0;
	e->period_ns = group ? GET(group, cfs_bandwidth.period) : 0;
	e->target = tid;
	e->throttled = begins;
	ring_end_quiet(ring);
}

/* The current thread leaves. Rare, so both are not static: the verifier follows each by itself, and not what comes behind them in one more way. */
__noinline int throttle_begin(u32 tid, u64 now)
{
	struct ring *ring = ring_here();
	struct task_group *group = throttle_group(bpf_get_current_task_btf());
	u64 address = (u64)group;

	if (!ring)
		return 0;
	if (!bpf_map_update_elem(&throttled, &tid, &address, BPF_NOEXIST))
		__sync_fetch_and_add(&throttled_count, 1);
	throttle_event(ring, now, group, tid, true);
	return 0;
}

__noinline int throttle_over(u32 tid, u64 now)
{
	u64 *group = bpf_map_lookup_elem(&throttled, &tid);
	struct ring *ring = ring_here();

	if (!group || !ring)
		return 0;
	struct task_group *at = (void *)*group;
	if (bpf_map_delete_elem(&throttled, &tid))
		return 0;
	__sync_fetch_and_add(&throttled_count, -1);
	throttle_event(ring, now, at, tid, false);
	return 0;
}

/* A thread that gets the processor: was it throttled? */
static __always_inline void throttle_end(u32 tid, u64 now)
{
	if (throttled_count && tid)
		throttle_over(tid, now);
}

#endif
