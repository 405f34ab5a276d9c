/* Waits that only those could end who wait for the waiting process itself. Private to the finding of hangs. */
#ifndef DIAGNOSE_HANGS_CIRCLE_H
#define DIAGNOSE_HANGS_CIRCLE_H

#include "diagnose/hangs_rest.h"

/* One process alone could end the wait, which never ended: as its child, by the other end of a pipe or as the owner of a lock: its only thread,
 * or the one that did so before. That one waits so for another, and so on, back to the thread that waits. */
bool hangs_in_circle(const struct finder *f, const struct episode *e);
/* It is a process's first thread, and all of them wait for words of their own memory, which began in the recording. */
bool hangs_is_closed(const struct finder *f, const struct episode *e);
/* Who has the other end of its connection listened to that alone as the wait began, was woken by a packet that no running
 * thread had sent, and then ended the wait: what was asked was on its way until then. */
bool hangs_in_flight(const struct finder *f, const struct episode *e);

#endif
