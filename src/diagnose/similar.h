/* Algorithm 2 of the paper, FindSimilarNode.
 *
 * Similar to a wait that went wrong are waits of the same thread, or of one that
 * plays its part (side.h), in the same trace or another, that began in the same
 * way: at the same place of the program, of the same kind, after a segment with
 * the same semantic events; but ended otherwise, or much sooner. Of events the
 * type is compared, of those that connect threads the peer, of the others their
 * content (the system call, the signal, ...). Where one segment does not tell
 * apart, the waits before it count too. */
#ifndef DIAGNOSE_SIMILAR_H
#define DIAGNOSE_SIMILAR_H

#include "base/vec.h"
#include "diagnose/side.h"

/* What is compared; all zero: the defaults. */
struct similar_metrics {
	bool any_place;           /* the place in the program may differ */
	bool same_object;         /* the very object, not only its kind */
	bool any_result;          /* also those that ended the same way, if sooner */
	bool types_only;          /* of events neither peers nor contents */
	bool all_events;          /* every semantic event of the segment must agree */
	unsigned preceding;       /* so many waits before must be alike too */
	uint64_t threshold_ns;    /* how much shorter counts as sooner; 0: half the wait */
};

struct similar {
	uint32_t thread, episode; /* in the side that was searched */
	uint32_t score;           /* higher is more alike */
	uint8_t alike;            /* per cent of the segments' events that agree */
	uint8_t preceding;        /* waits before it that agree as well, at most SIMILAR_PRECEDING */
	bool same_place;
};

#define SIMILAR_PRECEDING 3

struct similars vec(struct similar);

/* The waits of `base` (which may be `now` itself) that are similar to the
 * episode of `now`, the most alike first; `metrics` may be NULL. */
void similar_find(struct side *now, const struct episode *episode, struct side *base, const struct similar_metrics *metrics,
		  struct similars *similars);

#endif
