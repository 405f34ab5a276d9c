/* One thread under observation: the events of its system calls are held back
 * until the function's return is known, then handed to latency.h in order. Private to
 * observe.c; apart from it so that it can be tested without a trace. */
#ifndef INFER_OBSERVE_THREAD_H
#define INFER_OBSERVE_THREAD_H

#include "infer/latency.h"

enum sight_kind {
	SIGHT_stack,   /* a stack while it runs */
	SIGHT_out,     /* it leaves the processor, to wait */
	SIGHT_off,     /* it leaves the processor, runnable */
	SIGHT_in,      /* it is back */
	SIGHT_woken    /* it is runnable again */
};

/* Stacks as the trace numbers them. */
struct sight {
	uint64_t time;
	uint32_t user, kernel;
	uint16_t call;         /* system call, CONTEXT_NO_CALL none */
	uint8_t kind;          /* SIGHT_ */
	uint64_t sampled_ns;   /* period of the clock that chose the moment, 0 none */
};

struct observed {
	struct latency latency;
	uint32_t program;
	bool kernel_thread;    /* of all others a stack without a user part is incomplete */
	uint64_t off_since;    /* 0 on the processor, or not known */
	uint64_t woken_at;     /* since off_since; 0 not yet */
	bool waits;            /* off_since: it waits; else it is runnable */
	uint32_t off_site;     /* where it left */
	struct vec(struct sight) held;
	size_t held_done;      /* of these, handed on already */
	uint64_t stacks, cut, missing;
};

/* `hold`: the thread is inside a system call whose record is still to come. */
void observed_sight(struct observed *observed, const struct latency_rules *rules, const struct sight *sight, bool hold);
/* The record of a system call. */
void observed_call(struct observed *observed, const struct latency_rules *rules, uint64_t begin, uint64_t end,
		   uint16_t call, uint32_t user);
/* The same of one that is known by its end only: it began behind the last stack that was none of its own. */
void observed_call_end(struct observed *observed, const struct latency_rules *rules, uint64_t end, uint16_t call, uint32_t user);
/* What is held back will not be explained any more. */
void observed_flush(struct observed *observed, const struct latency_rules *rules);
/* The window begins: what lies before is forgotten but for the stacks. */
void observed_cut(struct observed *observed, uint64_t time);
/* As latency_close, accounting for the time off the processor first. */
void observed_close(struct observed *observed, const struct latency_rules *rules, uint64_t time, bool ended);
void observed_done(struct observed *observed);

#endif
