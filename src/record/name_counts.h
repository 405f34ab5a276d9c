/* Which program has most of the threads that are counted: processes of one name together. */
#ifndef RECORD_NAME_COUNTS_H
#define RECORD_NAME_COUNTS_H

#include <stdint.h>

#include "trace/event.h"

#define NAME_COUNTS_MOST 64

struct name_counts {
	struct { char comm[32]; uint32_t pid, count; } names[NAME_COUNTS_MOST];
	uint32_t known;
};

/* The limit keeps whose name has most so far, by its first process. */
void name_counts_add(struct name_counts *counts, const char *comm, uint32_t pid, uint32_t threads, struct event_group_limit *limit);

#endif
