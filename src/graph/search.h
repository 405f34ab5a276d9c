/* Segments by what they hold. */
#ifndef GRAPH_SEARCH_H
#define GRAPH_SEARCH_H

#include "graph/graph.h"

/* What must hold, all of it; zeroed: everything. Fill by graph_search_add or by hand. */
struct graph_search {
	const struct graph *graph;
	uint64_t from_ns, to_ns;      /* to_ns 0: to the end */
	uint32_t tid, pid;            /* 0 any */
	const char *name;             /* of the thread; NULL any */
	uint64_t object;              /* 0 any */
	const char *text;             /* NULL any */
	int event_type, kind, wait;   /* -1 any */
	uint64_t longer_ns;
};

void graph_search_init(struct graph_search *search, const struct graph *graph);
/* "thread=nginx", "at=+1.5", ...; the text must outlive the search. */
int graph_search_add(struct graph_search *search, const char *what, struct err *err);
/* At most `limit` segments by start time, in the arena. */
uint32_t *graph_search_run(struct arena *arena, const struct graph_search *search, size_t limit, size_t *ret_count);

#endif
