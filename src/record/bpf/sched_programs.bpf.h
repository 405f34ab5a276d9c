/* Switches and wake-ups: one record per sched_switch and per sched_waking. Both
 * run with interrupts off, and are the busiest programs of the lean level. */
#ifndef RECORD_BPF_SCHED_PROGRAMS_BPF_H
#define RECORD_BPF_SCHED_PROGRAMS_BPF_H

#include "record/bpf/context.bpf.h"
#include "record/bpf/filter.bpf.h"
#include "record/bpf/stack.bpf.h"
#include "record/bpf/throttle.bpf.h"
#include "record/bpf/contended.bpf.h"
#include "record/bpf/wait.bpf.h"

#define NAME_RCU ('r' | 'c' << 8 | 'u' << 16) /* how the names of its threads begin */

static __always_inline bool own(struct task_struct *task)
{
	return config_is_own(task->tgid);
}

/* From the signals themselves: the number of the thread's flag for them changed with
 * Linux 6.18. */
static __always_inline bool signal_is_pending(struct task_struct *task)
{
	struct signal_struct *shared = UNKEPT(task)->signal;

	return (task->pending.signal.sig[0] | (shared ? shared->shared_pending.signal.sig[0] : 0)) & ~task->blocked.sig[0];
}

/* What the thread that leaves waits on; it is the current one still. Not static: the
 * verifier follows its many ways by themselves, and not each of them to the end of
 * what calls it. */
__noinline int wait_of_current(struct wait *w, u32 preempted, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	if (!w)
		return 0;
	wait_read(w, task, call_registers(task), preempted, true, now);
	return 0;
}

/* Adds up how long the processor rests: the agent runs where that is longest. */
static __always_inline void note_rest(struct ring *ring, u32 tid, u32 next_tid, u64 now)
{
	if (!next_tid) {
		ring->idle_from_ns = now;
	} else if (!tid) {
		if (ring->idle_from_ns)
			ring->idle_ns += now - ring->idle_from_ns;
		ring->idle_from_ns = 0;
	}
}

/* Nothing that is asked for, where only threads are that pass the filter. */
static __always_inline bool is_far(struct task_struct *one, struct task_struct *other)
{
	return config.narrow && !(one->pid && filter_passes(one)) && !(other->pid && filter_passes(other));
}

SEC("tp_btf/sched_switch")
int on_switch(u64 *context)
{
	bool preempted = context[0] & 1;
	struct task_struct *prev = (void *)context[1], *next = (void *)context[2];
	u32 tid = prev->pid, next_tid = next->pid;
	u64 now = bpf_ktime_get_ns();
	struct wait w = { 0 };

	/* the agent's own naps on an idle processor */
	if ((!next_tid && own(prev)) || (!tid && own(next)))
		return 0;
	struct ring *ring = ring_here();
	if (!ring)
		return 0;
	note_rest(ring, tid, next_tid, now);
	if (is_far(prev, next))
		return 0;
	if (tid) {
		u32 state = config.switch_has_state ? (u32)context[3] : prev->__state;
		w.state = wait_state(state, preempted);
		wait_of_current(&w, preempted, now);
	} else {
		w.syscall = SYSCALL_NONE;
	}
	if (signal_is_pending(next))
		w.flags |= SWITCH_FLAGS_signal_pending;
	u32 ustack = 0, kstack = 0;
	if (tid && !filter_passes(prev)) {
		w.flags |= SWITCH_FLAGS_unfiltered;
	} else if (w.wait) {
		ustack = stack_user(context, STACKS_WAITS);
		if (w.wait == WAIT_KIND_futex && ustack && !w.hint) {
			w.hint = python_lock_owner(w.detail);
			w.hint_kind = w.hint ? HINT_KIND_interpreter_lock : 0;
		}
		/* where the system call says what it waits for, the kernel's part adds nothing */
		if (w.state == TASK_STATE_blocked || w.state == TASK_STATE_killable || w.wait == WAIT_KIND_other ||
		    w.wait == WAIT_KIND_ioctl)
			kstack = stack_kernel(context, STACKS_WAITS);
	}

	if (w.flags & SWITCH_FLAGS_throttled)
		throttle_begin(tid, now);
	struct event_switch *e = ring_begin_quiet(ring, EVENT_switch, tid, now, sizeof(*e));
	if (!e)
		return 0;
	e->object = w.object;
	e->timeout_ns = w.timeout_ns;
	e->detail = w.detail;
	e->next = next_tid;
	e->hint = w.hint;
	e->argument = w.argument;
	e->ustack = ustack;
	e->kstack = kstack;
	e->syscall = w.syscall;
	e->state = w.state;
	e->wait = w.wait;
	e->hint_kind = w.hint_kind;
	e->flags = w.flags;
	e->next_prio = next->prio;
	e->reserved = 0;
	ring_end_quiet(ring);
	throttle_end(next_tid, now);
	return 0;
}

struct wake {
	u64 object, source;
	u16 syscall;
	u8 context, cause, vector, flags;
};

/* False in calls that only wait: a packet that is received in them is another's,
 * such as one that a timer sent again. */
