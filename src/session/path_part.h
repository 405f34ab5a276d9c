/* A part of a long trace as the walk of a path needs it: its scene, and its names. To make it asks nothing of what the walk
 * finds, so it is made on a thread of its own while the part behind it is walked. */
#ifndef SESSION_PATH_PART_H
#define SESSION_PATH_PART_H

#include <pthread.h>

#include "diagnose/scene.h"
#include "graph/graph.h"
#include "symbols/names.h"
#include "trace/blocks.h"

struct path_part {
	struct blocks *blocks;
	size_t first, last;       /* blocks */
	uint64_t from_ns, to_ns;  /* of the path */
	struct graph_room *room;  /* NULL none; of no other part that is there at the same time */
	struct arena arena;
	struct trace *trace;
	struct scene *scene;      /* laid out thread by thread */
	struct names *names;
	int status;
	struct err err;
	pthread_t thread;
	bool beside;              /* the thread runs */
};

/* The caller fills in what is before `arena`. With `beside` it is made meanwhile; the part must stay where it is. */
void path_part_begin(struct path_part *part, bool beside);
/* Waits until it is there; what went wrong is told. */
int path_part_end(struct path_part *part, struct err *err);
/* Of one that was begun. */
void path_part_free(struct path_part *part);

#endif
