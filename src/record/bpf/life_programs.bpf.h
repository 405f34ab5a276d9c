/* The life of tasks: fork, exec, exit, names; signals; the freezer. And of processors:
 * where they execute. In one object, for each is loaded against all of the kernel's type
 * information, which takes longer than most programs. */
#ifndef RECORD_BPF_LIFE_PROGRAMS_BPF_H
#define RECORD_BPF_LIFE_PROGRAMS_BPF_H

#include "record/bpf/contended.bpf.h"
#include "record/bpf/call.bpf.h"
#include "record/bpf/context.bpf.h"
#include "record/bpf/filter.bpf.h"
#include "record/bpf/ring.bpf.h"
#include "record/bpf/stack.bpf.h"
#include "record/bpf/task.bpf.h"

#define COMM_BYTES 16
#define PATH_BYTES 256
#define COMMAND_BYTES 512

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

/* Takes note of the processes that the agent starts, before they run; a number
 * that comes again is another's. */
static __always_inline bool is_own_child(struct task_struct *parent, struct task_struct *child)
{
	u32 zero = 0, pid = GET(child, tgid);
	struct record_live *now = bpf_map_lookup_elem(&live, &zero);
	u32 *slot = now ? &now->own_children[pid & (OWN_CHILDREN - 1)] : NULL;

	if (!slot || pid == config.own_pid)
		return false;
	u32 from = GET(parent, tgid);
	if (from == config.own_pid || now->own_children[from & (OWN_CHILDREN - 1)] == from)
		*slot = pid;
	else if (*slot == pid && (u32)GET(child, pid) == pid)
		*slot = 0;
	return *slot == pid;
}

/* Says that the new process is the recorder's: of its waits no causes are recorded. */
static __always_inline void own_child_task(struct ring *ring, struct task_struct *child, u64 now)
{
	if (GET(child, pid) != GET(child, tgid))
		return;
	struct event_task *e = ring_begin(ring, EVENT_task, GET(child, pid), now, sizeof(*e) + COMM_BYTES + 8);
	if (!e)
		return;
	task_fill(e, child);
	bpf_probe_read_kernel(e + 1, COMM_BYTES, child->comm);
	*(u64 *)((char *)(e + 1) + COMM_BYTES) = 0;
	ring_end(ring);
}

/* Clone flags come with task_newtask, which is called first, in the same thread. */
SEC("tp_btf/task_newtask")
int on_newtask(u64 *context)
{
	struct task_struct *child = (void *)context[0];
	struct task_struct *current = bpf_get_current_task_btf();
	struct ring *ring = ring_here();
	stack_process_fork(GET(current, tgid), GET(child, tgid));
	if (!ring)
		return 0;
	u64 now = bpf_ktime_get_ns();
	if (is_own_child(current, child)) {
		own_child_task(ring, child, now);
		return 0;
	}
	filter_follow(current, child);
	u32 stack = stack_taken(ring, GET(current, pid), STACKS_WAKES);
	struct event_fork *e = ring_begin(ring, EVENT_fork, GET(current, pid), now, sizeof(*e) + COMM_BYTES);
	if (!e)
		return 0;
	e->clone_flags = context[1];
	e->child = GET(child, pid);
	e->child_pid = GET(child, tgid);
	e->ustack = stack;
	e->ns_child = task_inner_tid(child);
	bpf_probe_read_kernel(e + 1, COMM_BYTES, child->comm);
	ring_end(ring);
	return 0;
}

/* Texts of a task record while it is put together; programs of the same
 * processor do not come in between, for exec runs in its thread alone. */
struct exec_texts {
	char path[PATH_BYTES + 8];  /* the room behind the text is for NULs */
	char texts[2 * PATH_BYTES + COMMAND_BYTES + 16];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct exec_texts);
} exec_room SEC(".maps");

#define SPACES_AT_ONCE 8u

struct exec_words {
	u64 words[SPACES_AT_ONCE];
};

/* Spaces for the zeros; which characters are zeros is found without branches, of which the verifier would follow each. */
__noinline int spaces_for_zeros(struct exec_words *some)
{
	u64 low = 0x7f7f7f7f7f7f7f7full;

	for (u32 i = 0; some && i < SPACES_AT_ONCE; i++) {
		u64 word = some->words[i], zeros = ~(((word & low) + low) | word | low);

		some->words[i] = word | zeros >> 2;
	}
	return 0;
}

/* The arguments, parted by spaces, as they lie in the new program's memory. */
static __always_inline u32 exec_command(char *to, struct task_struct *task)
{
	struct mm_struct *memory = GET(task, mm);
	u64 from = memory ? GET(memory, arg_start) : 0, end = memory ? GET(memory, arg_end) : 0;
	u64 bytes = end > from ? end - from - 1 : 0;

	if (bytes > COMMAND_BYTES)
		bytes = COMMAND_BYTES;
	KEEP_LIMITS(bytes);
	if (!from || !bytes || bpf_probe_read_user(to, bytes, (void *)from))
		return 0;
	for (u32 i = 0; i < COMMAND_BYTES; i += sizeof(struct exec_words))
		spaces_for_zeros((struct exec_words *)(to + i));
	return bytes;
}

