/* Whether the reader of a pipe, which works now, had kept up with who writes into it until then: so it is late as it never
 * was, and no slow part of a pipeline; or keeps up since, where what was before is not known. Private to the finding of hangs. */
#ifndef DIAGNOSE_KEPT_UP_H
#define DIAGNOSE_KEPT_UP_H

#include "diagnose/hangs_rest.h"

/* The episode is a wait to write into a pipe, which the reader ended. */
bool kept_up_before(const struct finder *f, const struct episode *e);

#endif
