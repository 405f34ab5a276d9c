/* The threads there are, and what each waits on at this moment: by a BPF
 * iterator, which no other process can make wait. */
#ifndef RECORD_TASKS_H
#define RECORD_TASKS_H

#include "trace/event.h"

/* One thread, as the iterator hands it over. */
struct task_found {
	struct event_task task;
	struct event_waiting waiting;
	u64 arguments[5];       /* of its system call, for what must be read from its memory */
	u64 switches;           /* from the processor, so far; told where stacks are */
	u32 tid;
	u32 stacks;             /* enum task_stacks: how the wait's stacks are given */
	char comm[16];
	u32 page_connection;    /* of the file system in user space of whose file it awaits a page; 0 none */
	u32 descriptors;        /* of the process's first thread: as many as it may have open, where it has; else 0 */
	struct event_signal_pending signal; /* number 0: none is */
};

enum task_stacks {
	TASK_STACKS_NONE,
	TASK_STACKS_NEW,        /* by the unwinder's numbers */
	TASK_STACKS_SEEN,       /* by the trace's: it has not run since they were taken */
};

/* What was seen of a thread that sleeps, so that it is not walked again: an
 * element of the map `tasks_seen`, at the thread's number. Of two threads that
 * share a place the latter has it. */
#define TASKS_SEEN 8192u /* a power of two */
struct task_seen {
	u64 start_ns, switches;
	u32 tid;
	u32 ustack, kstack;     /* nodes of the trace */
	u32 reserved;
};

/* What the iterator is to hand over. */
struct tasks_want {
	u64 waiting_from_ns;    /* only threads whose wait began from here ... */
	u64 waiting_to_ns;      /* ... to here, in a wait that others could end; 0: all threads */
	u32 stacks;             /* those of threads that do not run, too */
	u32 reserved;
};

#ifndef __bpf__

#include <stddef.h>

#include "base/err.h"

struct programs;
struct stacks;
struct tasks;

/* `stacks` may be NULL: none can be had. -ENOTSUP when the kernel has no such iterator. */
int tasks_open(const struct programs *programs, struct stacks *stacks, struct tasks **ret_tasks, struct err *err);
void tasks_close(struct tasks *tasks);

/* Finds threads; valid until the next call. One thread at a time. */
int tasks_find(struct tasks *tasks, const struct tasks_want *want, const struct task_found **ret_found,
	       size_t *ret_count, struct err *err);
/* The list is needed no more: one of very many threads is given back. */
void tasks_release(struct tasks *tasks);
/* More than so many are not looked at. */
#define TASKS_MOST 131072u

#endif
#endif
