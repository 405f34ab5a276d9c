/* What took longer than in another run: the differential part of Algorithm 3.
 *
 * Contexts of two profiles are equal when their functions are, from the program
 * inwards; a frame that only one of them has (a function inlined in the other
 * build) may be passed over. A context that only the buggy run has, has all its
 * time to answer for.
 *
 * Runs are of unequal length and do unequal amounts of work. They are compared
 * per piece of work: a context's time in the base is scaled by how often its
 * *unit* was called in the two runs. The unit is the outermost calling context
 * on the way that both runs completed at least once. For a command that ran from
 * start to exit this is its outermost function, so whole runs are compared; in
 * a server or a window's program it is the handler that the endless loop calls,
 * so requests or inputs are; an idle loop's waits are their own unit and weigh
 * nothing unless each of them grew longer. Not even then where the base's
 * threads rest or a thread is idle (rest.h).
 * Where neither run completed anything,
 * lengths are what is left to scale by. */
#ifndef INFER_COMPARE_H
#define INFER_COMPARE_H

#include "infer/profile.h"
#include "infer/rank.h"

struct comparison {
	struct profile *base, *buggy;     /* not owned */
	uint32_t *base_node;              /* by buggy node; 0: only in the buggy run */
	uint32_t *unit;                   /* by buggy node; 0: scaled by length */
	double *factor;                   /* by buggy node: what its time in the base is multiplied by */
	int64_t *expected_ns;             /* by buggy node: own time that the base's pace would have taken */
	int64_t *excess_ns;               /* own time beyond that: the weights to rank by */
	uint32_t new_contexts;            /* nodes that only the buggy run has */
	uint32_t common_programs;
};

/* The profiles share their struct functions. -ENODATA when they have no program
 * in common. Results live in the arena. */
int compare_profiles(struct arena *arena, struct profile *base, struct profile *buggy, enum rank_time time,
		     struct comparison *ret_comparison, struct err *err);

#endif
