/* What a snapshot tells of a thread besides its wait: the supervisor that is to answer its call, the file whose page it
 * awaits, a signal that it has not taken, a table of descriptors that is full. Loops are bpf_loop's, and each search is a
 * global function, for the verifier to follow it once. */
#ifndef RECORD_BPF_FOUND_BPF_H
#define RECORD_BPF_FOUND_BPF_H

#include "record/bpf/wait.bpf.h"
#include "record/tasks.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct address_space {
	struct inode *host;
};

struct folio {
	struct address_space *mapping;
};

/* Who sent it, by its code. */
struct kernel_siginfo {
	int si_signo;
	int si_code;
	union {
		struct {
			int _pid;
		} _kill;
	} _sifields;
};

typedef struct kernel_siginfo kernel_siginfo_t;

struct sigqueue {
	struct list_head list;
	kernel_siginfo_t info;
};

struct seccomp_filter {
	struct notification *notif;
	struct seccomp_filter *prev;
};

struct notification {
	struct list_head notifications;
};

enum notify_state { SECCOMP_NOTIFY_INIT, SECCOMP_NOTIFY_SENT, SECCOMP_NOTIFY_REPLIED };

struct seccomp_knotif {
	struct task_struct *task;
	enum notify_state state;
	struct list_head list;
};

/* Where a thread that awaits a page keeps which: on its kernel stack. */
struct wait_page_queue {
	struct folio *folio;
	struct wait_queue_entry wait;
};

#pragma clang attribute pop

#define SECCOMP_MODE_FILTER_NUMBER 2
#define FOUND_FILTERS 64u       /* of one thread */
#define FOUND_CALLS 1024u       /* that one supervisor has to answer */
#define FOUND_STACK_WORDS 128u  /* of a kernel stack, from where it sleeps: what waits for a page lies some 60 words up */
#define FOUND_SIGNALS 64u
#define FOUND_LIMIT_MOST (1ul << 20) /* of descriptors that are looked through */
#define RLIMIT_NOFILE_NUMBER 7
#define POINTER_BITS 3ul
#define KERNEL_HALF (1ul << 63)

/* ---- calls that a supervisor answers ---- */

struct found_filter_walk {
	u64 filter;
};

static long found_filter_step(u64 index, struct found_filter_walk *walk)
{
	struct seccomp_filter *filter = (struct seccomp_filter *)walk->filter;
	if (!filter || GET(filter, notif))
		return 1;
	walk->filter = (u64)GET(filter, prev);
	return 0;
}

struct found_call_walk {
	u64 at, end, task;
	u32 found, state;
};

static long found_call_step(u64 index, struct found_call_walk *walk)
{
	if (!walk->at || walk->at == walk->end)
		return 1;
	struct seccomp_knotif *call = (struct seccomp_knotif *)(walk->at - bpf_core_field_offset(struct seccomp_knotif, list));
	if ((u64)GET(call, task) == walk->task) {
		walk->found = 1;
		walk->state = GET(call, state);
		return 1;
	}
	walk->at = kernel_word((void *)walk->at);
	return 0;
}

/* The filter whose supervisor has this thread's call before it, 0 none; *ret_state: 1 it has taken it. */
__noinline u64 found_supervisor(u64 task_address, u32 *ret_state)
{
	if (!ret_state || !bpf_core_type_exists(struct seccomp_knotif) || !bpf_core_field_exists(((struct task_struct *)0)->seccomp.filter))
		return 0;
	struct task_struct *task = (struct task_struct *)task_address;
	if (GET(task, seccomp.mode) != SECCOMP_MODE_FILTER_NUMBER)
		return 0;
	struct found_filter_walk filters = { (u64)GET(task, seccomp.filter) };
	bpf_loop(FOUND_FILTERS, found_filter_step, &filters, 0);
	struct notification *calls = filters.filter ? GET((struct seccomp_filter *)filters.filter, notif) : NULL;
	if (!calls)
		return 0;
	u64 list = (u64)calls + bpf_core_field_offset(struct notification, notifications);
	struct found_call_walk walk = { .at = kernel_word((void *)list), .end = list, .task = task_address };
	bpf_loop(FOUND_CALLS, found_call_step, &walk, 0);
	*ret_state = walk.state;
	return walk.found ? filters.filter : 0;
}

