/* Where two stepped runs of the same code part, and what the branch there looked at.
 *
 * In a loop that waits, the branch is the one that the good run left the loop by and the
 * other never did. Backwards from it over the instructions that were gone through: what
 * set the flags that it asks, where that came from, and by which pointers. */
#ifndef PROBE_DIVERGE_H
#define PROBE_DIVERGE_H

#include "probe/step_run.h"

#define DIVERGE_ORIGINS_MOST 4

enum diverge_kind {
	DIVERGE_memory,       /* read from memory */
	DIVERGE_result,       /* what a function returned that was not stepped through */
	DIVERGE_unknown       /* came from before what was looked at */
};

/* Where a value that the branch depends on came from. */
struct diverge_origin {
	enum diverge_kind kind;
	uint64_t at;                  /* instruction that read it, or called */
	uint32_t bytes;
	uint64_t base_address, buggy_address; /* where it lay in each run's memory, 0 not known */
	const char *spec;             /* how --watch names it in any run, NULL: by its address alone */
	bool in_any_run;              /* ... from something static, not from registers */
	const char *callee;           /* of a result */
	bool imported;                /* ... it is another file's */
};

struct diverge {
	size_t base_pass, buggy_pass; /* the branch: where the good run went the way that the other did not; where that had turned longest */
	uint64_t base_times, buggy_times; /* how often each passed it */
	uint64_t buggy_left;          /* how often the bad run went that way, too: 0 best */
	uint64_t buggy_row, buggy_row_ns; /* the longest that it did not: times in a row, and for how long */
	uint64_t condition_at;        /* instruction that set the flags, 0 not known */
	struct diverge_origin origins[DIVERGE_ORIGINS_MOST];
	size_t origin_count;
};

/* -ENODATA when the runs never part. */
int diverge_find(struct arena *arena, struct step_run *base, struct step_run *buggy, struct diverge *ret_diverge, struct err *err);

#endif
