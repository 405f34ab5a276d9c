/* What a process listens to that nobody else has an end of. */
#ifndef DIAGNOSE_OWN_ENDS_H
#define DIAGNOSE_OWN_ENDS_H

#include "diagnose/ends.h"

/* Few things, each of which is awaited, besides the process's own bells: a loop's many are none's in particular. */
bool own_ends_set_is_small(const struct scene *scene, const struct ends *ends, uint64_t set, uint32_t pid);
/* A pipe, or a counter, that no other process has open. */
bool own_ends_has_both(const struct ends *ends, uint64_t object, uint32_t pid);
/* Its other end is had by programs alone that the thread's process, or who that started, started. */
bool own_ends_children_have(const struct scene *scene, const struct ends *ends, uint32_t thread, uint64_t object);
/* Nobody writes to the pipe but what the thread's process started, and somebody does. */
bool own_ends_children_write(const struct scene *scene, const struct ends *ends, uint32_t thread, uint64_t object);
/* An open wait without a limit for nothing but those, and the process's own bells. */
bool own_ends_awaits_children(const struct scene *scene, const struct ends *ends, const struct wait *w);
/* True when all that an open wait listens to is its own process's, which has no other
 * thread: nobody but the waiting thread could end it. */
bool own_ends_only(const struct scene *scene, const struct ends *ends, const struct wait *wait);
/* True when the thread waits for a word of its process, and of the process's other threads, as they stand then, each waits for such a word, too, or
 * sleeps, or listens to a bell that no other process has: nobody outside can end the wait. */
bool own_ends_hears_nobody(const struct scene *scene, const struct ends *ends, const struct wait *wait, uint64_t time_ns);

/* The wait is on a set that was looked at meanwhile, and nothing in it, as far as it was told, can be ended by that process: not even the thing over
 * which that one waits for it is heard there. */
bool own_ends_leaves_out(const struct scene *scene, const struct ends *ends, const struct wait *wait, uint32_t pid);

/* What the item of a process's poll is: items do not always tell their object. */
uint64_t own_ends_polled(const struct ends *ends, const struct poll_item *item, uint32_t pid);

/* Waits that are sleeps for that reason, as they have a time limit, are told as such from now on. */
void own_ends_note_sleeps(struct scene *scene, const struct ends *ends);

/* What went over the connection last was sent by that process: only of TCP that is known. */
bool own_ends_spoke_last(const struct ends *ends, uint64_t object, uint32_t pid);

/* All that the wait listens to, besides its process's own bells, where that is one thing: that; 0 it is not. */
uint64_t own_ends_only_client(const struct scene *scene, const struct ends *ends, const struct wait *wait);

/* When the process asked for what the open wait listens to, where that is one connection that it began, over which it sent something and has
 * got nothing since; 0 not known. */
uint64_t own_ends_asked_ns(const struct scene *scene, const struct ends *ends, const struct wait *wait);

/* The same of a set of few such connections, besides the process's own bells and clocks: over one of them, the first one. */
uint64_t own_ends_asked_in_loop(const struct scene *scene, const struct ends *ends, const struct wait *wait);

#endif
