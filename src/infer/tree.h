/* The performance-annotated calling-context tree.
 *
 * Columns beside the nodes of struct contexts: how often each context was
 * entered and how long it took, by each estimate; its bounds; its own time,
 * that is without the contexts called from it. Own time is a difference of
 * totals (counts times means): a difference of means, as the paper writes it,
 * is wrong as soon as a callee runs more or less often than its caller.
 *
 * Filled with what latency.h's hooks tell (tally.h), then completed by tree_finish. */
#ifndef INFER_TREE_H
#define INFER_TREE_H

#include "infer/latency.h"

struct tree_cost {
	/* What each instance adds to stands together: the tree outgrows caches. */
	uint64_t count;             /* instances */
	uint64_t calls;             /* estimate of the calls, merged ones taken apart */
	uint64_t conservative_ns, aggressive_ns; /* totals of the paper's estimates */
	uint64_t total_ns;          /* of the better estimate */
	uint64_t min_ns, max_ns;    /* of an instance, better estimate */
	uint64_t merged;            /* instances that may hold several calls */
	uint64_t open, open_ns;     /* instances whose begin or end was not seen, and their time */
	uint64_t off_ns, queued_ns; /* of the total: waiting; runnable but not running */
	uint64_t samples;           /* that found it running, itself or (finished) what it called */
	uint64_t rest_ns, idle_ns, helper_ns; /* of a system call's waits: see rest.h */
	/* By tree_finish: */
	uint64_t lower_ns, upper_ns; /* bounds of the total, unseen calls included */
	uint64_t own_ns;            /* total without the contexts called from it */
	uint64_t own_off_ns, own_queued_ns;
	uint64_t cpu_ns, own_cpu_ns; /* on the processor: by samples where there are enough of
				      * them, else what is left of the total */
	uint64_t own_samples;
	uint32_t first_child, next_sibling; /* children in no order */
};

/* Of an instance, what the tree adds up. */
struct tree_entry {
	uint32_t node, calls;
	uint64_t conservative_ns, aggressive_ns, estimate_ns, off_ns, queued_ns;
	uint8_t flags;              /* LATENCY_ */
};

/* Time that the bounds of totals are made of: what went on for sure in a context,
 * and what may have gone to any context below it. Apart from the costs because
 * each stack adds to it. */
struct tree_stretch {
	uint64_t sure_ns, open_ns;
};

/* So many samples of a program tell where its time on the processor went better than
 * what was inferred between stacks that it left by itself. */
#define TREE_SAMPLES 20

struct tree {
	struct contexts *contexts;
	struct vec(struct tree_cost) costs;  /* index = node */
	struct vec(struct tree_stretch) stretches; /* index = node */
	uint64_t instances;
	uint64_t merged;
};

void tree_init(struct tree *tree, struct contexts *contexts);
void tree_done(struct tree *tree);
/* There is room for nodes below this number; what is added must be. */
void tree_grow(struct tree *tree, uint32_t nodes);
void tree_add(struct tree *tree, const struct tree_entry *entry);
void tree_add_sample(struct tree *tree, uint32_t node);
void tree_add_stretch(struct tree *tree, uint32_t sure, uint64_t ns, bool idle);
/* Sums up; afterwards costs has an entry for each node of the contexts. */
void tree_finish(struct tree *tree);

#endif
