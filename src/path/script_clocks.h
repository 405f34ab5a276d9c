/* Waits that end at times of a clock's own, however long the thread was busy before: a timer that fires each period; sleeps
 * until a moment, each a period behind the one before. Whose moment has passed already returns at once: that is no wait,
 * but would be one if the thread came sooner. For script.c. */
#ifndef PATH_SCRIPT_CLOCKS_H
#define PATH_SCRIPT_CLOCKS_H

#include "path/script.h"

/* A sleep that was over before it began, and when it would have ended. */
struct clock_passed {
	uint64_t ns, until_ns;
	uint32_t thread;
};

struct script_clocks {
	struct vec(struct clock_passed) passed; /* by thread, then time */
	struct map waits;         /* sleeps of threads that have such ones */
};

void script_clocks_find(const struct scene *scene, const struct script_question *question, struct script_clocks *ret_clocks);
void script_clocks_done(struct script_clocks *clocks);
/* When the thread set its clock, which first fires a period later; UINT64_MAX: in the window it did not. */
uint64_t script_clock_set(const struct scene *scene, const struct script_clocks *clocks, uint32_t thread, uint64_t from_ns);
/* True for waits that such a clock ends. `clocks` may be NULL. */
bool script_is_clocked(const struct scene *scene, const struct script_clocks *clocks, const struct wait *w);

#endif
