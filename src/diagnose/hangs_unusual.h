/* Long waits of which nothing tells that they are hangs but that they are unlike what the thread did before: they are
 * told last of all. Private to the finding of hangs. */
#ifndef DIAGNOSE_HANGS_UNUSUAL_H
#define DIAGNOSE_HANGS_UNUSUAL_H

#include "diagnose/hangs_rest.h"

/* Until then it only let times pass, one after the other; now it waits without a limit, elsewhere, for longer than it ever did. */
bool hangs_left_its_clock(const struct finder *f, const struct episode *e);
/* The thread that stands for its process went to wait, where it does not come back to, for another of its process, or for a server. */
bool hangs_began_to_wait(const struct finder *f, const struct episode *e);
/* Of its process's other threads several listen in turn at one set, and wait each for a word at other times, as a runtime's do that runs tasks: it waits
 * for such a word, which tells of no task that is late. */
bool hangs_threads_take_turns(const struct finder *f, const struct wait *wait);

/* Over a connection to itself its process's own threads answered it again and again, each time in a small part of the time that this answer took. */
bool hangs_own_answer_late(const struct finder *f, const struct episode *e);

/* It came again and again to a place, and stayed away once, in waits as it always had in between: offers that time. */
void hangs_left_round(struct finder *f, void (*offer)(struct finder *f, enum rule_id rule, uint64_t from_ns, uint64_t to_ns));

/* In all of the recording it did nothing but wait at one place, woken again and again: offers that time, where a person asks. */
void hangs_at_one_place(struct finder *f, void (*offer)(struct finder *f, enum rule_id rule, uint64_t from_ns, uint64_t to_ns));

#endif
