// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* The least that a recorder of these four tracepoints can do through BPF: hook,
 * clock, one 32-byte store into a mapped ring of the processor's own. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "floor.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct task_struct {
	int pid;
} __attribute__((preserve_access_index));

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, FLOOR_SLOTS); /* times the processors, set by the agent */
	__type(key, __u32);
	__type(value, struct floor_slot);
} slots SEC(".maps");

struct floor_count counts[FLOOR_CPUS];
const volatile __u32 agent_pid;

static __always_inline int store(__u64 type, __u64 a, __u64 b)
{
	__u32 cpu = bpf_get_smp_processor_id() & (FLOOR_CPUS - 1);
	struct floor_count *count = &counts[cpu];
	struct floor_slot *slot;
	__u32 index;

	if (count->written - count->taken >= FLOOR_SLOTS) {
		count->lost++;
		return 0;
	}
	index = cpu * FLOOR_SLOTS + ((__u32)count->written & (FLOOR_SLOTS - 1));
	slot = bpf_map_lookup_elem(&slots, &index);
	if (!slot)
		return 0;
	slot->time_ns = bpf_ktime_get_ns();
	slot->type = type;
	slot->a = a;
	slot->b = b;
	count->written++;
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, _Bool preempt, struct task_struct *prev, struct task_struct *next)
{
	return store(1, (__u64)prev->pid << 32 | (__u32)next->pid, preempt);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	return store(2, task->pid, bpf_get_current_pid_tgid());
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_enter, void *regs, long number)
{
	__u64 id = bpf_get_current_pid_tgid();

	return id >> 32 == agent_pid ? 0 : store(3, number, id);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit, void *regs, long result)
{
	__u64 id = bpf_get_current_pid_tgid();

	return id >> 32 == agent_pid ? 0 : store(4, result, id);
}
