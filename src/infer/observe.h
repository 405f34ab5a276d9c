/* From a trace's events to each thread's stacks in order: what the threads of
 * interest were seen doing, handed to latency.h.
 *
 * Stacks come from whatever events carry them. A system call is recorded when
 * it ends; what happened inside it is held back until then, so that its begin
 * is known, and its end closes the kernel's frames; of the lean level's calls only
 * the end is known, and what was seen inside tells more. A switch is two sights of
 * the same stack, when the thread leaves the processor and when it is back:
 * nothing can have been called between. Nothing is inferred across a gap. */
#ifndef INFER_OBSERVE_H
#define INFER_OBSERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "infer/latency.h"
#include "trace/tables.h"
#include "trace/trace.h"

/* Events that stacks come from. */
enum observe_source {
	OBSERVE_calls = 1,    /* system calls and messages */
	OBSERVE_switches = 2,
	OBSERVE_samples = 4,
	OBSERVE_others = 8    /* wake-ups, forks, I/O, ... */
};

/* Which threads and when. Zeroed: all threads that are not the kernel's. */
struct observe_scope {
	const uint32_t *tids;        /* only these; NULL all */
	size_t tid_count;
	const uint32_t *pids;        /* only threads of these; NULL all */
	size_t pid_count;
	const char *name;            /* only threads or programs of this name; NULL all */
	const uint32_t *roots;       /* only these processes and what they started; NULL all */
	size_t root_count;
	uint64_t from_ns, to_ns;     /* window; to_ns 0: to the end */
	uint64_t before_ns;          /* read so much before the window, to know what the threads were at; 0: all */
	bool kernel_threads;
	unsigned sources;            /* OBSERVE_ bits: stacks of these events only; 0 all */
};

struct observe_counts {
	uint64_t stacks;             /* taken into account */
	uint64_t broken;             /* passed over because they were cut */
	uint64_t cut;                /* taken although they were cut */
	uint64_t missing;            /* events that could have had a user stack and had none */
	uint64_t gaps;
	uint32_t threads;            /* with at least one stack */
	uint64_t from_ns, to_ns;     /* the window that was looked at */
};

/* A thread as instances name it. */
struct observe_thread {
	uint32_t tid, pid;
	const char *name;
	uint32_t program;            /* index in contexts */
};

struct observer {
	struct latency_rules rules;          /* contexts, hooks */
	struct observe_scope scope;
	struct observe_counts counts;
	struct vec(struct observe_thread) threads;  /* index = `thread` of instances */
};

/* `rules.contexts`, `rules.hooks` and `scope` are set, the rest is zero. Hooks are
 * called for the window only. -ENODATA when the window is empty or holds no stack
 * of these threads: a sentence that says which. */
int observe_run(struct observer *observer, const struct trace *trace, const struct tables *tables, struct err *err);
void observe_done(struct observer *observer);

#endif
