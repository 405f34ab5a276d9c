/* What switches tell of waits and the graph does not keep, found by the switch's number.
 * Private to the scene's files. */
#ifndef DIAGNOSE_WAIT_DETAILS_H
#define DIAGNOSE_WAIT_DETAILS_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct wait_detail {
	uint64_t detail;
	uint32_t event;
	uint32_t ustack, kstack;
	int32_t argument;
};

struct wait_details {
	struct vec(struct wait_detail) items; /* in the order of events */
	size_t apart;             /* the first so many are of long before, far from each other */
	uint32_t *first;          /* of each 2^shift events behind those the first of theirs, or behind them */
	unsigned shift;
};

void wait_details_free(struct wait_details *details);
/* All items are there, in the order of their events. */
void wait_details_index(struct wait_details *details);
/* It is looked for soon: nothing waits for memory then. */
void wait_details_prefetch(const struct wait_details *details, uint64_t event);
/* NULL when nothing was told by that event. */
const struct wait_detail *wait_details_find(const struct wait_details *details, uint64_t event);

#endif
