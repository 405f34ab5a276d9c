/* What set a thread off: the message, wake-up, file change or signal that made it
 * begin what it was busy with, and who was behind it. */
#ifndef DIAGNOSE_TRIGGER_H
#define DIAGNOSE_TRIGGER_H

#include "diagnose/describe.h"

#define TRIGGER_MAX 6

/* Surest first; returns their number. `busy_ns` is a moment at which the thread
 * was busy with it. */
unsigned trigger_find(const struct describer *d, uint32_t thread, uint64_t busy_ns, struct deed deeds[TRIGGER_MAX]);
/* Who stopped the process of the thread before the moment; false when nobody is known. */
bool trigger_stop(const struct describer *d, uint32_t thread, uint64_t time, struct deed *ret_deed);
/* Who killed the thread's process; false: nobody is known to have done so. */
bool trigger_kill(const struct describer *d, uint32_t thread, struct deed *ret_deed);

#endif
