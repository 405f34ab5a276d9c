/* Who says of a process that it is stuck is right where a thread of it that seems to rest waits, among others, for somebody who does not come. */
#ifndef DIAGNOSE_STANDING_DOUBT_H
#define DIAGNOSE_STANDING_DOUBT_H

#include "diagnose/standing.h"

/* What is said of each kind. */
extern const char *const standing_reasons[];

/* Of a thread of such a process. */
void standing_doubt(struct diagnoser *diagnoser, struct standing *standing, uint64_t from_ns);
/* Whoever is asked about: it waits until something has been done once. */
void standing_doubt_once(struct diagnoser *diagnoser, struct standing *standing);

#endif
