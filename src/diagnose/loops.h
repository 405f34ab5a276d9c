/* Loops that sleep, or give up the processor, and look again at something in memory:
 * nothing wakes them, so no edge tells who is late. */
#ifndef DIAGNOSE_LOOPS_H
#define DIAGNOSE_LOOPS_H

#include "diagnose/scene.h"

/* True when the episode is a poll loop: it sleeps, or gives up the processor,
 * and looks again. */
bool loop_is(const struct scene *scene, const struct episode *episode);
/* How often it looked: a signal that has it look while it waits for a child, as when that is stopped or goes on, is no look. */
uint32_t loop_times(const struct scene *scene, const struct episode *episode);
/* Nearly each of its sleeps is longer than the one before, and none shorter, as of who tries again and gives it more and more time. */
bool loop_backs_off(const struct scene *scene, const struct episode *episode);
/* Two sleeps in a row, as long as somebody may sleep who looks whether a lock is free: a loop where who sleeps is asked about. */
bool loop_is_short(const struct scene *scene, const struct episode *episode);
/* A wait in which a thread does not listen for new work. */
bool loop_looks_away(const struct scene *scene, const struct wait *wait);
/* Whose part the looping thread most likely awaits: of its process, or a child, the
 * one that could not do it, and did something when the loop ended; else a process that
 * was started by the same, and came back as the loop ended; none of `waiting`, who wait for it; 0 nobody.
 * *ret_confidence, per cent, tells how sure that is. */
uint32_t loop_partner(const struct scene *scene, uint32_t thread, const uint32_t *waiting, unsigned count, uint64_t from_ns, uint64_t to_ns,
		      uint8_t *ret_confidence);

/* What the thread waited for at the time was that the looking one, which then ended that wait, goes on; or one that waited so. */
bool loop_waits_behind(const struct scene *scene, uint32_t thread, uint32_t looking, uint64_t time);

/* Where the loop began that may sleep at several places, one after the other. */
const struct episode *loop_first(const struct scene *scene, const struct episode *loop);
/* Who was at rest until the looping thread woke it just before the loop began, and rests again since it
 * looked for the last time: it was asked, and the loop awaits its answer. 0 nobody. *ret_begin_ns: when
 * the loop began, which may be before the episode. */
uint32_t loop_asked(const struct scene *scene, const struct episode *loop, uint64_t *ret_event, uint64_t *ret_begin_ns);

/* Sleeps at one place again and again, with other short waits between them: the thread tries
 * something that takes more than a look. */
struct retries {
	uint64_t start_ns, end_ns;
	uint32_t last;            /* sleep */
	uint32_t count;
};

/* False when the sleep is none of many. */
bool loop_retries(const struct scene *scene, uint32_t sleep, struct retries *ret_retries);
/* A thread of the same process that tried in step with it, or who came back as it ended; 0
 * nobody. *ret_lockstep tells which. */
uint32_t loop_retry_partner(const struct scene *scene, const struct retries *retries, bool *ret_lockstep);

/* One of its parents, or it itself, is called like the thread's process, runs the same program, and is none of its parents. */
bool loop_is_fellow(const struct scene *scene, uint32_t partner, uint32_t thread);

#endif
