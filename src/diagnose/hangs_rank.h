/* Which of the hangs found comes first, and which of them are one. Private to the
 * finding of hangs. */
#ifndef DIAGNOSE_HANGS_RANK_H
#define DIAGNOSE_HANGS_RANK_H

#include "diagnose/hangs.h"

/* Of the hangs of one thread that overlap the most severe stays. One of several
 * pieces of work may wake somebody before it goes on to the next: for whoever
 * waits for the thread they are one hang; so are waits for the same, one behind the other.
 * Returns how many are left. */
size_t hangs_join(const struct scene *scene, struct hang *hangs, size_t count);
/* Who only waits for what it had started needs no mention where that hangs itself.
 * Returns how many are left. */
size_t hangs_drop_parents(const struct scene *scene, struct hang *hangs, size_t count);
/* Fills in what the thread was called in the middle of the hang. */
void hangs_name(const struct scene *scene, struct hang *hang);
/* Who waits for a child that only looks up again and again: that one hangs. */
void hangs_hand_down(const struct scene *scene, struct hang *hang);

#endif
