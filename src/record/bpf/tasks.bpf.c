/* The threads there are and their waits, for snapshots. */
#include "record/bpf/context.bpf.h"
#include "record/bpf/found.bpf.h"
#include "record/bpf/sleeper.bpf.h"
#include "record/bpf/task.bpf.h"
#include "record/bpf/wait.bpf.h"
#include "record/tasks.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} __attribute__((preserve_access_index));

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct task_found);
} task_room SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct tasks_want);
} tasks_want SEC(".maps");

/* When the thread last ran. The scheduler keeps that by its queue's clock,
 * which leaves out time stolen by the hypervisor; the queue knows how much. */
static __always_inline u64 last_ran(struct task_struct *task, struct task_struct *current, u64 now)
{
	struct cfs_rq *queue = GET(task, se.cfs_rq), *own_queue = GET(current, se.cfs_rq);
	struct rq *rq = queue ? GET(queue, rq) : NULL, *own_rq = own_queue ? GET(own_queue, rq) : NULL;
	u64 ran = GET(task, se.exec_start);

	if (!rq || !own_rq || !ran)
		return 0;
	ran += GET(rq, clock) - GET(rq, clock_task);
	u64 at = now - (GET(own_rq, clock) - ran);
	u64 born = GET(task, start_time);
	return (long)at < (long)born ? born : at > now ? now : at;
}

/* Waits that somebody else is to end, and not the time. */
static __always_inline bool others_end(const struct event_waiting *w)
{
	switch (w->wait) {
	case WAIT_KIND_none:
	case WAIT_KIND_sleep:
	case WAIT_KIND_worker:
	case WAIT_KIND_yield:
	case WAIT_KIND_exit:
	case WAIT_KIND_signal:
	case WAIT_KIND_stop:
		return false;
	}
	return !w->timeout_ns;
}

/* What a thread waits on. Where pointers can be cast not static: so the verifier follows its many ways by themselves, and not
 * each of them to the end of what calls it; the thread is told by its walk, for a pointer to it cannot be passed. Its
 * time limits that are moments are not read, so the time is not asked for. */
#if KERNEL_CASTS
__noinline int wait_of(struct wait *w, struct walk *walk, u32 preempted)
{
	if (!w || !walk)
		return 0;
	wait_read(w, UNKEPT((struct task_struct *)walk->task), (struct pt_regs *)walk->entry, preempted, false, 0);
	return 0;
}
#else
#define wait_of(w, walk, preempted) wait_read(w, task, call_registers(task), preempted, false, 0)
#endif

SEC("iter/task")
int tasks_each(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct task_struct *current = bpf_get_current_task_btf();
	u32 zero = 0;
	struct wait w = { 0 };

	if (!task)
		return 0;
	u64 now = bpf_ktime_get_ns();
	struct task_found *out = bpf_map_lookup_elem(&task_room, &zero);
	const struct tasks_want *want = bpf_map_lookup_elem(&tasks_want, &zero);
	struct walk *walk = bpf_map_lookup_elem(&sleeper_walk, &zero);
	if (!out || !want || !walk)
		return 0;
	walk_of(walk, task, call_registers(task));
	__builtin_memset(out, 0, sizeof(*out));
	w.state = wait_state(GET(task, __state), false);
	if (GET(task, exit_state))
		w.state = TASK_STATE_dead;
	/* not the thread that has the processor, but one that waits for it */
	wait_of(&w, walk, w.state == TASK_STATE_running && !GET(task, on_cpu));
	out->waiting.since_ns = w.state == TASK_STATE_running ? now : last_ran(task, current, now);
	out->waiting.object = w.object;
	out->waiting.timeout_ns = w.timeout_ns;
	out->waiting.detail = w.detail;
	out->waiting.hint = w.hint;
	out->waiting.argument = w.argument;
	out->waiting.syscall = w.syscall;
	out->waiting.state = w.state;
	out->waiting.wait = w.wait;
	out->waiting.hint_kind = w.hint_kind;
	out->waiting.flags = w.flags;
	out->tid = GET(task, pid);
	if (want->waiting_to_ns &&
	    (!others_end(&out->waiting) || out->waiting.since_ns < want->waiting_from_ns ||
	     out->waiting.since_ns >= want->waiting_to_ns || config_is_own(GET(task, tgid))))
		return 0;
	task_fill(&out->task, task);
	bpf_probe_read_kernel(out->comm, sizeof(out->comm), task->comm);
	found_more(out, (u64)walk->task);
	if (w.syscall != SYSCALL_NONE) {
		struct pt_regs *registers = (void *)walk->entry;
		for (unsigned i = 0; i < sizeof(out->arguments) / sizeof(out->arguments[0]); i++)
			out->arguments[i] = call_argument(registers, i);
	}
	if (want->stacks && config.stacks & (STACKS_WAITS | STACKS_SLEEPERS) && w.state != TASK_STATE_dead && !(out->task.flags & TASK_FLAGS_argus))
		sleeper_stacks(out, walk, task);
	bpf_seq_write(context->meta->seq, out, sizeof(*out));
	return 0;
}
