/* The system call a thread is in, from its saved registers, and the object it
 * works on. */
#ifndef RECORD_BPF_CALL_BPF_H
#define RECORD_BPF_CALL_BPF_H

#include "record/bpf/object.bpf.h"

/* task_struct.flags */
#define PF_IDLE 0x2u
#define PF_EXITING 0x4u
#define PF_WQ_WORKER 0x20u
#define PF_KTHREAD 0x200000u
/* thread_info.status: in a 32-bit system call, whose numbers are others */
#define TS_COMPAT 2u

#define FUTEX_COMMAND 0x7fu
#define FUTEX_WAIT 0u
#define FUTEX_LOCK_PI 6u
#define FUTEX_WAIT_REQUEUE_PI 11u
#define FUTEX_REALTIME 0x100u

enum call_object {
	CALL_none, CALL_fd, CALL_fd2, CALL_fd3, CALL_futex, CALL_futex2, CALL_futexes, CALL_poll, CALL_select,
	CALL_child, CALL_idtype, CALL_clone, CALL_clone3, CALL_fcntl, CALL_flock, CALL_queue, CALL_semaphore
};

enum call_limit {
	LIMIT_none, LIMIT_ms, LIMIT_timespec, LIMIT_timeval, LIMIT_absolute, LIMIT_futex, LIMIT_clock
};

struct call_info {
	u8 wait, object, limit, limit_argument;
};

#define CALL_MAX 512
static const struct call_info call_infos[CALL_MAX] = {
#define WAIT(number, kind, object, limit, argument) [number] = { WAIT_KIND_##kind, CALL_##object, LIMIT_##limit, argument },
#include "record/waits.def"
#undef WAIT
};

static __always_inline struct pt_regs *call_registers(struct task_struct *task)
{
	return (struct pt_regs *)bpf_task_pt_regs((void *)task);
}

/* The nth argument, from 0. */
static __always_inline u64 call_argument(struct pt_regs *registers, u32 n)
{
	switch (n) {
	case 0:
		return GET(registers, di);
	case 1:
		return GET(registers, si);
	case 2:
		return GET(registers, dx);
	case 3:
		return GET(registers, r10);
	case 4:
		return GET(registers, r8);
	default:
		return GET(registers, r9);
	}
}

static __always_inline bool call_is_32bit(struct task_struct *task)
{
	return task->thread_info.status & TS_COMPAT;
}

#define CALL_POLL 7
#define CALL_FUTEX 202
#define CALL_RESTART 219
#define CALL_CLOCK_NANOSLEEP 230

/* After a stop or a freeze calls with a time limit go on as restart_syscall, with the arguments of before. Only
 * three kinds do; which one tells what it keeps for that. */
static __always_inline u16 call_restarted(struct task_struct *task, struct pt_regs *registers)
{
	u64 first = GET(registers, di);
	if ((u64)GET(task, restart_block.poll.ufds) == first && (u32)GET(task, restart_block.poll.nfds) == (u32)GET(registers, si))
		return CALL_POLL;
	if ((u64)GET(task, restart_block.futex.uaddr) == first && GET(task, restart_block.futex.val) == (u32)GET(registers, dx))
		return CALL_FUTEX;
	return CALL_CLOCK_NANOSLEEP;
}

/* Number of the system call the user thread is in; SYSCALL_NONE in none (an
 * interrupt or a fault took it out of user mode), or in a 32-bit one. */
static __always_inline u16 call_number(struct task_struct *task, struct pt_regs *registers)
{
	u64 number = GET(registers, orig_ax);
	if (number >= CALL_MAX || call_is_32bit(task))
		return SYSCALL_NONE;
	return number == CALL_RESTART ? call_restarted(task, registers) : number;
}

/* A futex is known by its address and address space. */
static __always_inline u64 call_futex(struct task_struct *task, u64 address)
{
	return object_of(OBJECT_KIND_futex, object_hash(kernel_word(&task->mm) ^ address));
}

/* Object of what the call does, for both the one that waits and the one that
 * wakes; 0 none or unknown. `user`: the task is the current one, so that its
 * memory can be read. */
static __always_inline struct file *call_file(struct task_struct *task, struct pt_regs *registers, u8 object)
{
	switch (object) {
	case CALL_fd:
	case CALL_fcntl:
	case CALL_flock:
		return object_file(task, call_argument(registers, 0));
	case CALL_fd2:
		return object_file(task, call_argument(registers, 1));
	case CALL_fd3:
		return object_file(task, call_argument(registers, 2));
	}
	return NULL;
}

#endif