/* ---- pages ---- */

struct found_page_walk {
	u64 at, task, inode;
};

static long found_page_step(u64 index, struct found_page_walk *walk)
{
	u64 at = walk->at;
	walk->at = at + 8;
	if (kernel_word((void *)at) != walk->task)
		return 0;
	u64 entry = at - bpf_core_field_offset(struct wait_page_queue, wait) - bpf_core_field_offset(struct wait_queue_entry, private);
	u64 folio = kernel_word((void *)(entry + bpf_core_field_offset(struct wait_page_queue, folio)));
	u64 mapping = folio & KERNEL_HALF ? (u64)GET((struct folio *)folio, mapping) : 0;
	if (!(mapping & KERNEL_HALF) || mapping & POINTER_BITS)
		return 0;
	u64 inode = (u64)GET((struct address_space *)mapping, host);
	if (!(inode & KERNEL_HALF) || (u64)GET((struct inode *)inode, i_mapping) != mapping)
		return 0;
	walk->inode = inode;
	return 1;
}

/* The inode of the file whose page the thread awaits; 0 none. */
__noinline u64 found_page(u64 task_address)
{
	struct task_struct *task = (struct task_struct *)task_address;
	if (!bpf_core_field_exists(((struct wait_page_queue *)0)->folio) || !bpf_core_field_exists(((struct folio *)0)->mapping))
		return 0;
	struct found_page_walk walk = { .at = GET(task, thread.sp), .task = task_address };
	if (!(walk.at & KERNEL_HALF))
		return 0;
	bpf_loop(FOUND_STACK_WORDS, found_page_step, &walk, 0);
	return walk.inode;
}

/* ---- signals ---- */

#define SIGNAL_BIT(n) (1ul << ((n) - 1))
#define SIGNAL_HUP 1
#define SIGNAL_INT 2
#define SIGNAL_QUIT 3
#define SIGNAL_KILL 9
#define SIGNAL_TERM 15
#define SIGNALS_THAT_END (SIGNAL_BIT(SIGNAL_HUP) | SIGNAL_BIT(SIGNAL_INT) | SIGNAL_BIT(SIGNAL_QUIT) | SIGNAL_BIT(SIGNAL_KILL) | SIGNAL_BIT(SIGNAL_TERM))

struct found_signal_walk {
	u64 at, end;
	u32 number, sender;
};

static long found_signal_step(u64 index, struct found_signal_walk *walk)
{
	if (!walk->at || walk->at == walk->end)
		return 1;
	struct sigqueue *queued = (struct sigqueue *)walk->at;
	if ((u32)GET(queued, info.si_signo) == walk->number) {
		/* above 0 it is the kernel's own */
		if (GET(queued, info.si_code) <= 0)
			walk->sender = GET(queued, info._sifields._kill._pid);
		return 1;
	}
	walk->at = kernel_word((void *)walk->at);
	return 0;
}

static __always_inline u32 found_sender(u64 pending, u32 number)
{
	u64 list = pending + bpf_core_field_offset(struct sigpending, list);
	struct found_signal_walk walk = { .at = kernel_word((void *)list), .end = list, .number = number };
	bpf_loop(FOUND_SIGNALS, found_signal_step, &walk, 0);
	return walk.sender;
}

