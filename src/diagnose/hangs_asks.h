/* Who asks, and who is asked: whether a wait is for an answer to what its thread sent, or for
 * the next question of somebody else. Private to the finding of hangs. */
#ifndef DIAGNOSE_HANGS_ASKS_H
#define DIAGNOSE_HANGS_ASKS_H

#include "diagnose/hangs_rest.h"

/* Which end of a connection the wait listens to. */
enum end_role hangs_role_in(const struct finder *f, const struct wait *w);
/* True when the last that the thread did with what it waits for was to send. */
bool hangs_asked_there(const struct finder *f, const struct wait *w);
/* True when it has asked there and has not been answered. */
bool hangs_awaits_answer(const struct finder *f, const struct wait *w);
/* True, where messages are not recorded, when it was asked there before it ever asked: it has answered. */
bool hangs_has_answered(const struct finder *f, const struct wait *w);
/* What is polled first is a pair of sockets, or a pipe, of which the process has both ends
 * itself: by it others of its threads wake the loop up. */
bool hangs_polls_own_pair(const struct finder *f, const struct wait *w);
/* The wait, or where it goes on to the end the one of its thread before it for the same. */
const struct wait *hangs_as_ended(const struct scene *scene, const struct wait *w);
/* Just before it began to wait there it woke the process that let it go on at last, and was not
 * woken by that in between. */
bool hangs_woke_who_ended(const struct finder *f, const struct wait *w);
/* It listened to a window server and to its own loop's bell, and the server let it go on: what that sends there are mostly events. */
bool hangs_got_events(const struct finder *f, const struct wait *w);
/* It woke another process just before. */
bool hangs_asked_just_before(const struct scene *scene, uint32_t thread, const struct episode *e);
/* It waits on the connection that it began: behind its loop's bell that may be one for news, unless it asked just before and was let go on. */
bool hangs_asks_over(const struct finder *f, const struct episode *e);
/* All connections between the two processes were begun by the other one: it is known to ask this thread's process, not to be asked by it. */
bool hangs_is_client(const struct finder *f, uint32_t thread, uint32_t other);

#endif
