/* What a hit of each probe that a person asked for costs, and where near by it would cost less. */
#ifndef RECORD_PROBE_NEAR_H
#define RECORD_PROBE_NEAR_H

#include "record/probe_points.h"

/* Sets `slow` and `near` of functions and places in them. `take`: the probes go to those places. */
void probe_near_find(struct arena *arena, const struct probe_points *points, bool take);

#endif
