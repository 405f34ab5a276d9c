/* Whether what a thread asked for is still being worked on, or will never be, while it
 * waits. Private to the finding of hangs. */
#ifndef DIAGNOSE_HANGS_PENDING_H
#define DIAGNOSE_HANGS_PENDING_H

#include "diagnose/hangs_rest.h"

/* True when one of those that the thread set to work before the wait, directly or
 * through others, had not done its part when the wait ended. *ret_asked_ns: when its
 * request began; *ret_awaits: one that worked on it all the while, 0 nobody; *ret_outside:
 * some of them are of other processes. */
bool hangs_is_pending(const struct finder *f, const struct episode *e, uint64_t *ret_asked_ns, uint32_t *ret_awaits, bool *ret_outside);
/* It stood as the part of a trace begins that is looked at, so what it asked for is before that. */
bool hangs_began_before(const struct finder *f, const struct episode *e);
/* The wait stood as the recording began. */
bool hangs_stood_before(const struct finder *f, const struct episode *e);
/* On a busy machine all that has to be done takes long: true when the thread works for so
 * long by itself, or is kept off by one other, or spins. */
bool hangs_works_long(const struct finder *f, uint32_t thread, uint64_t from, uint64_t to, uint64_t long_ns);
/* When the thread first woke somebody, or sent something, in the window. */
uint64_t hangs_first_deed(const struct scene *scene, uint32_t thread, uint64_t from, uint64_t to);
/* Who was set to work for it, a child of its process, was killed at it, and it waits on for ever. */
bool hangs_answerer_killed(const struct finder *f, const struct episode *e);
/* It waits for a word that it shares with one of its kin, and that was killed. */
bool hangs_sharer_killed(const struct finder *f, const struct episode *e);
/* It waits for a word that processes share, as it did before, and the one that ended all those waits was killed. */
bool hangs_ender_killed(const struct finder *f, const struct episode *e);
/* It waits for a word that it shares with one of its program, and that came and ended just before. */
bool hangs_taker_ended(const struct finder *f, const struct episode *e);

#endif
