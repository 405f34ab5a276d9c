/* How much of a trace a part needs before what is judged in it. */
#ifndef SESSION_SWEEP_LEAD_H
#define SESSION_SWEEP_LEAD_H

#include <stddef.h>
#include <stdint.h>

struct blocks;

/* A wait stands at a part's beginning as it truly began, a loop of sleeps does not. So many blocks
 * before `first`, at least and at most, that loops which go on there are seen from their beginning. Those
 * that go on for longer than that may go on for ever, and ask for no more than `least`. */
size_t sweep_lead(struct blocks *blocks, size_t first, size_t least, size_t most, uint64_t look_ns);

#endif
