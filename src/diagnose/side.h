/* A trace as a comparison looks at it: its threads and places in terms that hold
 * in another trace too.
 *
 * Numbers of threads, stacks and objects are a trace's own. What is the same in
 * two of them is the program, the name, the function a thread was started with,
 * and who created it: its role; and of a place in a program the names of the
 * functions on its stack. Both are worked out when first asked for and kept. */
#ifndef DIAGNOSE_SIDE_H
#define DIAGNOSE_SIDE_H

#include "base/map.h"
#include "diagnose/flag_writes.h"
#include "diagnose/scene.h"
#include "symbols/names.h"

/* Hashes; 0 unknown. */
struct role {
	bool known;
	bool leader;
	uint64_t program;     /* the file, or the process's name */
	uint64_t name;        /* the thread's, runs of digits taken as one */
	uint64_t start;       /* function it was started with: the outermost of its stacks */
	uint64_t creation;    /* names and starts of its creators, up to four */
	uint64_t command;
};

struct side {
	const struct scene *scene;
	struct names *names;       /* may be NULL: places are then told apart by module and offset */
	struct role *roles;        /* by thread */
	struct map places;         /* stack node -> hash */
	struct flag_writes *flags; /* NULL until asked for */
};

void side_init(struct side *side, const struct scene *scene, struct names *names);
void side_done(struct side *side);

/* The writes of flags that its trace has. */
const struct flag_writes *side_flags(struct side *side);
const struct role *side_role(struct side *side, uint32_t thread);
/* The functions on a stack, 0 for no stack. */
uint64_t side_stack_place(struct side *side, uint32_t stack);

/* How well the thread of `base` plays the part of the thread of `now`; 0: not at
 * all. Both may be the same side. */
#define SIDE_MATCH_SELF 100u
unsigned side_match(struct side *now, uint32_t thread, struct side *base, uint32_t base_thread);
/* The threads that do, best first, at most `limit`; a thread of the same trace is
 * its own best. Of equal ones the one whose place among its like is nearest. */
struct counterpart {
	uint32_t thread;
	uint32_t match;
};
unsigned side_counterparts(struct side *now, uint32_t thread, struct side *base, struct counterpart *counterparts, unsigned limit);
/* The best one that lives at some time in the stretch (to_ns 0: ever); 0 none. */
uint32_t side_counterpart(struct side *now, uint32_t thread, struct side *base, uint64_t from_ns, uint64_t to_ns);

#endif
