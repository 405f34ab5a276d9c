/* Who ends a wait, or may owe its end, and yet kept nobody: it came only then, answers others, or ended with another thread that did. */
#ifndef DIAGNOSE_WALK_LATE_H
#define DIAGNOSE_WALK_LATE_H

#include "diagnose/walk.h"

/* Who ended the wait was called at last to thaw the file system that it is for, or gave its control group memory again. */
bool walk_was_thawed(const struct walk *walk, const struct wait *w);
/* It waits until its control group has memory again. */
bool walk_lacks_memory(const struct walk *walk, const struct wait *w);
/* The suspect at the other end of a wait that never ended rests there, and answered others. */
bool walk_answered_others(const struct walk *walk, const struct episode *episode, const struct hop *hop, uint64_t from, uint64_t to);
/* A file system's server that ended, with which the wait did: of its threads the one that had the request. 0 not known. */
uint32_t walk_ended_server(const struct walk *walk, const struct wait *w);
/* Of two loops that listen to each other, among others, neither is known to wait for the other; nor does a server that listens for what those that wait
 * for its answer ask next. */
bool walk_is_guessed_circle(const struct walk *walk, const struct episode *episode, const struct hop *last, uint64_t from, uint64_t to);
/* It started those that came to a loop while it is thought to have stayed away. */
bool walk_starter_came(const struct walk *walk, const struct episode *rest, uint32_t starter, uint64_t from, uint64_t to);
/* The last piece of the wait that the beat cuts into pieces at one place. */
const struct episode *walk_behind_beat(const struct walk *walk, const struct episode *first, uint64_t to);
/* Its own time limit ran out where it listens to several, and then it let go on who waits for it: it did so by its own clock. */
bool walk_acts_by_clock(const struct walk *walk, const struct wait *w, uint32_t came);
/* Who waits for it, at the other end of a connection, has got nothing to the end: whatever it did was for others. */
bool walk_awaited_still(const struct walk *walk, uint32_t thread, uint32_t came);
/* It listens to many, and comes and goes; and who waits for it still is not who let it go on: that was others' doing. Not where it listens elsewhere. */
bool walk_woken_for_others(const struct walk *walk, const struct wait *last, uint32_t came);

#endif
