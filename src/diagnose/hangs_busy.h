/* Threads that work and work: they compute, spin or stand for a processor, and give no sign of life meanwhile. Private to
 * the finding of hangs. */
#ifndef DIAGNOSE_HANGS_BUSY_H
#define DIAGNOSE_HANGS_BUSY_H

#include "diagnose/hangs_rest.h"

/* Its process has a connection that another one made, or listens for such. */
bool hangs_has_clients(const struct finder *f);

/* `least_ns`: of a piece of which more may be in other parts (struct hang), 0 of a whole hang. */
void hangs_offer_piece(struct finder *f, enum rule_id rule, uint64_t from, uint64_t to, uint64_t least_ns);
/* A wake-up that another process notices. */
bool hangs_is_sign(const struct scene *scene, const struct wake *wake);
/* The finder's thread: what is long of the stretch between two signs of life, by that rule. */
void hangs_silences(struct finder *f, enum rule_id rule, uint64_t from, uint64_t to);
/* All stretches in which it works. */
void hangs_stretches(struct finder *f);
/* Its process has connections that others made, or another process had set it to work; what comes over a pipe is what a batch program
 * works on. */
bool hangs_serves_others(const struct finder *f, uint64_t from);

#endif
