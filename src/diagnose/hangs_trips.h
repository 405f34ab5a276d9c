/* Round trips: what a thread asked of another process, and when that answered.
 *
 * A program that goes on with other things while it waits for an answer (a clock ticks, a
 * window is drawn) has no long wait. But it is known from the trips before how soon the
 * other one answers: one that takes many times as long, and a second at least, is late.
 * Private to the finding of hangs. */
#ifndef DIAGNOSE_HANGS_TRIPS_H
#define DIAGNOSE_HANGS_TRIPS_H

#include "diagnose/hangs_rest.h"

/* Calls `found` for each late trip of the thread, from when it asked to when it was
 * answered; one that is open at the end of the trace has no answer. */
typedef void hangs_late_fn(struct finder *f, enum rule_id rule, uint64_t from, uint64_t to);
void hangs_late_trips(const struct finder *f, hangs_late_fn *found, struct finder *data);

#endif