/* What the process is now: name, file, arguments. Its control groups are those
 * it had before. */
static __always_inline void exec_task(struct ring *ring, struct exec_texts *room, struct task_struct *task, u32 tid,
				      u64 now, u32 path_bytes)
{
	u32 at = 0;
	long comm = bpf_probe_read_kernel_str(room->texts, COMM_BYTES, task->comm);

	if (comm > 0 && comm <= COMM_BYTES)
		at = comm;
	if (path_bytes > PATH_BYTES)
		return;
	bpf_probe_read_kernel(&room->texts[at & (COMM_BYTES * 2 - 1)], path_bytes, room->path);
	at += path_bytes;
	if (at > COMM_BYTES + PATH_BYTES)
		return;
	KEEP_LIMITS(at);
	at += exec_command(&room->texts[at & (2 * PATH_BYTES - 1)], task);
	if (at > COMM_BYTES + PATH_BYTES + COMMAND_BYTES)
		return;
	*(u64 *)&room->texts[at] = 0;
	at = (at + 1 + 7) & ~7u;
	if (at > sizeof(room->texts))
		return;
	struct event_task *e = ring_begin(ring, EVENT_task, tid, now, sizeof(*e) + at);
	if (!e)
		return;
	task_fill(e, task);
	bpf_probe_read_kernel(e + 1, at, room->texts);
	ring_end(ring);
}

SEC("tp_btf/sched_process_exec")
int on_exec(u64 *context)
{
	struct task_struct *task = (void *)context[0];
	struct linux_binprm *program = (void *)context[2];
	struct ring *ring = ring_here();
	u32 zero = 0;
	struct exec_texts *room = bpf_map_lookup_elem(&exec_room, &zero);
	stack_process_forget(GET(task, tgid));
	if (!ring || !room || config_is_own(GET(task, tgid)))
		return 0;
	u64 now = bpf_ktime_get_ns();
	u32 tid = GET(task, pid), old = context[1];
	long bytes = bpf_probe_read_kernel_str(room->path, PATH_BYTES, GET(program, filename));
	if (bytes < 1 || bytes > PATH_BYTES) {
		bytes = 1;
		room->path[0] = 0;
	}
	*(u64 *)&room->path[bytes] = 0;
	u32 rounded = (bytes + 7) & ~7u;
	if (rounded > PATH_BYTES)
		return 0;
	struct event_exec *e = ring_begin(ring, EVENT_exec, tid, now, sizeof(*e) + rounded);
	if (!e)
		return 0;
	e->old_tid = old == tid ? 0 : old;
	e->reserved = 0;
	bpf_probe_read_kernel(e + 1, rounded, room->path);
	ring_end(ring);
	exec_task(ring, room, task, tid, now, bytes);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int on_exit(u64 *context)
{
	struct task_struct *task = (void *)context[0];
	struct ring *ring = ring_here();
	struct signal_struct *signal = GET(task, signal);
	bool last = signal && !GET(signal, live.counter);
	u32 tid = GET(task, pid);
	if (last)
		stack_process_forget(GET(task, tgid));
	/* the end of its wait may have been missed: its number will be another's */
	bpf_map_delete_elem(&contended, &tid);
	if (!ring || config_is_own(GET(task, tgid)))
		return 0;
	if (last)
		filter_forget(task);
	u64 now = bpf_ktime_get_ns();
	struct event_exit *e = ring_begin(ring, EVENT_exit, tid, now, sizeof(*e));
	if (!e)
		return 0;
	e->code = GET(task, exit_code);
	e->last = last;
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
	if (!ring || config_is_own(GET(current, tgid)))
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
	u32 in = context_of(context_count(ring, current));
	u32 stack = in == CONTEXT_thread ? stack_taken(ring, GET(current, pid), STACKS_WAKES) : 0;
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
	e->context = in;
	e->reserved = 0;
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
	if (!ring || config_is_own(GET(current, tgid)))
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

/* A processor goes off line or comes back, which ends its perf events in silence. */
SEC("tp_btf/cpuhp_exit")
int on_hotplug(u64 *context)
{
	u32 cpu = context[0];
	struct ring *ring = bpf_map_lookup_elem(&rings, &cpu);

	if (ring)
		__sync_fetch_and_add(&ring->hotplugs, 1);
	return 0;
}

/* At each tick of a processor's sampling clock: in a hard interrupt, in a non-maskable
 * one where the hardware's clock is used. */
SEC("perf_event")
int on_sample(void *context)
{
	struct task_struct *current = bpf_get_current_task_btf();
	u32 tid = current->pid;
	struct ring *ring;

	if (!tid || config_is_own(current->tgid) || !filter_passes(current))
		return 0;
	ring = ring_here();
	if (!ring)
		return 0;
	u64 now = bpf_ktime_get_ns();
	u32 ustack = stack_user_seldom(context, STACKS_SAMPLES);
	u32 kstack = stack_kernel(context, STACKS_SAMPLES);
	struct event_sample *e = ring_begin(ring, EVENT_sample, tid, now, sizeof(*e));
	if (!e)
		return 0;
	e->ustack = ustack;
	e->kstack = kstack;
	e->period_ns = config.sample_period_ns;
	ring_end(ring);
	return 0;
}

#endif
