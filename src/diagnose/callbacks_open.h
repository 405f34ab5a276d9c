/* The callbacks that a thread is in at a moment, and what the events say that they begin with. */
#ifndef DIAGNOSE_CALLBACKS_OPEN_H
#define DIAGNOSE_CALLBACKS_OPEN_H

#include "graph/graph.h"
#include "trace/trace.h"

#define CALLBACKS_OPEN_MOST 4u /* inside of each other that are told */

/* The first segments of the callbacks that are open in the segment, innermost first. */
unsigned callbacks_open(const struct graph *graph, uint32_t segment, struct graph_segment begun[CALLBACKS_OPEN_MOST]);
/* A number among the event's fields; false where it has none of this name. */
bool event_field(const struct event *e, const char *name, size_t length, uint64_t *ret_value);

#endif
