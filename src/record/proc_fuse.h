/* Which user-space file system a thread waits for, over /proc: the kernel tells that it waits
 * for a server, its mounts and the path in its call which. Nothing is asked of the file system. */
#ifndef RECORD_PROC_FUSE_H
#define RECORD_PROC_FUSE_H

#include "record/processes.h"

/* The connection, 0: it waits for none, or which is not known. */
uint32_t proc_fuse_asked(const struct task_found *found, const struct wait_found *wait);

#endif
