/* Signals that a process was sent and has not begun to handle: it blocks them, or cannot come to it.
 * One that is read from a descriptor, or taken by a call, lets a thread go on as it comes, where one waits for it. */
#ifndef DIAGNOSE_UNTAKEN_H
#define DIAGNOSE_UNTAKEN_H

#include "diagnose/scene.h"

/* The first by which a thread of `sender`'s process told that process to end, before the time, and that stays for long; NULL none. */
const struct sent_signal *untaken_find(const struct scene *scene, uint32_t sender, uint32_t pid, uint64_t before_ns);

#endif
