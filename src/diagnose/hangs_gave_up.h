/* Whether a wait was in vain: its time limit ended it, and the program then failed. */
#ifndef DIAGNOSE_HANGS_GAVE_UP_H
#define DIAGNOSE_HANGS_GAVE_UP_H

#include "diagnose/hangs_rest.h"

bool hangs_gave_up(const struct finder *f, const struct episode *e);

#endif
