/* What a thread that leaves the processor waits on, read from its registers,
 * its task and its memory; no system call is hooked for it. */
#ifndef RECORD_BPF_WAIT_BPF_H
#define RECORD_BPF_WAIT_BPF_H

#include "record/bpf/call.bpf.h"
#include "record/bpf/config.bpf.h"
#include "record/bpf/file_lock.bpf.h"
#include "record/bpf/memory.bpf.h"
#include "record/bpf/stack_tables.bpf.h"
#include "record/futex_owner.h"

/* Fields of event_switch and event_waiting. */
struct wait {
	u64 object;
	u64 timeout_ns;
	u64 detail;
	u32 hint;
	u32 argument;
	u16 syscall;
	u8 state, wait, hint_kind, flags;
};

#define NS_PER_S 1000000000ull
#define CLONE_VFORK_BIT 0x4000ull
#define MAGIC_FUSE 0x65735546ul
#define STOP_SIGNAL_BITS 0xfffful /* JOBCTL_STOP_SIGMASK: the signal of the last stop */
#define OWNER_BITS 7ul /* flags in the low bits of a kernel lock's owner */
/* Where a lock's address stands in task_struct.blocker (6.16), its low bits tell its kind. */
#define BLOCKER_BITS 3ul
#define BLOCKER_MUTEX 0ul
#define BLOCKER_SEMAPHORE 1ul
#define BLOCKER_READ 2ul
#define BLOCKER_WRITE 3ul
#ifndef WAIT_CONTENDED
#define WAIT_CONTENDED(tid) 0 /* see contended.bpf.h */
#endif

static __always_inline u8 wait_state(u32 state, bool preempted)
{
	if (preempted || !state)
		return TASK_STATE_running;
	if (state & 0x90) /* TASK_DEAD, EXIT_DEAD */
		return TASK_STATE_dead;
	if (state & 0x8000)
		return TASK_STATE_frozen;
	if (state & 0x8)
		return TASK_STATE_traced;
	if (state & 0x4)
		return TASK_STATE_stopped;
	if (state & 0x40)
		return TASK_STATE_parked;
	if (state & 0x1)
		return TASK_STATE_sleeping;
	if (state & 0x400)
		return TASK_STATE_idle;
	return state & 0x100 ? TASK_STATE_killable : TASK_STATE_blocked;
}

static __always_inline u64 wait_relative(u64 deadline, u64 now)
{
	return deadline > now ? deadline - now : 1;
}

/* The call's time limit, relative; 0 none, or none that can be read. */
static __always_inline u64 wait_limit(struct pt_regs *registers, struct call_info info, bool current, u64 now)
{
	u64 value, pair[2];

	if (info.limit == LIMIT_none)
		return 0;
	value = call_argument(registers, info.limit_argument);
	if (info.limit == LIMIT_ms)
		return (int)value > 0 ? (u64)(u32)value * 1000000 : 0;
	if (!current || !value || bpf_probe_read_user(pair, sizeof(pair), (void *)value) || (long)pair[0] < 0)
		return 0;
	if (info.limit == LIMIT_timeval)
		return pair[0] * NS_PER_S + pair[1] * 1000;
	value = pair[0] * NS_PER_S + pair[1];
	switch (info.limit) {
	case LIMIT_absolute:
		return wait_relative(value, now + config_realtime_offset());
	case LIMIT_futex: {
		u32 op = call_argument(registers, 1), command = op & FUTEX_COMMAND;
		if (command == FUTEX_WAIT)
			return value;
		if (op & FUTEX_REALTIME || command == FUTEX_LOCK_PI)
			now += config_realtime_offset();
		return wait_relative(value, now);
	}
	case LIMIT_clock:
		if (!(call_argument(registers, 1) & 1))
			return value;
		if (!(u32)call_argument(registers, 0))
			now += config_realtime_offset();
		return wait_relative(value, now);
	}
	return value;
}

struct wait_words {
	u32 word[FUTEX_OWNER_WORDS];
};

/* Words of a process's memory that are there just now; false when not all are. Not
 * static, for the verifier to look at it once. */
