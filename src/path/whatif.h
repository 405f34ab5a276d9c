/* What would help: how long a run would take if something of it were otherwise, by replay
 * (replay.h), with bounds.
 *
 * The estimate is the run's own time, changed in the proportion in which the replay
 * changes. The bounds are what different readings of the trace give: processors handed out
 * anew or as they were, functions found by samples a little larger or smaller, and how far
 * the unchanged replay was off. */
#ifndef PATH_WHATIF_H
#define PATH_WHATIF_H

#include "path/replay.h"

enum change_kind {
	CHANGE_HALF,          /* the row's work takes half as long */
	CHANGE_NOTHING,       /* ... takes no time */
	CHANGE_TWO_HOLDERS,   /* two may have the row's lock */
	CHANGE_ONE_MORE,      /* one more thread shares the work of the row's role */
	CHANGE_PROCESSOR      /* there is one more processor */
};

struct change {
	enum change_kind kind;
	uint32_t row;             /* of the fold */
	bool told;                /* replay could tell */
	uint32_t threads;         /* of the role, without the one more */
	uint64_t ns, low_ns, high_ns; /* of the whole run */
};

struct changes vec(struct change);

/* Changes of the first rows. The fold is finished; the window is one of the naming's scene. */
void whatif_find(struct naming *naming, const struct fold *fold, const struct script_question *question, unsigned processors,
		 struct changes *changes);

#endif
