/* In what the processor is when it wakes a thread: the current thread itself,
 * a softirq, a hard interrupt; and what that interrupt serves.
 *
 * The preemption count tells the first. It is a per-CPU variable that cannot
 * be bound by name where the kernel lists no data symbols, but its type
 * information has its offset in the per-CPU area, and the run queue's too,
 * which the current task points to. So are found: the timer whose function
 * runs just now (hrtimer_bases, timer_bases), and whether packets are being
 * received (softnet_data). */
#ifndef RECORD_BPF_CONTEXT_BPF_H
#define RECORD_BPF_CONTEXT_BPF_H

#include "record/bpf/call.bpf.h"
#include "record/bpf/ring.bpf.h"

#define PREEMPT_SOFTIRQ 0x100u
#define PREEMPT_HARDIRQ 0xf0000u
#define PREEMPT_NMI 0xf00000u

#define SOFTIRQ_TIMER 1
#define SOFTIRQ_NET_RX 3
#define SOFTIRQ_BLOCK 4
#define SOFTIRQ_HRTIMER 8
#define SOFTIRQ_UNKNOWN 255

/* Address of a per-CPU variable of this processor, by its distance from the run
 * queue; 0 when the kernel has none. */
static __always_inline u64 context_variable(struct ring *ring, struct task_struct *current, long distance)
{
	if (distance == PERCPU_ABSENT)
		return 0;
	u64 base = ring->percpu_base;
	if (!base) {
		struct cfs_rq *queue = GET(current, se.cfs_rq);
		base = queue ? kernel_word(&queue->rq) : 0;
		if (!base)
			return 0;
		ring->percpu_base = base;
	}
	return base + distance;
}

/* Preemption count of this processor; 0 (as in a thread) where it cannot be found. */
static __always_inline u32 context_count(struct ring *ring, struct task_struct *current)
{
	u64 address = context_variable(ring, current, config.preempt_count);
	return address ? (u32)kernel_word((void *)address) : 0;
}

static __always_inline u8 context_of(u32 count)
{
	if (count & PREEMPT_NMI)
		return CONTEXT_nmi;
	if (count & PREEMPT_HARDIRQ)
		return CONTEXT_hardirq;
	return count & PREEMPT_SOFTIRQ ? CONTEXT_softirq : CONTEXT_thread;
}

/* The high-resolution timer whose function runs on this processor, else 0. */
static __always_inline u64 context_hrtimer(struct ring *ring, struct task_struct *current)
{
	struct hrtimer_cpu_base *base = (void *)context_variable(ring, current, config.hrtimer_bases);
	if (!base)
		return 0;
	u64 clocks = (u64)base + bpf_core_field_offset(struct hrtimer_cpu_base, clock_base);
	u64 step = bpf_core_type_size(struct hrtimer_clock_base);
	u64 running = clocks + bpf_core_field_offset(struct hrtimer_clock_base, running);
	for (int i = 0; i < 8; i++) {
		u64 timer = kernel_word((void *)running);
		if (timer)
			return timer;
		running += step;
	}
	return 0;
}

/* The timer-wheel timer whose function runs on this processor, else 0. */
static __always_inline u64 context_timer(struct ring *ring, struct task_struct *current)
{
	u64 base = context_variable(ring, current, config.timer_bases);
	if (!base)
		return 0;
	for (u32 i = 0; i < 3 && i < config.timer_base_count; i++) {
		u64 timer = kernel_word((char *)base + bpf_core_field_offset(struct timer_base, running_timer));
		if (timer)
			return timer;
		base += config.timer_base_bytes;
	}
	return 0;
}

#define KERNEL_STACK_BYTES 32768ull /* at most */

/* A thread that sleeps for a time, or at most for one, has the timer that is to
 * wake it on its own kernel stack; nobody else's timers are there. */
static __always_inline bool context_is_sleepers(u64 timer, struct task_struct *sleeper)
{
	return timer - kernel_word(&sleeper->stack) < KERNEL_STACK_BYTES;
}

#define BACKLOG_SCHEDULED 1ul /* NAPIF_STATE_SCHED */

/* Whether packets are being received here. */
static __always_inline bool context_receives(struct ring *ring, struct task_struct *current)
{
	struct softnet_data *data = (void *)context_variable(ring, current, config.softnet_data);
	if (!data)
		return false;
	if (bpf_core_field_exists(data->in_net_rx_action))
		return GET(data, in_net_rx_action);
	/* before 6.5: what comes from this machine is known all the same */
	return GET(data, backlog.state) & BACKLOG_SCHEDULED;
}

/* Whether what is received came from this machine: loopback and virtual
 * Ethernet go through the processor's own backlog, devices through queues of
 * their own. In a thread that is in a system call it is then what that call
 * sent: softirqs run as soon as the send lets them. */
static __always_inline bool context_receives_own(struct ring *ring, struct task_struct *current)
{
	struct softnet_data *data = (void *)context_variable(ring, current, config.softnet_data);
	return data && GET(data, backlog.state) & BACKLOG_SCHEDULED;
}

#endif