__noinline int wait_read_words(u64 root, u64 address, u32 count, struct wait_words *to)
{
	u32 zero = 0;
	struct stack_now *now = bpf_map_lookup_elem(&stack_now, &zero);

	if (!to || !now || !now->memory || address & 3)
		return 0;
	for (u32 i = 0; i < FUTEX_OWNER_WORDS && i < count; i++) {
		u64 at = address + i * 4, page = memory_page(root, now->memory, now->levels, at);

		if (!page)
			return 0;
		u64 pair = kernel_word((void *)(page + (at & 4088)));
		to->word[i] = at & 4 ? pair >> 32 : pair;
	}
	return 1;
}

/* Who holds the lock, or is to end; `current` tells that its memory can be read in place. */
static __always_inline void wait_futex(struct wait *w, struct task_struct *task, struct pt_regs *registers, bool current)
{
	u64 address = call_argument(registers, 0);
	u32 op = call_argument(registers, 1), value = call_argument(registers, 2), count = futex_owner_words(op, value);
	struct wait_words words = { 0 };

	w->object = call_futex(task, address);
	w->argument = op;
	w->detail = address;
	if (!current) {
		if (count && !wait_read_words(memory_root(task), address, count, &words))
			return;
	} else if (count == FUTEX_OWNER_WORDS) {
		if (bpf_probe_read_user(words.word, sizeof(words.word), (void *)address))
			return;
	} else if (count == 5) {
		if (bpf_probe_read_user(words.word, 20, (void *)address))
			return;
	} else if (count && bpf_probe_read_user(words.word, 4, (void *)address)) {
		return;
	}
	w->hint = futex_owner(op, value, words.word, &w->hint_kind);
}

/* Number of the lowest bit that is set: by a word whose every six bits differ, without branches. */
#define BITS_WORD 0x03f79d71b4cb0a89ull
const volatile u8 wait_bits[64] = {
	0, 1, 48, 2, 57, 49, 28, 3, 61, 58, 50, 42, 38, 29, 17, 4,
	62, 55, 59, 36, 53, 51, 43, 22, 45, 39, 33, 30, 24, 18, 12, 5,
	63, 47, 56, 27, 60, 41, 37, 16, 54, 35, 52, 21, 44, 32, 23, 11,
	46, 26, 40, 15, 34, 20, 31, 10, 25, 14, 19, 9, 13, 8, 7, 6,
};

static __always_inline int wait_lowest_bit(u64 word)
{
	return wait_bits[(word & -word) * BITS_WORD >> 58];
}

static __always_inline u32 wait_count_bits(u64 word)
{
	word -= word >> 1 & 0x5555555555555555ull;
	word = (word & 0x3333333333333333ull) + (word >> 2 & 0x3333333333333333ull);
	return ((word + (word >> 4)) & 0x0f0f0f0f0f0f0f0full) * 0x0101010101010101ull >> 56;
}

/* The first descriptor of a poll set. */
static __always_inline int wait_first_polled(struct task_struct *task, struct pt_regs *registers, bool current)
{
	struct wait_words words;
	int fd = -1;

	if (!current)
		return wait_read_words(memory_root(task), call_argument(registers, 0), 1, &words) ? (int)words.word[0] : -1;
	if (bpf_probe_read_user(&fd, sizeof(fd), (void *)call_argument(registers, 0)))
		return -1;
	return fd;
}

/* A word of a select's set; where the thread sleeps, what the kernel found there before is still in it. */
static __always_inline bool wait_selected_word(struct task_struct *task, u64 address, bool current, u64 *word)
{
	struct wait_words words;

	if (current)
		return !bpf_probe_read_user(word, sizeof(*word), (void *)address);
	if (!wait_read_words(memory_root(task), address, 2, &words))
		return false;
	*word = words.word[0] | (u64)words.word[1] << 32;
	return true;
}

/* The first descriptor that select reads, or else writes, and how many it looks at: of up to
 * 64 they are counted, else only the highest is known. */
