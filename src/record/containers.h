/* Containers that run here, found by name. */
#ifndef RECORD_CONTAINERS_H
#define RECORD_CONTAINERS_H

#include <stdint.h>

#include "base/err.h"

/* The control group of the container with this name or id, or whose id begins so (at least
 * four digits). -ENOENT with words; -EEXIST when several do. */
int containers_find(const char *name, uint64_t *ret_cgroup, struct err *err);

#endif
