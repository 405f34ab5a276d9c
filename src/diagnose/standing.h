/* What stands still at the end of a trace, as one moment and a short look tell: the
 * threads that have been in one wait since before the look, or did one and the same
 * thing all through it.
 *
 * Hangs as hangs.h finds them are told by what happened before; here next to nothing
 * is known of that. So what is stuck is told by what it waits for: by who holds that
 * and by who should do something about it. A thread that waits for work, for a
 * person or for a time of its own choice is at rest. */
#ifndef DIAGNOSE_STANDING_H
#define DIAGNOSE_STANDING_H

#include "diagnose/hangs.h"

enum standing_kind {
	STANDING_MOVES,     /* it did this and that in the look, or is too young */
	STANDING_RESTS,
	STANDING_WAITS,     /* for others */
	STANDING_LOCKED,    /* for a lock whose owner is known, or is known to be gone */
	STANDING_CLOSED,    /* for its own process, in which all wait so: a hang, or a pool that nobody gives work */
	STANDING_KERNEL,    /* inside the kernel, where no wait should be long */
	STANDING_STOPPED,   /* by a signal, a tracer, the freezer */
	STANDING_LOOKS,     /* sleeps and looks again, all the time */
	STANDING_RUNS,      /* computes, or spins */
	STANDING_STARVED,   /* could run, and is not let */
};

struct standing {
	uint32_t thread;
	enum standing_kind kind;
	uint64_t since_ns;        /* in that state since then, at least; before the trace where the snapshot tells so */
	bool exactly;             /* since then, and not longer */
	uint64_t early_ns;        /* at the earliest since then: where slices of a wait do not tell its begin */
	uint32_t polls;           /* of one that looks again and again, with a limit, whether something has come over one thing: the last of those waits */
	uint64_t last_ns;         /* of one that comes and goes: only its last wait counts, which began then; 0: all of the look does */
	bool asked;               /* asked about: its process asked over the connection that it waits for, or over one of few, and has got nothing */
	bool owed;                /* another should have ended it by now, as far as is known (owed.h), or nobody can */
	bool dead;                /* nobody can end it: so it is owed */
	bool by_child;            /* it waits for a program by which a script sleeps */
	bool maybe;               /* not asked about, and neither beyond doubt nor owed: a circle of waits would tell that it is stuck */
	bool asks;                /* not asked about, and it may have asked another for what it waits for */
	bool turned;              /* as its wait began, who is at the other end turned to what it is at still, or went back to rest */
	bool inside;              /* not asked about, and it waits in the midst of its work, and not in its loop: it does not listen to its user */
	bool awaited;             /* not asked about, and a command for whose end its parent waits */
	bool lost;                /* not asked about, and nobody who lives has the memory mapped in which the word lies that it waits for */
	bool blocked;             /* in a sleep inside the kernel from which no signal wakes it, but to end it */
	bool answered;            /* asked about: what it looks for is answered each time, and only may not be what it waits for: a guess */
	const char *reason;       /* for STANDING_RESTS: why that is no hang */
};

/* What the thread does at the trace's end; what it did before `from_ns` only says since when. */
void standing_of(struct diagnoser *diagnoser, uint32_t thread, uint64_t from_ns, struct standing *ret_standing);

struct standing_options {
	const uint32_t *pids;     /* of these processes, each of which is said to be stuck; none: of all */
	size_t pid_count;
	uint64_t threshold_ns;    /* without pids: what has stood still for so long */
	uint64_t from_ns;         /* the look begins here; 0: the trace is the look */
	bool uncertain;           /* without pids: none of those, but young programs that may have asked another (`asks`), and any that wait in
				     the midst of their work (`inside`) */
};

/* Of each process asked about the thread that tells most, at rest or not; without
 * any, the threads whose standing is beyond doubt a hang, and those to which another owes the end of their wait, longest first. Lies in
 * the arena. */
size_t standing_find(struct arena *arena, struct diagnoser *diagnoser, const struct standing_options *options,
		     const struct standing **ret_standing);

/* The wait by which it is judged; NULL it has none. */
const struct wait *standing_wait(const struct scene *scene, const struct standing *standing);

/* A thread that sleeps for a short while at a time, or comes and goes: what it does in between may tell what it looks for. For how long to
 * look, to see it twice where that is soon; 0: that would tell nothing. */
uint64_t standing_look_for(const struct scene *scene, const struct standing *standing, uint64_t from_ns);

#endif