static __always_inline int wait_first_selected(struct task_struct *task, struct pt_regs *registers, bool current, u32 *count)
{
	u64 all = 0, reads = 0;
	u32 highest = *count;

	for (int set = 1; set <= 3; set++) {
		u64 word = 0, address = call_argument(registers, set);

		if (address && !wait_selected_word(task, address, current, &word))
			return -1;
		if (highest < 64)
			word &= (1ull << highest) - 1;
		if (set == 1)
			reads = word;
		all |= word;
	}
	if (highest <= 64)
		*count = wait_count_bits(all);
	reads = reads ? reads : all;
	return reads ? wait_lowest_bit(reads) : -1;
}

static __always_inline u32 wait_owner_tid(u64 owner)
{
	struct task_struct *task = (struct task_struct *)(owner & ~OWNER_BITS);
	return task ? GET(task, pid) : 0;
}

/* Owner of a contended kernel lock by the flags of contention_begin: of mutexes
 * and semaphores for writing and reading; 0 unknown. */
#define CONTENTION_READ 2u
#define CONTENTION_WRITE 4u
#define CONTENTION_RT 8u
#define CONTENTION_PERCPU 16u
#define CONTENTION_MUTEX 32u

static __always_inline u64 wait_blocker_kind(u32 flags)
{
	if (flags & CONTENTION_MUTEX)
		return BLOCKER_MUTEX;
	if (flags & (CONTENTION_PERCPU | CONTENTION_RT))
		return BLOCKER_SEMAPHORE;
	return flags & CONTENTION_READ ? BLOCKER_READ : flags & CONTENTION_WRITE ? BLOCKER_WRITE : BLOCKER_SEMAPHORE;
}

static __always_inline u32 wait_lock_owner(u64 lock, u32 flags)
{
	if (flags & CONTENTION_PERCPU)
		return 0;
	if (flags & CONTENTION_MUTEX)
		return wait_owner_tid(kernel_word(&((struct mutex *)lock)->owner.counter));
	if (flags & CONTENTION_RT)
		return wait_owner_tid(kernel_word(&((struct rt_mutex_base *)lock)->owner));
	if (flags & (CONTENTION_READ | CONTENTION_WRITE))
		return wait_owner_tid(kernel_word(&((struct rw_semaphore *)lock)->owner.counter));
	return 0;
}

/* The kernel lock a blocked thread says it waits for, and its owner. */
static __always_inline bool wait_kernel_lock(struct wait *w, struct task_struct *task)
{
	u64 lock = 0, kind = BLOCKER_MUTEX;

	if (bpf_core_field_exists(task->blocked_on))
		lock = kernel_word(&task->blocked_on);
	if (!lock) {
		lock = bpf_core_field_exists(task->blocker) ? kernel_word(&task->blocker) : 0;
		lock = lock ? lock : WAIT_CONTENDED(GET(task, pid));
		kind = lock & BLOCKER_BITS;
		lock &= ~BLOCKER_BITS;
	}
	if (!lock)
		return false;
	w->wait = WAIT_KIND_kernel_lock;
	w->detail = lock;
	if (kind == BLOCKER_MUTEX)
		w->hint = wait_owner_tid(kernel_word(&((struct mutex *)lock)->owner.counter));
	else if (kind != BLOCKER_SEMAPHORE)
		w->hint = wait_owner_tid(kernel_word(&((struct rw_semaphore *)lock)->owner.counter));
	w->hint_kind = w->hint ? HINT_KIND_lock_owner : 0;
	return true;
}

/* The newest child: the one a vfork has just made. */
static __always_inline u32 wait_newest_child(struct task_struct *task)
{
	u64 list = (u64)task + bpf_core_field_offset(struct task_struct, children);
	u64 last = kernel_word((void *)(list + 8));
	if (!last || last == list)
		return 0;
	struct task_struct *child = (void *)(last - bpf_core_field_offset(struct task_struct, sibling));
	return GET(child, pid);
}

