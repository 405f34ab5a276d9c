/* Where a function is left: its returns, and its jumps to other functions. Probes there tell its end
 * as one on its return does, and leave the stack as it is. */
#ifndef PROBE_LEAVES_H
#define PROBE_LEAVES_H

#include "probe/code.h"

#define LEAVES_MOST 64u

/* By address; how many. 0 where not all of them are sure: an indirect jump may lead anywhere. */
size_t leaves_find(struct code *code, uint64_t function, uint64_t leaves[LEAVES_MOST]);
/* Whether a jump there calls another function, not a part of the function that lies elsewhere. */
bool leaves_to(const struct code *code, uint64_t target);

#endif
