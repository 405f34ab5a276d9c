/* Pools of threads and stages of a pipeline: the threads of each role that has a part in the
 * path, how many there were, and whether they worked or waited. A pool that works all the
 * time while others wait for it is too small; a stage that works all the time is the slow one. */
#ifndef PATH_POOLS_H
#define PATH_POOLS_H

#include "path/naming.h"

/* What the threads of the window's programs did in it, added to the fold's pools: of programs
 * that have a part in the fold, whose stretches of this part have been added. */
void pools_count(struct naming *naming, struct fold *fold, uint64_t from_ns, uint64_t to_ns);
/* All parts have been: keeps those with a part in the path, the largest first. */
void pools_finish(struct fold *fold);

#endif