/* Not static: the verifier follows its loop once, and not once for each way that leads to it. */
__noinline int wait_file_lock_holder(u64 inode, u64 owner, bool flock)
{
	return file_lock_holder((struct inode *)inode, flock, owner, FILE_LOCK_WRITE, 0, ~0ull >> 1);
}

/* Holder of a file lock that is in the way. Of fcntl the range is taken to be
 * the whole file: which part is asked for stands in user memory, relative to
 * what only the call knows. */
static __always_inline void wait_file_lock(struct wait *w, struct file *file, struct task_struct *task,
					   struct pt_regs *registers, bool flock)
{
	struct inode *inode = GET(file, f_inode);
	u64 owner = flock ? (u64)file : kernel_word(&task->files);

	if (inode)
		w->hint = wait_file_lock_holder((u64)inode, owner, flock);
}

static __always_inline void wait_file(struct wait *w, struct task_struct *task, struct pt_regs *registers,
				      struct call_info info)
{
	struct file *file = call_file(task, registers, info.object);
	struct object_at at;

	w->argument = call_argument(registers, info.object == CALL_fd2 ? 1 : 0);
	if (!object_find(&at, file))
		return;
	w->object = at.number;
	if (info.object == CALL_fcntl || info.object == CALL_flock) {
		wait_file_lock(w, file, task, registers, info.object == CALL_flock);
		w->hint_kind = w->hint ? HINT_KIND_file_lock_owner : 0;
	} else if (at.family == FAMILY_UNIX) {
		w->hint = object_peer(&at);
		w->hint_kind = w->hint ? HINT_KIND_socket_peer : 0;
	} else if (at.kind == OBJECT_KIND_file && !(w->flags & SWITCH_FLAGS_io_wait)) {
		struct inode *inode = GET(file, f_inode);
		struct super_block *super = inode ? GET(inode, i_sb) : NULL;
		if (super && GET(super, s_magic) == MAGIC_FUSE)
			w->wait = WAIT_KIND_fuse;
	}
}

/* Of a thread in a system call; `current` tells that its memory can be read. */
static __always_inline void wait_call(struct wait *w, struct task_struct *task, struct pt_regs *registers, bool current,
				      u64 now)
{
	struct call_info info = call_infos[w->syscall & (CALL_MAX - 1)];
	struct object_at at;
	int first = -1;

	w->wait = info.wait ? info.wait : WAIT_KIND_other;
	switch (info.object) {
	case CALL_none:
		break;
	case CALL_fd:
	case CALL_fd2:
	case CALL_fd3:
	case CALL_fcntl:
	case CALL_flock:
		wait_file(w, task, registers, info);
		break;
	case CALL_futex:
		wait_futex(w, task, registers, current);
		break;
	case CALL_futex2:
		w->object = call_futex(task, call_argument(registers, 0));
		w->detail = call_argument(registers, 0);
		break;
	case CALL_futexes: {
		u64 pair[2];
		if (current && !bpf_probe_read_user(pair, sizeof(pair), (void *)call_argument(registers, 0))) {
			w->detail = pair[1];
			w->object = call_futex(task, pair[1]);
		}
		w->argument = call_argument(registers, 1);
		break;
	}
	case CALL_poll:
	case CALL_select:
		w->argument = call_argument(registers, info.object == CALL_poll ? 1 : 0);
		if (w->argument && info.object == CALL_poll)
			first = wait_first_polled(task, registers, current);
		else if (w->argument)
			first = wait_first_selected(task, registers, current, &w->argument);
		if (!w->argument) /* of nothing, with a time limit: how programs slept before nanosleep */
			w->wait = WAIT_KIND_sleep;
		if (first >= 0 && object_find(&at, object_file(task, first)))
			w->detail = at.number;
		break;
	case CALL_child:
	case CALL_idtype:
		w->argument = call_argument(registers, info.object == CALL_child ? 0 : 1);
		if ((int)w->argument > 0 && (info.object == CALL_child || call_argument(registers, 0) == 1)) {
			w->hint = w->argument;
			w->hint_kind = HINT_KIND_child;
		}
		break;
	case CALL_clone:
	case CALL_clone3:
		w->hint = wait_newest_child(task);
		w->hint_kind = w->hint ? HINT_KIND_child : 0;
		break;
	case CALL_queue:
		w->argument = call_argument(registers, 0);
		w->object = object_of_ipc(OBJECT_KIND_queue, w->argument);
		break;
	case CALL_semaphore:
		w->argument = call_argument(registers, 0);
		w->object = object_of_ipc(OBJECT_KIND_semaphore, w->argument);
		break;
	}
	w->timeout_ns = wait_limit(registers, info, current, now);
}

