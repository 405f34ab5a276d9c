/* The life of tasks: fork, exec, exit, names; signals; the freezer. */
#include "record/bpf/call.bpf.h"
#include "record/bpf/ring.bpf.h"
#include "record/bpf/stack.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define COMM_BYTES 16
#define PATH_BYTES 256

struct linux_binprm {
	const char *filename;
} __attribute__((preserve_access_index));

struct kernel_siginfo {
	int si_signo, si_code;
} __attribute__((preserve_access_index));

struct sigaction {
	void *sa_handler;
} __attribute__((preserve_access_index));

struct k_sigaction {
	struct sigaction sa;
} __attribute__((preserve_access_index));

static __always_inline u32 inner_tid(struct task_struct *task)
{
	struct pid *pid = GET(task, thread_pid);
	if (!pid)
		return 0;
	u32 level = GET(pid, level);
	struct upid *number = (void *)((u64)pid + bpf_core_field_offset(struct pid, numbers) +
				       (u64)(level & 31) * bpf_core_type_size(struct upid));
	return GET(number, nr);
}

/* Clone flags come with task_newtask, which is called first, in the same thread. */
SEC("tp_btf/task_newtask")
int on_newtask(u64 *context)
{
	struct task_struct *child = (void *)context[0];
	struct task_struct *current = bpf_get_current_task_btf();
	struct ring *ring = ring_here();
	if (!ring)
		return 0;
	u64 now = bpf_ktime_get_ns();
	u32 stack = stack_user(context, STACKS_WAKES);
	struct event_fork *e = ring_begin(ring, EVENT_fork, GET(current, pid), now, sizeof(*e) + COMM_BYTES);
	if (!e)
		return 0;
	e->clone_flags = context[1];
	e->child = GET(child, pid);
	e->child_pid = GET(child, tgid);
	e->ustack = stack;
	e->ns_child = inner_tid(child);
	bpf_probe_read_kernel(e + 1, COMM_BYTES, child->comm);
	ring_end(ring);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int on_exec(u64 *context)
{
	struct task_struct *task = (void *)context[0];
	struct linux_binprm *program = (void *)context[2];
	struct ring *ring = ring_here();
	char path[PATH_BYTES];
	if (!ring)
		return 0;
	u64 now = bpf_ktime_get_ns();
	u32 tid = GET(task, pid), old = context[1];
	long bytes = bpf_probe_read_kernel_str(path, sizeof(path), GET(program, filename));
	if (bytes < 1 || bytes > PATH_BYTES) {
		path[0] = 0;
		bytes = 1;
	}
	bytes = (bytes + 7) & ~7ul;
	struct event_exec *e = ring_begin(ring, EVENT_exec, tid, now, sizeof(*e) + bytes);
	if (!e)
		return 0;
	e->old_tid = old == tid ? 0 : old;
	e->reserved = 0;
	/* the name ends with a NUL wherever it is shorter than its room */
	for (u32 i = 0; i < PATH_BYTES / 8; i++) {
		if (i * 8 >= (u64)bytes)
			break;
		((u64 *)(e + 1))[i] = ((u64 *)path)[i];
	}
	ring_end(ring);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int on_exit(u64 *context)
{
	struct task_struct *task = (void *)context[0];
	struct ring *ring = ring_here();
	if (!ring || (u32)GET(task, tgid) == config.own_pid)
		return 0;
	struct signal_struct *signal = GET(task, signal);
	u64 now = bpf_ktime_get_ns();
	struct event_exit *e = ring_begin(ring, EVENT_exit, GET(task, pid), now, sizeof(*e));
	if (!e)
		return 0;
	e->code = GET(task, exit_code);
	e->last = signal ? !GET(signal, live.counter) : 0;
	ring_end(ring);
	return 0;
}

SEC("tp_btf/task_rename")
int on_rename(u64 *context)
{
	struct task_struct *task = (void *)context[0];
	const char *name = (void *)context[1];
	struct task_struct *current = bpf_get_current_task_btf();
	struct ring *ring = ring_here();
	if (!ring || (u32)GET(current, tgid) == config.own_pid)
		return 0;
	u64 now = bpf_ktime_get_ns();
	struct event_rename *e = ring_begin(ring, EVENT_rename, GET(current, pid), now, sizeof(*e) + COMM_BYTES);
	if (!e)
		return 0;
	e->target = GET(task, pid);
	e->reserved = 0;
	__builtin_memset(e + 1, 0, COMM_BYTES);
	bpf_probe_read_kernel_str(e + 1, COMM_BYTES, name);
	ring_end(ring);
	return 0;
}

SEC("tp_btf/signal_generate")
int on_signal(u64 *context)
{
	struct kernel_siginfo *info = (void *)context[1];
	struct task_struct *task = (void *)context[2];
	struct task_struct *current = bpf_get_current_task_btf();
	struct ring *ring = ring_here();
	if (!ring)
		return 0;
	u64 now = bpf_ktime_get_ns();
	u32 stack = stack_user(context, STACKS_WAKES);
	struct event_signal *e = ring_begin(ring, EVENT_signal, GET(current, pid), now, sizeof(*e));
	if (!e)
		return 0;
	e->target = GET(task, pid);
	e->number = context[0];
	/* 0, 1 and 2 stand for the kernel's own without details */
	e->code = (u64)info > 2 ? (u32)GET(info, si_code) : (u64)info == 1 ? 0x80 : 0;
	e->result = context[4];
	e->group = context[3];
	e->ustack = stack;
	ring_end(ring);
	return 0;
}

SEC("tp_btf/signal_deliver")
int on_deliver(u64 *context)
{
	struct kernel_siginfo *info = (void *)context[1];
	struct k_sigaction *action = (void *)context[2];
	struct task_struct *current = bpf_get_current_task_btf();
	struct ring *ring = ring_here();
	if (!ring || (u32)GET(current, tgid) == config.own_pid)
		return 0;
	u64 now = bpf_ktime_get_ns();
	struct event_deliver *e = ring_begin(ring, EVENT_deliver, GET(current, pid), now, sizeof(*e));
	if (!e)
		return 0;
	e->number = context[0];
	e->code = (u64)info > 2 ? (u32)GET(info, si_code) : 0;
	e->handler = kernel_word(&action->sa.sa_handler);
	ring_end(ring);
	return 0;
}

static __always_inline int freeze(u64 *context, bool frozen)
{
	struct cgroup *group = (void *)context[0];
	const char *name = (void *)context[1];
	struct task_struct *current = bpf_get_current_task_btf();
	struct ring *ring = ring_here();
	if (!ring)
		return 0;
	struct kernfs_node *node = GET(group, kn);
	u64 now = bpf_ktime_get_ns();
	struct event_freeze *e = ring_begin(ring, EVENT_freeze, GET(current, pid), now, sizeof(*e) + PATH_BYTES);
	if (!e)
		return 0;
	e->cgroup = node ? GET(node, id) : 0;
	e->frozen = frozen;
	e->reserved = 0;
	__builtin_memset(e + 1, 0, PATH_BYTES);
	bpf_probe_read_kernel_str(e + 1, PATH_BYTES, name);
	ring_end(ring);
	return 0;
}

SEC("tp_btf/cgroup_freeze")
int on_freeze(u64 *context)
{
	return freeze(context, true);
}

SEC("tp_btf/cgroup_unfreeze")
int on_unfreeze(u64 *context)
{
	return freeze(context, false);
}
