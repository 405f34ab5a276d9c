/* Limits of the control groups of threads that are blocked: of memory that is used up, and of what may go to or from a
 * device in a second; and of those that sleep, of processes: who can start none tries again later. Such a limit may belong to a group
 * above the thread's own. */
#ifndef RECORD_GROUP_LIMITS_H
#define RECORD_GROUP_LIMITS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "trace/event.h"

struct group_limits_sink {
	/* `pid`: whose the limit is; 0 the group's. */
	int (*limit)(struct group_limits_sink *sink, uint32_t pid, const struct event_group_limit *limit, const char *path, struct err *err);
};

/* Those of the process's groups; `processes`: of processes, else the others. `told`: the groups that were told, so that each is once; the
 * caller's, empty at first. Of processes its user's limit, too. A process that has gone has none. */
int group_limits_read(uint32_t pid, bool processes, struct buf *told, struct group_limits_sink *sink, struct err *err);

#endif
