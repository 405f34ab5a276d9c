/* The threads there are, and what each waits on at this moment: by a BPF
 * iterator, which no other process can make wait. */
#ifndef RECORD_TASKS_H
#define RECORD_TASKS_H

#include "trace/event.h"

/* One thread, as the iterator hands it over. */
struct task_found {
	struct event_task task;
	struct event_waiting waiting;
	u64 arguments[4];       /* of its system call, for what must be read from its memory */
	u32 tid;
	u32 reserved;
	char comm[16];
};

/* What the iterator shall hand over. */
struct tasks_want {
	u64 waiting_from_ns;    /* only threads whose wait began from here ... */
	u64 waiting_to_ns;      /* ... to here, in a wait that others could end; 0: all threads */
};

#ifndef __bpf__

#include <stddef.h>

#include "base/err.h"

struct programs;
struct tasks;

/* -ENOTSUP when the kernel has no such iterator. */
int tasks_open(const struct programs *programs, struct tasks **ret_tasks, struct err *err);
void tasks_close(struct tasks *tasks);

/* Finds threads; valid until the next call. One thread at a time. */
int tasks_find(struct tasks *tasks, const struct tasks_want *want, const struct task_found **ret_found,
	       size_t *ret_count, struct err *err);

#endif
#endif
