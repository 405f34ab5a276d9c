/* Of whom a part of a trace must know what they did before it begins. */
#ifndef SESSION_SWEEP_PAST_H
#define SESSION_SWEEP_PAST_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct blocks;

/* A wait stands at a part's beginning as it truly began. But a loop of sleeps does not; and what a wait is for shows in
 * what came before it. Puts into the map the threads of the processes that sleep as that block begins, or wait for
 * what others do, and of those that they started or that started them. A thread that has slept for longer than a few
 * looks is in no loop. And the programs (past.h) of those that wait for a word of memory that processes share: who came to it, and is gone, has
 * no wait that stands. */
void sweep_past(struct blocks *blocks, size_t block, uint64_t look_ns, struct map *threads, struct map *programs);

#endif
