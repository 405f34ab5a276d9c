/* Whether what a thread waits for was being worked on all the while. Private to the finding
 * of hangs. */
#ifndef DIAGNOSE_HANGS_WORK_H
#define DIAGNOSE_HANGS_WORK_H

#include "diagnose/hangs_rest.h"

/* True when the thread waits for what its process started, and that ran, could have run, or had
 * its data read and written, for nearly all of the time: work in progress. Not where one of them
 * computed for most of it, for longer than a process may, unless others that the thread waited for
 * took about as long. */
bool hangs_is_worked_on(const struct finder *f, const struct episode *e);

/* Of a process that nobody asks about: what it started comes and goes, and works, or one that it
 * looks after is at work. */
bool hangs_goes_on(const struct finder *f, const struct episode *e);

/* Of a process that nobody asks about: who let it go on had programs that it started at work for most of that. */
bool hangs_has_work_done(const struct finder *f, const struct episode *e);

/* Of a process that nobody asks about: its other threads, one of which ended the wait, were at work nearly all the time. */
bool hangs_own_threads_work(const struct finder *f, const struct episode *e);

/* True when a loop of looks, `look_ns` each, waited for the ends of processes that its thread had started: the last of them, one after the
 * other, ended as it ended. */
bool hangs_awaited_ends(const struct scene *scene, uint64_t from_ns, const struct wait *last, uint64_t look_ns);

#endif
