/* Where threads of a team wait for each other, as at a barrier, and spin there: no wait of the trace
 * tells that, but a pack's callbacks do. */
#ifndef DIAGNOSE_MEETING_H
#define DIAGNOSE_MEETING_H

#include "diagnose/scene.h"

struct meeting_wait {
	uint64_t start_ns, end_ns; /* of what lies in the window that was asked about */
	uint32_t segment;          /* of the thread, in the graph */
};

/* The longest time in the window in which the thread waited so for others and did not sleep; false: none. */
bool meeting_spun(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, struct meeting_wait *ret_wait);
/* Who came last, or one that has not come; 0 nobody is known. *ret_event: with which it came, or
 * with which that began in which it was to come. */
uint32_t meeting_late(const struct scene *scene, uint32_t thread, const struct meeting_wait *wait, bool *ret_came, uint64_t *ret_event);

#endif
