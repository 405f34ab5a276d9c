/* What a process listens to that nobody else has an end of. */
#ifndef DIAGNOSE_OWN_ENDS_H
#define DIAGNOSE_OWN_ENDS_H

#include "diagnose/ends.h"

/* Few things, each of which is awaited: a loop's many are none's in particular. */
bool own_ends_set_is_small(const struct scene *scene, uint64_t set);
/* True when all that an open wait listens to is its own process's, which has no other
 * thread: nobody but the waiting thread could end it. */
bool own_ends_only(const struct scene *scene, const struct ends *ends, const struct wait *wait);

#endif
