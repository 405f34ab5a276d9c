/* Whether a thread is one that the recording is about (record/filter.h). Where
 * there is no filter, nothing of this is left in the programs: the kernel removes it, as one piece. */
#ifndef RECORD_BPF_FILTER_BPF_H
#define RECORD_BPF_FILTER_BPF_H

#include "record/bpf/config.bpf.h"
#include "record/bpf/task.bpf.h"
#include "record/filter.h"

#define FILTER_LEVELS 8

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FILTER_KEYS_MOST);
	__type(key, u64);
	__type(value, u8);
} filter_set SEC(".maps");

static __always_inline bool filter_has(u64 kind, u64 value)
{
	u64 key = FILTER_KEY(kind, value);
	return bpf_map_lookup_elem(&filter_set, &key) != NULL;
}

/* In one of the control groups or below it. */
static __always_inline bool filter_has_cgroup(struct task_struct *task)
{
	struct task_group *group = GET(task, sched_task_group);

	for (int i = 0; i < FILTER_LEVELS && group; i++) {
		struct cgroup *cgroup = GET(group, css.cgroup);
		struct kernfs_node *node = cgroup ? GET(cgroup, kn) : NULL;
		if (node && filter_has(FILTER_CGROUP, GET(node, id)))
			return true;
		group = GET(group, parent);
	}
	return false;
}

/* Kinds narrow each other; processes and threads widen each other. */
static __always_inline bool filter_passes(struct task_struct *task)
{
	if (!config.filtered)
		return true;
	if (config.filter_pids || config.filter_tids) {
		bool found = config.filter_pids && filter_has(FILTER_PID, (u32)GET(task, tgid));
		if (!found && config.filter_tids)
			found = filter_has(FILTER_TID, (u32)GET(task, pid));
		if (!found)
			return false;
	}
	if (config.filter_cpus && !filter_has(FILTER_CPU, bpf_get_smp_processor_id()))
		return false;
	if (config.filter_users && !filter_has(FILTER_USER, task_user(task)))
		return false;
	return !config.filter_cgroups || filter_has_cgroup(task);
}

/* A new process of one that passes does so too. */
static __always_inline void filter_follow(struct task_struct *parent, struct task_struct *child)
{
	if (!config.follow_forks || !config.filter_pids)
		return;
	u32 pid = GET(child, tgid);
	if (pid == (u32)GET(parent, tgid) || !filter_has(FILTER_PID, (u32)GET(parent, tgid)))
		return;
	u64 key = FILTER_KEY(FILTER_PID, pid);
	u8 one = 1;
	bpf_map_update_elem(&filter_set, &key, &one, BPF_ANY);
}

/* Makes room when a followed process ends. */
static __always_inline void filter_forget(struct task_struct *task)
{
	if (!config.follow_forks || !config.filter_pids)
		return;
	u64 key = FILTER_KEY(FILTER_PID, (u32)GET(task, tgid));
	bpf_map_delete_elem(&filter_set, &key);
}

#endif
