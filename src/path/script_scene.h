/* What a scene tells of how a run was carried out, beside what its threads did:
 * processors, and what a wait costs. For script.c. */
#ifndef PATH_SCRIPT_SCENE_H
#define PATH_SCRIPT_SCENE_H

#include "path/script.h"

/* What a wait that reached its time limit was for: the thread's next one at the same place that did not reach its own, if a
 * thread ended that; else NULL. */
const struct wait *script_wanted(const struct scene *scene, const struct wait *w);
/* By how much a sleep was longer than it was to be, at most. */
uint64_t script_slept_longer(const struct wait *w, uint64_t most);
/* True when nobody had the processor at the moment. */
bool script_was_free(const struct scene *scene, uint16_t cpu, uint64_t time);
/* The wait, as a span, that a stretch in which the thread could run is directly behind; else NULL. */
const struct span *script_behind_wait(const struct scene_thread *t, const struct span *s);
/* What it costs to wait and to come back: hardly any thread runs shorter between two waits. */
uint64_t script_cost_of_wait(const struct scene *scene);
/* Whose threads stand for a processor while another one, on which none of them is, has
 * nothing to do, may not go there. How many the run may have, 0 all. */
unsigned script_processors(const struct script *p, const struct scene *scene);

/* Numbers the turns of each lock, as it went from hand to hand. */
void script_number_turns(struct script *p);

struct latency {
	uint32_t class;
	uint64_t ns;
};

struct latencies vec(struct latency);

/* What is typical for each class, where enough are there; sorts them. */
void script_find_latencies(struct script *p, struct latencies *latencies);

#endif
