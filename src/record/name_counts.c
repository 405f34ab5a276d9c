/* See name_counts.h. */
#include "record/name_counts.h"

#include <stdio.h>
#include <string.h>

void name_counts_add(struct name_counts *counts, const char *comm, uint32_t pid, uint32_t threads, struct event_group_limit *limit)
{
	uint32_t at = 0;

	while (at < counts->known && strcmp(counts->names[at].comm, comm) != 0)
		at++;
	if (at == NAME_COUNTS_MOST)
		return;
	if (at == counts->known) {
		snprintf(counts->names[at].comm, sizeof(counts->names[at].comm), "%s", comm);
		counts->names[at].pid = pid;
		counts->names[at].count = 0;
		counts->known++;
	}
	counts->names[at].count += threads;
	if (counts->names[at].count > limit->most_bytes) {
		limit->most_bytes = counts->names[at].count;
		limit->most = counts->names[at].pid;
	}
}
