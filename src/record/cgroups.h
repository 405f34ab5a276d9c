/* Control groups of the processor controller with their quotas, from the
 * cgroup file system, version 1 or 2. */
#ifndef RECORD_CGROUPS_H
#define RECORD_CGROUPS_H

#include "base/err.h"
#include "trace/event.h"

struct cgroups_sink {
	int (*cgroup)(struct cgroups_sink *sink, const struct event_cgroup *cgroup, const char *path, struct err *err);
};

/* Hands over the root's children and all below; only the first few thousand. */
int cgroups_read(struct cgroups_sink *sink, struct err *err);

/* Number of the control group at a path ("/user.slice", or a directory of the
 * file system); -ENOENT. */
int cgroups_find(const char *path, uint64_t *ret_id, struct err *err);

#endif
