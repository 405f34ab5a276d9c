/* The walk of a run's path, over one scene or over a long trace part by part, from the last blocks to the first.
 *
 * Two threads have a part each, as there are processors: which waits stand where a part ends is known as soon as the part
 * behind it is laid out, and the fold of a part is joined to that of the run when those behind it are. So two parts are all
 * that is in memory, and the fold is the same however many threads there are. */
#ifndef SESSION_PATH_WALK_H
#define SESSION_PATH_WALK_H

#include "path/fold.h"
#include "path/lock_names.h"
#include "session/session.h"

struct path_walk {
	const struct session *session;
	struct fold *fold;
	struct lock_names *lock_names;
	struct arena *arena;
	uint32_t tid;             /* whose path it is */
	uint64_t from_ns, to_ns;  /* that is asked for; of the thread's life in that, where it was seen */
	uint32_t pid;
	const char *comm;         /* in the arena; NULL: it was not seen */
};

/* The session has a scene of all of it. */
void path_walk_scene(struct path_walk *walk);
/* The session has blocks. */
int path_walk_blocks(struct path_walk *walk, struct err *err);

#endif
