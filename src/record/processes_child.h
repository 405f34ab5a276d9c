/* The child that reads processes, and what it says to its parent through a
 * pipe: a head, then as many bytes. */
#ifndef RECORD_PROCESSES_CHILD_H
#define RECORD_PROCESSES_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/processes.h"

#define PROCESSES_MESSAGE_MOST (PROCESSES_TEXT_MOST + 2048u)

enum processes_message_type {
	PROCESSES_THREAD = 1,  /* struct wait_found, texts; the thread is done */
	PROCESSES_MAPPING      /* struct mapping_found, path, build-id */
};

struct processes_message {
	uint32_t type;
	uint32_t bytes;
	uint64_t index;        /* of the thread */
};

void processes_child(const struct task_found *found, size_t from, size_t count, bool mappings, int fd);

/* One line of /proc/PID/maps; false when it is none of a mapping with code.
 * mapping->path points into the line, which is cut behind it. */
bool processes_parse_mapping(char *line, struct mapping_found *mapping);

#endif
