/* Threads by number, with a word about each. A machine's numbers are small and lie
 * close together, so they are an array whose untouched pages take no memory: a long
 * trace's million threads take a few megabytes. */
#ifndef TRACE_TID_TABLE_H
#define TRACE_TID_TABLE_H

#include "base/map.h"

struct tid_table {
	uint32_t *low;      /* word + 1, 0 not there; of numbers that machines have */
	uint32_t limit;     /* numbers in `low` are below it */
	struct map high;    /* the others */
	size_t length;
};

void tid_table_done(struct tid_table *table);
/* Adds the thread where it is not there; the word is changed unless it is 0. */
void tid_table_put(struct tid_table *table, uint64_t tid, uint64_t word);
/* Walks all: start with *at = 0; false at the end. */
bool tid_table_next(const struct tid_table *table, uint64_t *at, uint32_t *ret_tid, uint32_t *ret_word);

#endif
