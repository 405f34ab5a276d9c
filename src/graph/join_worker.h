/* Joining on a thread of its own, beside the builder's: what the joiner is told is
 * handed over in batches, in order, and what it finds does not depend on when. */
#ifndef GRAPH_JOIN_WORKER_H
#define GRAPH_JOIN_WORKER_H

#include "graph/join.h"

enum join_order_kind {
	ORDER_message,    /* join_message */
	ORDER_queue,      /* join_queue */
	ORDER_start,      /* join_start */
	ORDER_gap         /* join_gap: end_ns */
};

struct join_worker;

/* `beside` false, or no thread to be had: each order is carried out at once. The
 * joins belong to the worker until join_worker_finish. */
struct join_worker *join_worker_new(struct joins *joins, bool beside);
void join_worker_put(struct join_worker *worker, enum join_order_kind kind, const struct join_message *message);
/* Carries out all that is left, calls join_finish and frees the worker; NULL is fine. */
void join_worker_finish(struct join_worker *worker);

#endif