static __always_inline bool call_may_send(u32 syscall)
{
	const u64 waits = 1ull << WAIT_KIND_futex | 1ull << WAIT_KIND_poll | 1ull << WAIT_KIND_epoll |
			  1ull << WAIT_KIND_sleep | 1ull << WAIT_KIND_child | 1ull << WAIT_KIND_signal |
			  1ull << WAIT_KIND_yield | 1ull << WAIT_KIND_semaphore | 1ull << WAIT_KIND_open |
			  1ull << WAIT_KIND_vfork | 1ull << WAIT_KIND_sync;

	return syscall != SYSCALL_NONE && !(waits >> (call_infos[syscall & (CALL_MAX - 1)].wait & 63) & 1);
}

/* In interrupt context: what the interrupt serves. */
static __always_inline void wake_cause(struct wake *k, struct ring *ring, struct task_struct *current,
				       struct task_struct *target, u64 now)
{
	u64 timer = context_hrtimer(ring, current);
	if (timer) {
		k->source = timer;
		k->cause = context_is_sleepers(timer, target) ? WAKE_CAUSE_timeout : WAKE_CAUSE_timer;
		if (k->context == CONTEXT_softirq)
			k->vector = SOFTIRQ_HRTIMER;
		return;
	}
	if (k->context == CONTEXT_softirq) {
		timer = context_timer(ring, current);
		if (timer) {
			k->source = timer;
			k->vector = SOFTIRQ_TIMER;
			k->cause = context_is_sleepers(timer, target) ? WAKE_CAUSE_timeout : WAKE_CAUSE_timer;
			return;
		}
		if (context_receives(ring, current)) {
			k->vector = SOFTIRQ_NET_RX;
			k->cause = call_may_send(k->syscall) && context_receives_own(ring, current)
				? WAKE_CAUSE_own_send : WAKE_CAUSE_network;
			return;
		}
	}
	if (ring->block_request && now < ring->block_until_ns) {
		k->source = ring->block_request;
		k->cause = WAKE_CAUSE_block_io;
		k->vector = k->context == CONTEXT_softirq ? SOFTIRQ_BLOCK : SOFTIRQ_UNKNOWN;
		return;
	}
	u32 flags = target->flags;
	if (flags & PF_WQ_WORKER)
		k->cause = WAKE_CAUSE_work;
	else if (flags & PF_KTHREAD && (kernel_word(target->comm) & 0xffffff) == NAME_RCU)
		k->cause = WAKE_CAUSE_rcu;
	else if (k->context == CONTEXT_hardirq)
		k->cause = WAKE_CAUSE_device;
	else if (flags & PF_KTHREAD)
		k->cause = WAKE_CAUSE_work; /* ksoftirqd and its like */
}

SEC("tp_btf/sched_waking")
int on_waking(u64 *context)
{
	struct task_struct *target = (void *)context[0];
	struct task_struct *current = bpf_get_current_task_btf();
	u32 tid = current->pid, flags = current->flags;
	u64 now = bpf_ktime_get_ns();
	struct wake k = { .syscall = SYSCALL_NONE, .vector = SOFTIRQ_UNKNOWN };

	if (own(target) || is_far(current, target))
		return 0;
	struct ring *ring = ring_here();
	if (!ring)
		return 0;
	u32 count = context_count(ring, current);
	k.context = context_of(count);
	if (flags & PF_KTHREAD) {
		k.flags |= WAKE_FLAGS_kernel_thread;
	} else {
		struct pt_regs *registers = call_registers(current);
		k.syscall = call_number(current, registers);
		if (k.syscall != SYSCALL_NONE) {
			u8 use = call_infos[k.syscall & (CALL_MAX - 1)].object;
			struct object_at at;
			if (use == CALL_futex || use == CALL_futex2)
				k.object = call_futex(current, call_argument(registers, 0));
			else if (object_find(&at, call_file(current, registers, use)))
				k.object = at.number;
		}
	}
	u32 state = target->__state;
	if (k.context != CONTEXT_thread)
		wake_cause(&k, ring, current, target, now);
	else if (flags & PF_EXITING)
		k.cause = WAKE_CAUSE_exit;
	else if (state & 0x101 && signal_is_pending(target))
		k.cause = WAKE_CAUSE_signal;
	else if (target->flags & PF_WQ_WORKER)
		k.cause = WAKE_CAUSE_work;
	else
		k.cause = WAKE_CAUSE_thread;
	if (k.context != CONTEXT_thread && k.cause != WAKE_CAUSE_own_send) {
		/* the interrupted thread has no part in it */
		k.object = 0;
	}
	if (target->on_cpu)
		k.flags |= WAKE_FLAGS_target_running;

	u32 ustack = 0;
	if (k.context == CONTEXT_thread || k.cause == WAKE_CAUSE_own_send)
		ustack = stack_user(context, STACKS_WAKES);
	struct event_wake *e = ring_begin_quiet(ring, EVENT_wake, tid, now, sizeof(*e));
	if (!e)
		return 0;
	e->object = k.object;
	e->source = k.source;
	e->target = target->pid;
	e->armer = 0;
	e->ustack = ustack;
	e->kstack = 0;
	e->syscall = k.syscall;
	e->target_cpu = target->thread_info.cpu;
	e->context = k.context;
	e->cause = k.cause;
	e->vector = k.vector;
	e->flags = k.flags;
	ring_end_quiet(ring);
	return 0;
}

#endif
