/* How soon others get the processor from a thread that computes for long. A scheduler that gives each
 * its slice (EEVDF, Linux 6.6) lets one that wakes wait until the slice of who runs is over, milliseconds
 * at a tick of 250 Hz; but one with a shorter slice need not wait (6.12). Shares stay the same. */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

/* The calling thread, of ordinary priority, and what it starts from now on: those that wake with the usual slice
 * run at once. A kernel that knows no slices ignores it. */
void slice_lengthen(void);

#endif
