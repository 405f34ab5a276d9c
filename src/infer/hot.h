/* Where a thread's time went: for a diagnosis that has found it busy.
 *
 * Ranked calling contexts of one thread in a window, and the heaviest way through
 * all of them, inferred from whatever stacks its events and the CPU samples left. */
#ifndef INFER_HOT_H
#define INFER_HOT_H

#include "base/arena.h"
#include "base/err.h"
#include "symbols/names.h"
#include "trace/tables.h"
#include "trace/trace.h"

struct hot_frame {
	const char *function;     /* name, or "+0x..." where there is none; escape when shown */
	const char *module;       /* file name; "" for system calls and unknown places */
	const char *place;        /* "program", "plug-in", "library", "C library", "kernel", "system call", "unknown" */
	uint64_t total_ns;        /* inside the call, what it called included */
	uint64_t own_ns;          /* without what it called */
	uint64_t function_ns;     /* inside the function in all of its contexts, recursion counted once; with
				   * `cpu_only` on the processor */
	uint32_t number;          /* of the function: equal for equal ones of this answer */
	bool guessed;             /* its name is */
	bool missing;             /* stands for frames that the stacks do not have */
};

struct hot_context {
	uint64_t cost_ns;         /* time that this context adds to those before it */
	uint64_t cpu_ns;          /* of it on the processor */
	double share;             /* of the window's time that the thread's stacks account for */
	uint64_t count;           /* calls of the hottest frame, as far as they can be told apart */
	const struct hot_frame *frames; /* outermost first */
	uint32_t frame_count;
	uint32_t hot;             /* the frame with the most own time (but see `heaviest`) */
	uint32_t look_at;         /* the frame to look at: the hottest, or its nearest caller outside of the
				   * C library and the kernel */
	bool internal;            /* it is the program's own */
};

struct hot {
	const struct hot_context *contexts; /* best first */
	size_t count;
	/* Down the heaviest calls, whatever the time went to in the end: its hot frame
	 * is the innermost whose function holds half of the time. */
	struct hot_context heaviest;
	uint64_t stacks, broken;  /* sights that this rests on; passed over */
	uint64_t accounted_ns;    /* time between the first and the last of them */
};

/* -ENODATA, with words, when the thread left no stack in the window. `tid` and
 * the window in the trace's own time; `cpu_only` leaves waits out. */
int hot_contexts(struct arena *arena, const struct trace *trace, const struct tables *tables, struct names *names,
		 uint32_t tid, uint64_t from_ns, uint64_t to_ns, bool cpu_only, size_t max, struct hot *ret_hot,
		 struct err *err);

#endif
