/* Of a stack, the functions that are worth stepping through: where it is outside of the C library, and who called that. */
#ifndef DIAGNOSE_PLACES_H
#define DIAGNOSE_PLACES_H

#include "base/arena.h"
#include "trace/tables.h"

/* The innermost frame outside of the C library; 0 none. */
uint32_t places_own_frame(const struct tables *tables, uint32_t node);
/* "/path+0xOFFSET,+0xOFFSET": the frame and those of the same file that called it, for a loop may be in one of them.
 * NULL of node 0. */
const char *places_to_step(struct arena *arena, const struct tables *tables, uint32_t node);

#endif
