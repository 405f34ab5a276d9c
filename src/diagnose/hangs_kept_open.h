/* A pipe from what a thread started stays open though that has ended. Private to the finding of hangs. */
#ifndef DIAGNOSE_HANGS_KEPT_OPEN_H
#define DIAGNOSE_HANGS_KEPT_OPEN_H

#include "diagnose/hangs_rest.h"

/* It reads from a pipe; the process that it started last before that ended early in the wait, or before, and one which that had started kept the
 * other end open, and did not work for most of the time. */
bool hangs_kept_open(const struct finder *f, const struct episode *e);

#endif