/* The most forceful that was sent, and that the thread has not taken. */
__noinline int found_signal(u64 task_address, struct event_signal_pending *to)
{
	struct task_struct *task = (struct task_struct *)task_address;
	if (!to)
		return 0;
	u64 signal = (u64)GET(task, signal);
	u64 own = (u64)&task->pending, shared = signal ? signal + bpf_core_field_offset(struct signal_struct, shared_pending) : 0;
	u64 set_at = bpf_core_field_offset(struct sigpending, signal);
	u64 own_set = kernel_word((void *)(own + set_at)), shared_set = shared ? kernel_word((void *)(shared + set_at)) : 0;
	u64 set = (own_set | shared_set) & SIGNALS_THAT_END;
	if (!set)
		return 0;
	u32 number = set & SIGNAL_BIT(SIGNAL_KILL) ? SIGNAL_KILL : set & SIGNAL_BIT(SIGNAL_TERM) ? SIGNAL_TERM :
		     set & SIGNAL_BIT(SIGNAL_INT) ? SIGNAL_INT : set & SIGNAL_BIT(SIGNAL_QUIT) ? SIGNAL_QUIT : SIGNAL_HUP;
	to->number = number;
	to->group = (shared_set & SIGNAL_BIT(number)) != 0;
	to->blocked = (kernel_word(&task->blocked) & SIGNAL_BIT(number)) != 0;
	to->sender = found_sender(to->group ? shared : own, number);
	return 1;
}

/* ---- descriptors ---- */

struct found_bits_walk {
	u64 words;
	u32 at, limit, has_room;
};

static long found_bits_step(u64 index, struct found_bits_walk *walk)
{
	if (walk->at >= walk->limit)
		return 1;
	u32 left = walk->limit - walk->at;
	u64 used = kernel_word((void *)(walk->words + walk->at / 8));
	if (left < 64)
		used |= ~0ull << left;
	if (~used) {
		walk->has_room = 1;
		return 1;
	}
	walk->at += 64;
	return 0;
}

/* How many descriptors the process may have open, where it has so many; else 0. */
__noinline u32 found_descriptors(u64 task_address)
{
	struct task_struct *task = (struct task_struct *)task_address;
	struct signal_struct *signal = GET(task, signal);
	struct files_struct *files = GET(task, files);
	struct fdtable *table = files ? GET(files, fdt) : NULL;
	if (!signal || !table)
		return 0;
	u64 limit = GET(signal, rlim[RLIMIT_NOFILE_NUMBER].rlim_cur);
	if (!limit || limit > FOUND_LIMIT_MOST || limit > GET(table, max_fds))
		return 0;
	struct found_bits_walk walk = { .words = (u64)GET(table, open_fds), .limit = limit };
	bpf_loop(FOUND_LIMIT_MOST / 64, found_bits_step, &walk, 0);
	return walk.has_room ? 0 : limit;
}

/* ---- all of them ---- */

/* The thread's address is read from memory: what the verifier knows to be a thread is no number. */
static __always_inline void found_more(struct task_found *out, u64 address)
{
	struct event_waiting *w = &out->waiting;
	u32 state = 0;

	if (out->task.flags & TASK_FLAGS_kernel_thread || w->state == TASK_STATE_dead)
		return;
	if (w->syscall != SYSCALL_NONE && (w->state == TASK_STATE_sleeping || w->state == TASK_STATE_killable)) {
		u64 filter = found_supervisor(address, &state);
		if (filter) {
			w->wait = WAIT_KIND_supervised;
			w->object = object_of_address(OBJECT_KIND_seccomp, filter);
			w->argument = state;
			w->hint = w->hint_kind = 0;
			w->timeout_ns = w->detail = 0;
		}
	}
	if ((w->state == TASK_STATE_blocked || w->state == TASK_STATE_killable) && (w->wait == WAIT_KIND_fault || w->flags & SWITCH_FLAGS_io_wait)) {
		struct inode *inode = (struct inode *)found_page(address);
		struct super_block *super = inode ? GET(inode, i_sb) : NULL;
		if (super && !w->object)
			w->object = object_of_inode(OBJECT_KIND_file, GET(super, s_dev), GET(inode, i_ino));
		if (super && GET(super, s_magic) == MAGIC_FUSE) {
			w->wait = WAIT_KIND_fuse;
			out->page_connection = GET(super, s_dev);
		}
	}
	found_signal(address, &out->signal);
	if (out->task.pid == out->tid)
		out->descriptors = found_descriptors(address);
}

#endif
