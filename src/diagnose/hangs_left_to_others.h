/* Who rests because others of its own do the work: a launcher behind its children, a first thread behind those that serve.
 * Private to the finding of hangs. */
#ifndef DIAGNOSE_HANGS_LEFT_TO_OTHERS_H
#define DIAGNOSE_HANGS_LEFT_TO_OTHERS_H

#include "diagnose/hangs_rest.h"

bool hangs_is_left_to_others(const struct finder *f, const struct episode *e);

#endif
