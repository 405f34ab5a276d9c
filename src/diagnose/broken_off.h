/* Waits that a signal ended: whether that is what they waited for. */
#ifndef DIAGNOSE_BROKEN_OFF_H
#define DIAGNOSE_BROKEN_OFF_H

#include "diagnose/scene.h"

/* A signal by which programs are told to end. */
bool broken_off_ends_programs(uint32_t signal);
/* The process that was sent it ended by it: one that a child signalled, and that ended just behind, did not. */
bool broken_off_killed_by(const struct scene *scene, const struct sent_signal *sent);
/* Who is killed in a wait was not given what it waited for. */
bool broken_off_by_death(const struct scene *scene, const struct wait *wait);
/* A thread of its own process let it go on, when that had been told to end, or just before it was killed. */
bool broken_off_by_end(const struct scene *scene, const struct wait *wait);
/* A signal, from a timer or elsewhere, broke off a wait that another thread should
 * have ended: it is late because of that one, not because of the signal. A timer
 * that a poll set listens to is no signal. */
bool broken_off_is(const struct scene *scene, const struct wait *wait);

#endif
