/* Where threads rest: waits that are no part of any work.
 *
 * A thread rests in a system call in which it waits again and again and for a good part
 * of its life, as an event loop or a pool's worker does. It is idle in one in which it
 * waits nearly all of its life, to its end (a worker that is told to end comes out of
 * its wait first). How long such waits are is not the thread's
 * own doing; comparisons leave them out. A helper is a thread other than its process's
 * first that waits for nearly all of its life, if in several places: where both runs have
 * such waits, be it that one function waits with a limit and without, their lengths tell
 * nothing either.
 *
 * A thread is judged when nothing more comes of it, and then forgotten: memory goes with
 * the threads that live at one time. */
#ifndef INFER_REST_H
#define INFER_REST_H

#include "infer/observe.h"
#include "infer/tree.h"

struct rest_wait {
	uint32_t node;
	uint32_t next;                        /* of the same thread, + 1; 0 none */
	uint64_t off_ns, count;
	uint64_t until_end_ns;
	uint64_t end_ns;                      /* of the last one */
};

struct rest_thread {
	uint32_t waits;                       /* the first, + 1 */
	uint64_t life_ns, end_ns;
};

/* What the waits of a context are, of all threads. */
struct rest_cost {
	uint64_t rest_ns, idle_ns, helper_ns;
};

struct rest {
	struct vec(struct rest_wait) waits;   /* those that are free are chained, too */
	uint32_t free_waits;                  /* the first, + 1 */
	struct map wait_of;                   /* (thread, node) -> index + 1 of a wait */
	struct vec(struct rest_thread) threads;
	struct vec(uint32_t) free_threads;
	struct map thread_of;                 /* thread -> index + 1 */
	struct vec(struct rest_cost) costs;   /* by node, of threads judged */
};

void rest_done(struct rest *rest);
/* Of a system call's context. */
void rest_add_wait(struct rest *rest, const struct latency_instance *wait);
void rest_add_life(struct rest *rest, uint32_t thread, uint64_t ns, uint64_t end_ns);
/* Nothing more comes of the thread. */
void rest_judge(struct rest *rest, uint32_t thread, const struct observe_thread *about);
/* Judges those that are left; notes in the tree what of each context's waits is rest,
 * and what idleness. */
void rest_finish(struct rest *rest, struct tree *tree, const struct observe_thread *threads);

#endif
