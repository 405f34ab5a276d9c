/* What only a question about a process named, but for which something speaks: it is listed as what may be meant. Private to the
 * finding of hangs. */
#ifndef DIAGNOSE_HANGS_ASKED_H
#define DIAGNOSE_HANGS_ASKED_H

#include "diagnose/hangs_rest.h"

/* Offers such stretches of the finder's thread, which stands for its process. */
void hangs_as_if_asked(struct finder *f, void (*offer)(struct finder *f, enum rule_id rule, uint64_t from_ns, uint64_t to_ns));

#endif
