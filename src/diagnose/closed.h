/* A process that nobody can help: each of its threads waits, without a time limit, for a word in its own memory, which
 * only another of them could change. Who owns such a lock is often not kept (semaphores, Python's locks, conditions). */
#ifndef DIAGNOSE_CLOSED_H
#define DIAGNOSE_CLOSED_H

#include "diagnose/scene.h"

/* At that moment, and to the trace's end or the process's own; of two threads at the least. */
bool closed_process(const struct scene *scene, uint32_t pid, uint64_t time_ns);
/* Of one thread, too. */
bool closed_for_ever(const struct scene *scene, uint32_t pid, uint64_t time_ns);
/* The same of a process where some join others of it, and some have only slept and looked up since then: at least two wait. */
bool closed_but_ticks(const struct scene *scene, uint32_t pid, uint64_t from_ns, uint64_t time_ns);
/* Of the others in the wait's process that wait for a word, but not for the end of the waiting one, the one that began to wait last, for something
 * else: it was the last that could have ended the wait. 0 none; ret_count: how many could. */
uint32_t closed_last(const struct scene *scene, const struct wait *w, uint64_t time_ns, uint32_t *ret_count);
/* The first thread of the wait's process only awaits another's end, and that one waits here, without a limit, as those of its process do that began to
 * wait behind it: the last of them; 0 none. */
uint32_t closed_behind_lead(const struct scene *scene, const struct wait *w, uint64_t time_ns);
/* The wait is of one of those. */
bool closed_is_behind_lead(const struct scene *scene, const struct wait *w, uint64_t time_ns);

#endif
