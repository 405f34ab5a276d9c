/* In which container, pod and unit something runs, by the path of its control group. */
#ifndef TRACE_CONTAINER_H
#define TRACE_CONTAINER_H

#include <stdbool.h>

#include "base/buf.h"

#define CONTAINER_NAME_BYTES 128

struct container {
	const char *manager;                  /* of the container: "docker"; "" none */
	char container[CONTAINER_NAME_BYTES]; /* its id or name; "" none */
	char pod[CONTAINER_NAME_BYTES];       /* its uid, with dashes; "" none */
	char unit[CONTAINER_NAME_BYTES];      /* "nginx.service"; "" none */
};

/* `cgroups`: a path, or lines of /proc/PID/cgroup. False when it tells of none. */
bool container_of(const char *cgroups, struct container *ret_container);
/* "docker container 3f2ab41c9d00 of pod ..., unit ...". */
void container_describe(const struct container *container, struct buf *buf);

#endif
