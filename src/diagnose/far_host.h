/* What a wait is for that another machine should have sent or taken. */
#ifndef DIAGNOSE_FAR_HOST_H
#define DIAGNOSE_FAR_HOST_H

#include "diagnose/describe.h"

/* "203.0.113.53:53 (UDP), from where nothing came": the address at the other end of what the wait is for, where that
 * is no address of this machine's and no process in the trace has that end; NULL elsewhere. */
const char *far_host_silent(const struct describer *d, const struct wait *wait);

/* Where nobody answered to the connecting that the wait is for, though one of this machine listens there, or to one that was accepted and
 * closed there: what lies between; else NULL. */
const char *far_host_kept_out(const struct describer *d, const struct wait *wait);

#endif
