/* Loops that look again and again: which of them are hangs. Private to the finding
 * of hangs. */
#ifndef DIAGNOSE_HANGS_LOOP_H
#define DIAGNOSE_HANGS_LOOP_H

#include "diagnose/hangs_rest.h"
#include "diagnose/loops.h"

/* True when a loop that sleeps and looks again is not what the thread does anyway:
 * it looks often, and the thread spent most of its life otherwise, or looks whether a
 * process that it told to end is gone. */
/* From when it was up until it was killed, or to the end: it may do nothing else by design. */
bool hangs_looks_all_along(const struct finder *f, const struct episode *e);
bool hangs_looks_in_vain(const struct finder *f, const struct episode *e);
/* True when such a loop ended by itself as another thread of its process, or a
 * child, did what kept it away all the time. */
bool hangs_flag_came(const struct finder *f, const struct episode *e);
/* Of the stretch the longest part without a wait but for giving up the processor, and in which it set nobody to work: what it looks for
 * is another thing each time. */
void hangs_longest_spin(const struct finder *f, uint64_t *from, uint64_t *to);
/* True when the thread only looks at something again and again; narrows the stretch
 * to where it does. */
bool hangs_spins(const struct finder *f, uint64_t running_ns, uint64_t *from, uint64_t *to);
/* True when it spins for one that only gets its share of a busy machine. */
bool hangs_spins_for_load(const struct finder *f, uint64_t from, uint64_t to);

/* The retries that begin with the sleep, when they are a hang: for long, and with one that tried in
 * step with it or came back as they ended, or because a person asks. */
bool hangs_retries(const struct finder *f, uint32_t sleep, struct retries *ret_retries);
/* The longest stretch in which it was woken on a futex, by its own process, only to wait there again at
 * once; false where it does so at other times, too. */
bool hangs_woken_in_vain(const struct finder *f, uint64_t *ret_from_ns, uint64_t *ret_to_ns);
/* So far the thread had hardly done anything but to look, as a program does that was started before its time. */
bool hangs_looks_since_birth(const struct scene *scene, const struct hang *hang);

#endif
