/* A process's mappings with code, or those that others share, from /proc/PID/maps. */
#ifndef RECORD_PROC_MAPS_H
#define RECORD_PROC_MAPS_H

#include "record/modules.h"

typedef void proc_maps_found(void *data, const struct module_source *source);

/* Calls `found` for each, in the order of addresses; -errno when the process
 * is gone or may not be looked at. */
int proc_maps_read(pid_t pid, proc_maps_found *found, void *data);
/* As that, each whose memory others see change, with code or not. */
int proc_maps_read_shared(pid_t pid, proc_maps_found *found, void *data);

#endif
