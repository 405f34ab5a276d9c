/* Who asked, and gave up when a time limit of its own ran out, as it never has to: each time before it was answered soon. */
#ifndef DIAGNOSE_ASKED_IN_VAIN_H
#define DIAGNOSE_ASKED_IN_VAIN_H

#include <stdbool.h>

#include "diagnose/scene.h"

/* The wait's limit ran out, and it is one for an answer that always came soon: no rest, and no time that it lets pass. */
bool asked_in_vain(const struct scene *scene, const struct wait *wait);
/* Of such a wait, where another woke it up meanwhile again and again: the whole of it. */
bool asked_in_vain_find(const struct scene *scene, const struct wait *wait, uint64_t *ret_from_ns, uint64_t *ret_to_ns);
/* The last of the waits that go by one limit, from that one on. */
uint32_t asked_in_vain_last(const struct scene *scene, uint32_t wait);
/* Who answered there at other times, on its own or by way of others, is of that thread's process, or that thread, where the two share one. */
bool asked_in_vain_of(const struct scene *scene, const struct wait *wait, uint32_t thread);

#endif
