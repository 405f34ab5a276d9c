/* The finished graph beside its trace, as TRACE.graph: loaded by mapping, valid
 * only for the trace, the rules and the version it was made from. It is a cache:
 * whatever is wrong with it, the graph is built anew. */
#ifndef GRAPH_INDEX_H
#define GRAPH_INDEX_H

#include "graph/store.h"

/* 0, or a negative errno when there is no index that fits. */
int index_load(struct graph *graph, const struct rules *rules);
/* Failures are left unsaid: a graph without an index is as good. In the
 * background: by a process of its own, which outlives this one. */
void index_save(const struct graph *graph, const struct rules *rules, bool background);

#endif
