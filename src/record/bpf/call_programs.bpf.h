/* System calls at the lean level, where their stacks are asked for: one hook, at
 * the end, which keeps the call's number and its stack. What inference needs of a
 * call is where it was made and when; what it did costs several times as much
 * (syscall.bpf.c), and so does looking at its begin. */
#ifndef RECORD_BPF_CALL_PROGRAMS_BPF_H
#define RECORD_BPF_CALL_PROGRAMS_BPF_H

#include "record/bpf/call.bpf.h"
#include "record/bpf/filter.bpf.h"
#include "record/bpf/ring.bpf.h"
#include "record/bpf/stack.bpf.h"

SEC("tp_btf/sys_exit")
int BPF_PROG(on_call_end, struct pt_regs *registers, long result)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
	if (config_is_own(task->tgid) || !filter_passes(task))
		return 0;
	struct ring *ring = ring_here();
	if (!ring)
		return 0;
	u64 now = bpf_ktime_get_ns();
	u32 ustack = stack_walk();
	struct event_call_end *e = ring_begin(ring, EVENT_call_end, task->pid, now, sizeof(*e));
	if (!e)
		return 0;
	e->ustack = ustack;
	/* behind sigreturn the registers are the interrupted code's again, which was in no call */
	e->number = call_number(task, registers);
	e->reserved = 0;
	ring_end(ring);
	return 0;
}

#endif
