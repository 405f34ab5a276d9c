/* Hangs that were found in pieces, one after the other. */
#ifndef SESSION_SWEEP_PIECES_H
#define SESSION_SWEEP_PIECES_H

#include <stddef.h>

struct hang;

/* Puts together what goes on from one part to the next, and leaves out what is too short even so. Returns how many are left. */
size_t sweep_join_pieces(struct hang *hangs, size_t count);

#endif
