/* Algorithm 3 of IntroPerf: which calling contexts cost the most.
 *
 * A path's cost is the sum of its frames' weights: their own times, or what they
 * took longer than in another run. Many paths share the costly part, so the
 * list would repeat itself; after the first, paths are taken by what they add to
 * those before them (`new_ns`). The costliest path is the same either way. */
#ifndef INFER_RANK_H
#define INFER_RANK_H

#include "base/arena.h"
#include "infer/tree.h"

/* Which part of the time weighs. Being runnable without a processor is nobody's own
 * time: it is in the totals of RANK_all only. */
enum rank_time { RANK_all, RANK_cpu, RANK_wait };

struct rank_path {
	uint32_t node;        /* innermost frame */
	uint32_t head;        /* the outermost frame that no path before it has */
	uint32_t hot;         /* the frame that weighs most */
	int64_t cost_ns;      /* of all frames */
	int64_t new_ns;       /* of the frames from `head` inwards */
};

/* The best `max` paths with new_ns above 0, best first; `weights` is by node. */
struct rank_path *rank_paths(struct arena *arena, const struct tree *tree, const int64_t *weights, size_t max,
			     size_t *ret_count);

struct rank_function {
	uint32_t function;
	uint64_t count;       /* instances */
	int64_t own_ns;       /* sum of weights */
	uint64_t total_ns;    /* inclusive, of its outermost calls only */
	uint32_t node;        /* its weightiest context */
};

/* All functions of the tree that were seen, by own_ns (or total_ns). */
struct rank_function *rank_functions(struct arena *arena, const struct tree *tree, const int64_t *weights,
				     enum rank_time time, bool by_total, size_t *ret_count);

/* Own times by node. */
int64_t *rank_own(struct arena *arena, const struct tree *tree, enum rank_time time);
/* The node's total, or that part of it. */
uint64_t rank_total(const struct tree_cost *cost, enum rank_time time);

#endif
