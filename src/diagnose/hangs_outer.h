/* Of several threads that hang from one cause, the one that is furthest from it comes
 * first. Private to the finding of hangs. */
#ifndef DIAGNOSE_HANGS_OUTER_H
#define DIAGNOSE_HANGS_OUTER_H

#include "diagnose/hangs.h"

/* `hangs` are ranked, and have room for one more: for who set the first to work and waits for it, if nothing else tells of that one.
 * Returns how many there are then. */
size_t hangs_prefer_outer(struct diagnoser *diagnoser, const struct hangs_options *options, struct hang *hangs, size_t count);
/* Of ranked hangs the worst one of which this process is the victim, as above; false none. */
bool hangs_outer_of(struct diagnoser *diagnoser, const struct hangs_options *options, const struct hang *hangs, size_t count, uint32_t pid,
		    struct hang *ret_hang);

#endif
