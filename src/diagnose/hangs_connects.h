/* Who is to answer lets a time of its own pass and then connects to another, as a relay does whose server is not there yet. Private to hangs_meant.c. */
#ifndef DIAGNOSE_HANGS_CONNECTS_H
#define DIAGNOSE_HANGS_CONNECTS_H

#include "diagnose/hangs_way.h"

/* One on the way, of another process than who hangs, waited for nothing but its own time for most of that, and then began a connection. */
bool hangs_connects_later(struct meaning *m);

#endif
