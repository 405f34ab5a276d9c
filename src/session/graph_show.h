/* Parts of the event graph as text and JSON, for the commands that show them. */
#ifndef SESSION_GRAPH_SHOW_H
#define SESSION_GRAPH_SHOW_H

#include "base/buf.h"
#include "base/json.h"
#include "graph/graph.h"

/* "nginx[1234]", "timer of nginx[1234]", "idle". */
void graph_show_thread(struct buf *buf, const struct graph *graph, uint32_t thread);
/* "1.204 ms", "350 ns". */
void graph_show_duration(struct buf *buf, uint64_t ns);
/* One line each, with its newline. */
void graph_show_segment(struct buf *buf, const struct graph *graph, uint32_t segment);
void graph_show_wait(struct buf *buf, const struct graph *graph, const struct graph_wait *wait);
void graph_show_edge(struct buf *buf, const struct graph *graph, const struct graph_edge *edge, bool into);
/* The segment, its waits, and the edges out of it (and into it). */
void graph_show_around(struct buf *buf, const struct graph *graph, uint32_t segment, bool both, unsigned choice);
void graph_show_stats(struct buf *buf, const struct graph *graph);

/* Messages that lay unread for long, longest first; at most `limit`. */
void graph_show_unread(struct buf *buf, const struct graph *graph, size_t limit);
/* The graph's critique of itself (graph/check.h). */
void graph_check_show(struct buf *buf, const struct graph *graph, size_t limit, bool as_json);

void graph_json_stats(struct json *json, const struct graph *graph);
void graph_json_segment(struct json *json, const char *key, const struct graph *graph, uint32_t segment, unsigned choice);

/* Graphviz: the segments given, with the edges among them. */
void graph_show_dot(struct buf *buf, const struct graph *graph, const uint32_t *segments, size_t count);

#endif
