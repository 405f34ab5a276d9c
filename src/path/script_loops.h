/* Loops that sleep and look again, in a script: whose deed ends them, where that is surely known. For script.c. */
#ifndef PATH_SCRIPT_LOOPS_H
#define PATH_SCRIPT_LOOPS_H

#include "path/looks.h"
#include "path/script.h"

/* A loop in the window that looks for what another thread does. */
struct script_loop {
	uint64_t done_ns;         /* when that was done; where that is not known about half of the last sleep before its end */
	uint64_t end_ns;
	uint32_t other;
	uint32_t first, last;     /* sleeps */
	bool known;               /* by which deed */
	bool at_it;               /* the other one was at work for most of it; else others have a say in when it comes to its deed */
};

struct script_loops {
	struct vec(struct script_loop) list; /* by thread, then time */
	struct map by_wait;       /* -> place in the list */
	struct map sleeps;        /* by place: how many, and from bit 32 on how many of them in loops that only look */
};

void script_loops_find(const struct naming *naming, const struct script_question *question, struct script_loops *ret_loops);
void script_loops_done(struct script_loops *loops);
/* The wait is a sleep of a loop that hardly does anything between its sleeps; also where it slept but once, as long as others
 * mostly do so there again and again. */
bool script_polls(const struct script_loops *loops, const struct scene *scene, const struct wait *w);
/* The loop that the wait is a part of; NULL for others. */
static inline const struct script_loop *script_loop_of(const struct script_loops *loops, uint32_t wait)
{
	const uint64_t *place = loops->list.length ? map_find(&loops->by_wait, wait) : NULL;

	return place ? &loops->list.items[*place] : NULL;
}

#endif
