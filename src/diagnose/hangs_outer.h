/* Of several threads that hang from one cause, the one that is furthest from it comes
 * first. Private to the finding of hangs. */
#ifndef DIAGNOSE_HANGS_OUTER_H
#define DIAGNOSE_HANGS_OUTER_H

#include "diagnose/hangs.h"

/* `hangs` are ranked. */
void hangs_prefer_outer(struct diagnoser *diagnoser, struct hang *hangs, size_t count);

#endif
