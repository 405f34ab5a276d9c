/* Stacks of threads that do not run, for snapshots: the user's from the registers
 * with which the thread went into the kernel, its memory by its page tables, so
 * that nothing is waited for; the kernel's by its saved frame.
 *
 * The thread may wake up meanwhile; then what was read is nobody's stack. So its
 * switches are compared behind the walk. Iterators run one at a time and can be
 * preempted: their walk has a place of its own and its number is used once. */
#ifndef RECORD_BPF_SLEEPER_BPF_H
#define RECORD_BPF_SLEEPER_BPF_H

#define PYTHON_OF_SLEEPERS /* their memory is reached by page tables alone */

#include "record/bpf/call.bpf.h"
#include "record/bpf/unwind.bpf.h"
#include "record/tasks.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct walk);
} sleeper_walk SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TASKS_SEEN);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct task_seen);
} tasks_seen SEC(".maps");

static __always_inline u64 sleeper_switches(struct task_struct *task)
{
	return kernel_word(&task->nvcsw) + kernel_word(&task->nivcsw);
}

struct sleeper_copy {
	struct walk *walk;
	u32 bytes;
};

static long sleeper_copy_page(u32 index, void *data)
{
	struct sleeper_copy *c = data;
	struct walk *w = c->walk;
	if (!w)
		return 1;
	u64 address = w->start + c->bytes;
	u32 bytes = 4096 - (address & 4095), to = c->bytes;
	u64 page = memory_page(w->memory.root, w->memory.base, w->memory.levels, address);
	KEEP_LIMITS(to);
	if (to >= STACK_COPY_BYTES || !page ||
	    bpf_probe_read_kernel(w->copied + (to & (STACK_COPY_BYTES - 1)), bytes & 8191, (void *)(page + (address & 4095))) < 0)
		return 1;
	c->bytes += bytes;
	return 0;
}

static __always_inline u32 sleeper_tell_copy(struct walk *w)
{
	struct sleeper_copy c = { .walk = w };
	if (!w->narrow)
		bpf_loop(STACK_COPY_BYTES / 4096, sleeper_copy_page, &c, 0);
	return stack_copy_tell(w, c.bytes & (2 * STACK_COPY_BYTES - 1));
}

static __always_inline u32 sleeper_tell(struct walk *w)
{
	w->message.id = stack_number_once();
	u64 bytes = sizeof(w->message) + 8ull * (w->message.count & STACK_FRAMES_MAX);
	return bpf_ringbuf_output(&stack_ring, &w->message, bytes, BPF_RB_NO_WAKEUP) == 0 ? w->message.id : 0;
}

/* Not static, as what follows: the verifier looks at it once, and not with all that its caller knows. */
__noinline u32 sleeper_user(struct walk *w)
{
	u32 id, tables;

	if (!w)
		return 0;
	w->sleeper = 1;
	if (!walk_start(w))
		return 0;
	tables = walk_tables(w);
	if (!w->memory.base)
		return 0;
	if (!tables)
		return sleeper_tell_copy(w);
	id = stack_recognise(w);
	if (id) {
		stack_count(STACK_COUNT_RECOGNISED);
		return python_stack(w, id);
	}
	return walk_frames(w) ? python_stack(w, sleeper_tell(w)) : sleeper_tell_copy(w);
}

static __always_inline u32 sleeper_kernel(struct walk *w, struct task_struct *task)
{
	long bytes = bpf_get_task_stack((void *)task, w->frames, STACK_FRAMES_MAX * 8, 0);
	if (bytes <= 0)
		return 0;
	w->message.type = STACK_MESSAGE_KERNEL;
	w->message.tgid = w->message.layout = 0;
	w->message.status = STACK_STATUS_whole;
	w->message.count = (u32)bytes / 8;
	w->message.time_ns = bpf_ktime_get_ns();
	return sleeper_tell(w);
}

__noinline u32 sleeper_lock_owner(struct walk *w, u64 futex)
{
	if (!w)
		return 0;
	w->sleeper = 1;
	if (!walk_start(w) || !walk_tables(w) || !w->memory.base || !w->python)
		return 0;
	return python_lock_owner_in(w, futex);
}

/* Who has the interpreter's lock, of a thread that waits for it. */
static __always_inline void sleeper_lock(struct task_found *out, struct walk *w)
{
	if (out->waiting.wait != WAIT_KIND_futex || out->waiting.hint)
		return;
	out->waiting.hint = sleeper_lock_owner(w, out->waiting.detail);
	out->waiting.hint_kind = out->waiting.hint ? HINT_KIND_interpreter_lock : 0;
}

/* Both, or what they were when it has not run since they were taken last. */
static __always_inline void sleeper_stacks(struct task_found *out, struct walk *w, struct task_struct *task)
{
	u32 at = out->tid & (TASKS_SEEN - 1), kernel_thread = GET(task, flags) & PF_KTHREAD;
	struct task_seen *seen = bpf_map_lookup_elem(&tasks_seen, &at);

	if (!seen || GET(task, on_cpu) || (kernel_thread && out->waiting.state != TASK_STATE_blocked))
		return;
	out->switches = sleeper_switches(task);
	if (memory_root(task))
		sleeper_lock(out, w);
	if (seen->start_ns == out->task.start_ns && seen->switches == out->switches && seen->tid == out->tid) {
		out->waiting.ustack = seen->ustack;
		out->waiting.kstack = seen->kstack;
		out->stacks = TASK_STACKS_SEEN;
		return;
	}
	u64 root = memory_root(task);
	if (root)
		out->waiting.ustack = sleeper_user(w);
	if (out->waiting.state != TASK_STATE_running)
		out->waiting.kstack = sleeper_kernel(w, task);
	if (sleeper_switches(task) == out->switches && !GET(task, on_cpu) && memory_root(task) == root) {
		out->stacks = TASK_STACKS_NEW;
	} else {
		out->waiting.ustack = out->waiting.kstack = 0;
		if (out->waiting.hint_kind == HINT_KIND_interpreter_lock)
			out->waiting.hint = out->waiting.hint_kind = 0;
	}
}

#endif
