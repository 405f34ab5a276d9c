/* Who looks again and again whether something has come over one thing, with a time limit each time, and sleeps in between or does next to nothing:
 * that is one wait, though it is many. Known by the waits alone. */
#ifndef DIAGNOSE_POLLED_ONE_H
#define DIAGNOSE_POLLED_ONE_H

#include "diagnose/scene.h"

struct polled_one {
	uint32_t wait;             /* the last look */
	uint64_t begin_ns;         /* of the first look of the row */
	uint64_t recent_ns;        /* of the last few */
	bool seen_to_begin;        /* it did something else before, and was seen to */
};

/* As the thread stands at that time; false: it does not, or has looked fewer than twice. */
bool polled_one_find(const struct scene *scene, uint32_t thread, uint64_t time_ns, struct polled_one *ret_polled);

#endif
