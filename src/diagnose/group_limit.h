/* Limits of control groups (record/group_limits.h): whose they are. */
#ifndef DIAGNOSE_GROUP_LIMIT_H
#define DIAGNOSE_GROUP_LIMIT_H

#include "diagnose/scene.h"

/* The limit's group is the thread's, or above it. */
bool group_limit_is_of(const struct scene *scene, uint32_t thread, const struct group_limit *limit);
/* What goes to or from a device is limited for the thread, as a snapshot found it since then. */
bool group_limit_of_device(const struct scene *scene, uint32_t thread, uint64_t from_ns);
/* The thread sleeps, and its group is at its limit of processes, and was kept by that from starting some before: it may try again between its
 * sleeps. NULL: not known. */
const struct group_limit *group_limit_of_processes(const struct scene *scene, uint32_t thread, uint64_t from_ns);
/* The thread had started one process after the other, and sleeps again and again in that time without starting any, while its group was found at
 * its limit and was refused some. NULL: it is not so. */
const struct group_limit *group_limit_refuses(const struct scene *scene, const struct episode *episode);

#endif
