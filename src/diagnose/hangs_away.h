/* Whether those that a thread waits for could have acted. Private to the finding
 * of hangs. */
#ifndef DIAGNOSE_HANGS_AWAY_H
#define DIAGNOSE_HANGS_AWAY_H

#include "diagnose/hangs_rest.h"

/* True when the thread was busy, stopped or blocked elsewhere from the first moments of
 * the stretch to near its end. */
bool hangs_was_away(const struct finder *f, uint32_t thread, uint64_t from, uint64_t to);
/* For most of the wait that thread listened to nothing but the other end of the connection that the wait is for: it waited for more of it, or
 * for nothing at all. */
bool hangs_listened_back(const struct finder *f, uint32_t thread, const struct episode *e);
/* Who of those that led to the wait's end was busy, stopped or blocked elsewhere
 * from its begin on, so that what it was sent then woke nobody; 0 nobody. */
uint32_t hangs_away_waker(const struct finder *f, const struct episode *e);
/* True when somebody led to the wait's end who was away from `from_ns` until then. */
bool hangs_ended_by_return(const struct finder *f, const struct episode *e, uint64_t from_ns);
/* True when the thread that ended the wait was stopped for nearly all of it: what
 * was sent to it meanwhile woke nobody. */
bool hangs_was_stopped(const struct finder *f, const struct episode *e);
/* True when it was stopped as a person does it at a terminal, or by itself on his word:
 * whoever means to hold a program up sends another signal. */
bool hangs_was_suspended(const struct finder *f, const struct episode *e);
/* True when another process that led to the wait's end was stopped for most of it, from then on.
 * `own_child`: it descends from the waiting process. */
bool hangs_waits_for_stopped(const struct finder *f, const struct episode *e, bool *ret_own_child, uint64_t *ret_from_ns);
/* A server to which the thread's process is connected was stopped while it waited; for the longest such time. */
bool hangs_server_stopped(const struct finder *f, const struct episode *e, uint64_t *ret_from_ns, uint64_t *ret_to_ns);
/* True when a thread of the same process ended the wait for an eventfd or pipe, of
 * its own accord: that is a condition, whatever it is made of. */
bool hangs_is_condition(const struct finder *f, const struct episode *e);
/* True when others of the process listened for new work for most of the wait: the
 * thread only left the work to them. */
bool hangs_left_to_others(const struct finder *f, const struct episode *e);
/* It waits for a program that it started, and that slept out a sleep of its own for most of that: nobody but a person at a window is kept. */
bool hangs_awaits_sleeper(const struct finder *f, const struct episode *e);
/* True where who ended the wait had only listened until a time limit of its own let it go on, and nobody asks: it answered when
 * it meant to. */
bool hangs_ended_by_clock(const struct finder *f, const struct wait *w);
/* True when a process waited for long for the end, or the output, of what it had started
 * itself, and that did nothing but wait either. */
bool hangs_waits_for_own(const struct finder *f, const struct episode *e);
/* Who let it go on, of its own process, had waited for the end of a program all the time, and that went on, or rested: the two launched it. */
bool hangs_leaves_to_program(const struct finder *f, const struct episode *e);
/* True when it waited for what it had just started, and that stood in the call that makes
 * it another program: until then it is the parent's own doing. */
bool hangs_waits_for_exec(const struct finder *f, const struct episode *e);
/* True when the wait for a condition ran into its limit, while another thread that waited
 * for the same one was woken. */
bool hangs_signal_went_elsewhere(const struct finder *f, const struct episode *e);
/* True when the thread waits for a word in memory that no other thread of its
 * process was there to change: a lock whose owner is gone, or its own. */
bool hangs_nobody_can_end(const struct finder *f, const struct episode *e);
/* It waits for a lock of which no owner is known, by the name of the function that it waits in; whoever let it go on did not only share a busy
 * machine. */
bool hangs_named_lock(const struct finder *f, const struct episode *e);
/* It waits for the end of a process that it told to end, or looks for it again and again, and that did not begin to handle the signal. */
bool hangs_told_to_end(const struct finder *f, const struct episode *e);
/* It waits for the interpreter's lock, whose owner, the same all the time, waits as well: it went to wait without giving that up. */
bool hangs_interpreter_kept(const struct finder *f, const struct episode *e);

#endif
