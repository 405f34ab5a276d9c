/* Who shared a word of memory with the thread that waits for it, and was killed: what it had it gives back to nobody.
 *
 * Nothing keeps who took a semaphore in memory. But kin that maps the same file shares it, which the recorded calls tell. */
#ifndef DIAGNOSE_KILLED_KIN_H
#define DIAGNOSE_KILLED_KIN_H

#include "diagnose/scene.h"

/* The only one of the waiting process's kin that was killed by a signal before that time; of several the only one that is known to have mapped
 * the file in which the word lies. 0: none. *ret_mapped: it is known to have; *ret_evidence: the signal's event. */
uint32_t killed_kin_find(const struct scene *scene, const struct wait *w, uint64_t to_ns, bool *ret_mapped, uint64_t *ret_evidence);

#endif