/* The quota that took a runnable thread off: at its own group or above. */
static __always_inline bool wait_throttled(struct task_struct *task)
{
	if (bpf_core_field_exists(task->throttled))
		return task->throttled;
	struct cfs_rq *queue = UNKEPT(task)->se.cfs_rq;
	return queue && bpf_core_field_exists(queue->throttle_count) && GET(queue, throttle_count);
}

/* `w` is zeroed, but for its state; the registers are those with which the thread went into the kernel. */
static __always_inline void wait_read(struct wait *w, struct task_struct *task, struct pt_regs *registers, bool preempted, bool current,
				      u64 now)
{
	u32 flags = task->flags;

	w->syscall = SYSCALL_NONE;
	if (preempted)
		w->flags |= SWITCH_FLAGS_preempted;
	if (flags & PF_KTHREAD) {
		w->flags |= SWITCH_FLAGS_kernel_thread;
		if (w->state != TASK_STATE_running)
			w->wait = w->state == TASK_STATE_dead ? WAIT_KIND_exit : WAIT_KIND_worker;
		if (w->state == TASK_STATE_blocked)
			wait_kernel_lock(w, task);
		return;
	}
	w->syscall = call_number(task, registers);
	if (w->state == TASK_STATE_running) {
		if (wait_throttled(task)) {
			w->flags |= SWITCH_FLAGS_throttled;
			w->wait = WAIT_KIND_throttled;
		} else if (!preempted && w->syscall != SYSCALL_NONE &&
			   call_infos[w->syscall & (CALL_MAX - 1)].wait == WAIT_KIND_yield) {
			w->wait = WAIT_KIND_yield;
		}
		return;
	}
	if (w->state == TASK_STATE_dead) {
		w->wait = WAIT_KIND_exit;
		return;
	}
	if (GET_BITS(task, in_iowait))
		w->flags |= SWITCH_FLAGS_io_wait;
	/* the freezer of version 2 keeps its threads in a wait for a signal */
	if (w->state == TASK_STATE_sleeping && bpf_core_field_exists(task->frozen) && GET_BITS(task, frozen))
		w->state = TASK_STATE_frozen;
	if (w->state == TASK_STATE_stopped || w->state == TASK_STATE_traced || w->state == TASK_STATE_frozen) {
		w->wait = WAIT_KIND_stop;
		if (w->state == TASK_STATE_traced) {
			struct task_struct *tracer = UNKEPT(task)->parent;
			w->hint = tracer ? GET(tracer, tgid) : 0;
			w->hint_kind = w->hint ? HINT_KIND_tracer : 0;
		} else if (w->state == TASK_STATE_stopped && bpf_core_field_exists(task->jobctl)) {
			w->argument = kernel_word(&task->jobctl) & STOP_SIGNAL_BITS;
		}
		return;
	}
	if (call_is_32bit(task)) {
		w->wait = WAIT_KIND_other; /* its number and arguments are not known */
	} else if (w->syscall == SYSCALL_NONE) {
		w->wait = WAIT_KIND_fault;
		w->flags |= SWITCH_FLAGS_from_fault;
		w->detail = task->thread.cr2;
	} else {
		wait_call(w, task, registers, current, now);
	}
	if (w->state == TASK_STATE_blocked || w->state == TASK_STATE_killable) {
		if (wait_kernel_lock(w, task))
			return;
		if (w->flags & SWITCH_FLAGS_io_wait && w->syscall != SYSCALL_NONE)
			w->wait = WAIT_KIND_block_io;
	}
}

#endif
