/* What a task record says of a thread. */
#ifndef RECORD_BPF_TASK_BPF_H
#define RECORD_BPF_TASK_BPF_H

#include "record/bpf/call.bpf.h"
#include "record/bpf/config.bpf.h"

/* The thread's number inside its own pid namespace. */
static __always_inline u32 task_inner_tid(struct task_struct *task)
{
	struct pid *pid = GET(task, thread_pid);
	if (!pid)
		return 0;
	u64 numbers = (u64)pid + bpf_core_field_offset(struct pid, numbers);
	struct upid *number = (void *)(numbers + (u64)(GET(pid, level) & 31) * bpf_core_type_size(struct upid));
	return GET(number, nr);
}

/* Control group of the processor controller, of version 2 where it has none. */
static __always_inline u64 task_cgroup(struct task_struct *task)
{
	struct task_group *group = GET(task, sched_task_group);
	struct cgroup *cgroup = group ? GET(group, css.cgroup) : NULL;

	if (!cgroup) {
		struct css_set *set = GET(task, cgroups);
		cgroup = set ? GET(set, dfl_cgrp) : NULL;
	}
	struct kernfs_node *node = cgroup ? GET(cgroup, kn) : NULL;
	return node ? GET(node, id) : 0;
}

static __always_inline u32 task_user(struct task_struct *task)
{
	struct cred *cred = GET(task, cred);
	return cred ? GET(cred, uid.val) : 0;
}

/* A set-user-ID program, say: it is not its user's to look into. */
static __always_inline bool task_has_other_rights(struct task_struct *task)
{
	struct cred *cred = GET(task, cred);
	return cred && (GET(cred, euid.val) != GET(cred, uid.val) || GET(cred, suid.val) != GET(cred, uid.val));
}

/* Of the task whose address is in `start_ns`: a pointer that the verifier knows as one cannot be
 * given. Not static, so that the verifier looks at it once, and not with all that its caller knows. */
__noinline int task_fill_here(struct event_task *out)
{
	struct task_struct *task, *parent;

	if (!out)
		return 0;
	task = (void *)out->start_ns;
	parent = GET(task, real_parent);
	out->start_ns = GET(task, start_time);
	out->cgroup = task_cgroup(task);
	out->pid = GET(task, tgid);
	out->parent = parent ? GET(parent, tgid) : 0;
	out->uid = task_user(task);
	out->ns_tid = task_inner_tid(task);
	out->flags = (GET(task, flags) & PF_KTHREAD ? TASK_FLAGS_kernel_thread : 0) |
		     ((u32)GET(task, pid) == out->pid ? TASK_FLAGS_leader : 0) |
		     (config_is_own(out->pid) ? TASK_FLAGS_argus : 0) |
		     (GET(task, exit_state) ? TASK_FLAGS_gone : 0) |
		     (task_has_other_rights(task) ? TASK_FLAGS_other_rights : 0);
	out->prio = GET(task, prio);
	return 0;
}

static __always_inline void task_fill(struct event_task *out, struct task_struct *task)
{
	out->start_ns = (u64)task;
	task_fill_here(out);
}

#endif
