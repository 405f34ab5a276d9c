/* A place near by that is as good: in the same straight line of code, so that it is passed as often, with nothing
 * in between that changes what is asked for, and with an instruction that the kernel carries out itself
 * at a uprobe, which is some ten times cheaper than to single-step one. */
#ifndef PROBE_NEAR_H
#define PROBE_NEAR_H

#include "probe/code.h"

/* `registers`: those that must be as at the address, a bit each; `memory`: what they lead to as well.
 * The nearest such place's address, 0 none. */
uint64_t near_find(struct code *code, uint64_t address, uint16_t registers, bool memory);

#endif
