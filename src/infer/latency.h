/* Latencies of calls from the stacks of one thread: Algorithm 2 of IntroPerf.
 *
 * A thread's stacks are handed in by time. A call is taken to go on from one
 * stack to the next as long as all frames below it stand at the same addresses
 * and its own function is the same: a caller that stands elsewhere has made
 * another call, even of the same function. (The paper asks for equal functions
 * only; `by_function` does as it says.)
 *
 * Of each call (instance) come out
 * - the paper's conservative estimate, first to last sighting, and aggressive
 *   one, first sighting to the first stack without it;
 * - bounds: the call began no earlier than the last stack without it before the
 *   first sighting and ended no later than the first stack without it behind
 *   the last one. As long as it was one call, it took no less than the
 *   conservative estimate and no more than the bounds' span;
 * - a better estimate: the time between two stacks is shared, in the order in which
 *   it must have passed, by the calls that ended, the one that went on and those
 *   that began, each by what its function was found to take by itself (pace.h);
 * - whether several calls may have merged into it, and how many it probably was.
 *
 * Work per stack is in the frames that changed, found by walking up from both
 * sites to where they meet; nothing is done per frame that stays. */
#ifndef INFER_LATENCY_H
#define INFER_LATENCY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "infer/contexts.h"
#include "infer/pace.h"

enum latency_flags {
	LATENCY_open_begin = 1,  /* was there when the thread was first seen */
	LATENCY_open_end = 2,    /* was there when the thread was last seen */
	LATENCY_merged = 4,      /* several calls may have merged */
	LATENCY_exact = 8,       /* begin and end were both observed */
	LATENCY_until_end = 16   /* was still there when its thread or the trace ended */
};

struct latency_instance {
	uint32_t node;           /* calling context */
	uint32_t thread;         /* number that the caller gave */
	uint64_t first, last;    /* sightings; last - first is the conservative estimate */
	uint64_t before;         /* the call began at or after this */
	uint64_t after;          /* the call ended at or before this */
	uint64_t begin, end;     /* better estimate */
	uint64_t off_ns;         /* off the processor between first and last, waiting */
	uint64_t queued_ns;      /* off the processor between first and last, runnable */
	uint32_t calls;          /* estimate of how many calls these were */
	uint32_t doubts;         /* times at which another call may have taken its place */
	uint8_t flags;           /* LATENCY_ */
};

static inline uint64_t latency_conservative(const struct latency_instance *i)
{
	return i->last - i->first;
}

static inline uint64_t latency_aggressive(const struct latency_instance *i)
{
	return i->after - i->first;
}

struct latency_hooks {
	void *data;
	/* An instance is complete. The thread's calls come innermost first. */
	void (*instance)(void *data, const struct latency_instance *instance);
	/* Time between two stacks of a thread. All calls down to node `sure` went on
	 * through it; of what is below `sure`, anything may have run. `sure` is the
	 * program's node when nothing is known. `idle`: off the processor, nothing ran. May be NULL. */
	void (*stretch)(void *data, uint32_t sure, uint64_t from_ns, uint64_t to_ns, bool idle);
	/* A thread was looked at for so long. May be NULL. */
	void (*life)(void *data, uint32_t thread, uint64_t ns, uint64_t end_ns);
	/* Nothing more will come of a thread. Called by who hands in the stacks; may be NULL. */
	void (*gone)(void *data, uint32_t thread);
	/* A clock found this context running. May be NULL. */
	void (*sample)(void *data, uint32_t node);
};

struct latency_frame {
	uint32_t node, function;
	uint64_t first, before, begin;
	uint64_t off_at_first, queued_at_first;
	uint32_t calls;
	int32_t doubts;          /* carried down when the frame above goes: see latency.c */
	uint8_t flags;
};

/* One thread. Zeroed but for `thread` and `start`. */
struct latency {
	uint32_t thread;
	uint64_t start;          /* creation, or begin of the window; 0: before anything was seen of it */
	bool started_before;     /* `start` is the window's: the calls may have begun before it */
	uint64_t since;          /* time of the first stack, 0 before it */
	uint64_t last;           /* time of the last stack */
	uint32_t site;           /* of the last stack, 0 before the first */
	bool left_call;          /* the system call that the last stack was in has ended */
	uint64_t off_ns, queued_ns; /* so far; the caller adds */
	uint64_t off_seen, queued_seen; /* of these, up to the last stack */
	struct vec(struct latency_frame) frames;  /* outermost first: depth 1 at index 0 */
	uint64_t broken;         /* stacks passed over because they were cut */
	uint32_t cut_run;        /* cut stacks in a row */
};

struct latency_rules {
	struct contexts *contexts;
	struct latency_hooks hooks;
	struct pace *pace;       /* learned from the stacks as they come; NULL: all functions alike */
	bool by_function;        /* continuity as the paper has it */
};

/* The stack at a time that is not before the last one. `same`: how deep (0: not
 * at all) the calls are known to be the last stack's: the thread was off the
 * processor or inside one system call. `exact`: frames deeper than this that are
 * new began at this very moment (UINT32_MAX: none). `sampled_ns`: the period of the
 * clock that chose the moment, 0 when the program did. */
void latency_see(struct latency *latency, const struct latency_rules *rules, uint64_t time, uint32_t site,
		 uint32_t same, uint32_t exact, uint64_t sampled_ns);
/* All frames deeper than `depth` have returned at this very moment. */
void latency_return(struct latency *latency, const struct latency_rules *rules, uint64_t time, uint32_t depth);
/* The thread is seen no more: it has ended (`ended`), or the trace has. All is
 * closed, and a next stack begins anew. */
void latency_close(struct latency *latency, const struct latency_rules *rules, uint64_t time, bool ended);
/* Looks at what follows only: what is open counts from this time on. */
void latency_cut(struct latency *latency, uint64_t time);
void latency_done(struct latency *latency);

#endif
