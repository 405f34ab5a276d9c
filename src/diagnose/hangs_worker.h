/* Who waits for what threads of its own process do, which then wait in vain themselves, as a pool's do whose work needs the pool. Private to the finding
 * of hangs. */
#ifndef DIAGNOSE_HANGS_WORKER_H
#define DIAGNOSE_HANGS_WORKER_H

#include "diagnose/hangs_rest.h"

bool hangs_worker_waits(const struct finder *f, const struct episode *e);

#endif
