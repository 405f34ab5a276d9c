/* Algorithm 2 (FindSimilarNode) and Algorithm 3 (AssistedGraphDiff).
 *
 * Similar to a wait that went wrong are waits of the same thread, or of its
 * counterpart in another trace, that began in the same way: at the same place,
 * of the same kind, on the same kind of object, after the same wake-ups and
 * messages; but ended otherwise, or much sooner. From how such a one was ended
 * the path leads back to the threads that did their part then; one of them did
 * not do it this time. */
#ifndef DIAGNOSE_SIMILAR_H
#define DIAGNOSE_SIMILAR_H

#include "base/vec.h"
#include "diagnose/walk.h"

/* What must agree; all zero: the defaults. */
struct similar_metrics {
	bool any_place;           /* the place in the program may differ (the other trace has other stack numbers) */
	bool same_object;         /* the very object, not only its kind */
	bool same_result;         /* also those that ended the same way, but sooner */
	unsigned preceding;       /* how many episodes before must be alike too */
	uint64_t threshold_ns;    /* how much shorter counts as sooner; 0: half the wait */
};

struct similar {
	uint32_t episode;         /* in the scene that was searched */
	uint32_t score;           /* higher is more alike */
};

struct similars vec(struct similar);

/* `base` is where to search (the scene itself, or another), `base_thread` the
 * thread or its counterpart. Best first. */
void similar_find(const struct scene *scene, const struct episode *episode, const struct scene *base,
		  uint32_t base_thread, const struct similar_metrics *metrics, struct similars *similars);
/* The thread of another trace that plays this thread's part: same program, name
 * and creation; 0 when there is none. */
uint32_t similar_counterpart(const struct scene *scene, uint32_t thread, const struct scene *base);

/* One thread on the way back from how the baseline's wait was ended. */
struct path_node {
	uint32_t thread;
	uint64_t time;            /* when it did its part */
	uint64_t evidence;        /* the wake-up that handed on */
};

#define SIMILAR_MAX_PATH 16

/* Slices back from the end of an episode over the wake-ups that led to it;
 * nearest first. Returns the number of threads. */
unsigned similar_slice(const struct scene *scene, const struct episode *episode, struct path_node path[SIMILAR_MAX_PATH]);

#endif
