/* The finished graph beside its trace, as TRACE.graph: loaded by mapping, valid
 * only for the trace, the rules and the version it was made from. It is a cache:
 * whatever is wrong with it, the graph is built anew. */
#ifndef GRAPH_INDEX_H
#define GRAPH_INDEX_H

#include "graph/store.h"

/* 0, or a negative errno when there is no index that fits. */
int index_load(struct graph *graph, const struct rules *rules);
/* Of the graph as it was built, whatever corrections lie over it. Failures are left unsaid: a graph without an index is as good. In the
 * background: by a process of its own, which outlives this one. */
void index_save(struct graph *graph, bool background);

#endif
