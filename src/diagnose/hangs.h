/* Finding hangs: stretches in which a thread did not do what it should.
 *
 * What counts: an event loop whose turn takes too long; a thread that asked for
 * something and waits for the answer while the one asked is busy, blocked,
 * stopped or silent; a loop that looks again and again for a lock; a thread kept
 * from the processor; a wait inside the kernel that nothing should take that
 * long; a process that only computes. What does not: waiting for work, sleeping
 * by design, waiting for children that are themselves looked at. */
#ifndef DIAGNOSE_HANGS_H
#define DIAGNOSE_HANGS_H

#include "diagnose/diagnosis.h"

struct judgement;

#define HANG_SERVED 4

struct hang {
	uint32_t thread;
	uint64_t start_ns, end_ns;
	uint32_t weight;          /* how sure that it is a hang, per cent; with the length its severity */
	uint32_t awaits;          /* thread that it waits for, 0 none known */
	uint32_t slices;          /* as many times it looked up meanwhile; 0 not known to have */
	uint32_t rule;            /* enum rule_id that decided */
	uint32_t meant;           /* the one by which it may be meant; RULE_NONE: it is a hang for certain */
	uint32_t served[HANG_SERVED]; /* where it waited, and where who served it did, the nearest first: the same of those that were so there; 0 none */
	bool unended;             /* it still waits, or the nearest does, or was told to end: what was to end the wait has not come */
	uint64_t least_ns;        /* of a piece of work at the edge of a part: so long it must be with its other pieces; 0 it is long enough */
	uint32_t tid, pid;        /* of the thread, for who does not have the scene's tables */
	const char *comm;
	const char *program;      /* as an actor's: NULL when the process is called like the thread */
};

struct hangs_options {
	uint32_t pid;             /* only of this process, and with less proof; 0 all */
	uint32_t root_pid;        /* only of this process and its descendants; 0 all */
	uint64_t from_ns, to_ns;  /* only those that overlap; to_ns 0: all */
	uint64_t threshold_ns;    /* 0: the usual ones */
	bool looked_up;           /* one that is known is looked up in the window: what only a question would list, and what others mean, is left alone */
	uint32_t first_tid;       /* that is looked up: a hang of this thread comes first, but for the one that the thread keeps from going on; 0 the worst */
	bool goes_before, goes_on; /* the scene is a part, with more before it or behind it: pieces of work at its edges count, however short */
};

/* A loop of waits, of which those before from_ns are not seen. */
struct hangs_cut {
	uint64_t from_ns, to_ns;
	uint32_t pid, tid;
	uint32_t site;            /* place of the wait, the same in all scenes of a trace */
	uint32_t reserved;
};

/* What was found last, for the next question; the diagnoser's. */
struct hangs_found {
	struct hang *hangs;       /* of all times, not ranked */
	size_t count;
	uint32_t pid, root_pid, version; /* of the scene */
	uint64_t threshold_ns, looked_from_ns, looked_to_ns; /* of one that was looked up */
	bool known;
};

/* Whether the question is about the thread. */
bool hangs_asks_about(const struct scene *scene, const struct hangs_options *options, uint32_t thread);
/* All of the scene as they were found, neither ranked nor bound to the window; valid
 * until the next question. */
size_t hangs_find_all(struct diagnoser *diagnoser, const struct hangs_options *options, const struct hang **ret_hangs);
/* Those that have not ended yet, and are served as others that ended and may be meant, may be so as well; and so may those that come
 * again and again as long. Of all hangs there are: what was said of fewer does not count. */
void hangs_as_others(const struct judgement *judgement, struct hang *hangs, size_t count);
/* Puts hangs, of several scenes too, in the order of their severity; `thread` and `awaits`
 * must be numbers that mean the same in all. */
void hangs_rank(const struct judgement *judgement, struct hang *hangs, size_t count);
/* How many of them, which are ranked, may not be meant: they come first. */
size_t hangs_certain(const struct hang *hangs, size_t count);
/* What an answer says of it. */
const char *hang_reason(const struct hang *hang);
/* What a piece of work is called that is looked at in several scenes, piece by piece. */
/* Whether what goes on of it in a part of the time is the same: work, and being kept from it. */
bool hang_has_pieces(const struct hang *hang);
/* Most severe first; *ret_hangs lies in the arena. */
size_t hangs_find(struct arena *arena, struct diagnoser *diagnoser, const struct hangs_options *options,
		  const struct hang **ret_hangs);

#endif
