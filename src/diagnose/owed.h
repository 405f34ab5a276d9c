/* Whether a wait that stands at the trace's end is one that another should have ended by now, as the last snapshot alone
 * tells: a connection that is not accepted, what is written and not taken, an answer of a server that does not even listen
 * to who asks. Who waits for news, for a person, or for somebody who is only slow is owed nothing. */
#ifndef DIAGNOSE_OWED_H
#define DIAGNOSE_OWED_H

#include "diagnose/ends.h"

bool owed_by_now(const struct scene *scene, const struct ends *ends, const struct wait *w, uint64_t from_ns);
/* The same of a loop that by its set would rest: it spoke last over one of few connections. */
bool owed_to_loop(const struct scene *scene, const struct ends *ends, const struct wait *w, uint64_t from_ns);
/* A young program whose end its parent waits for, or one that a shell at a terminal waits for. */
bool owed_command(const struct scene *scene, uint32_t thread);
/* Since when it may have asked for what it is owed, by the wait. */
uint64_t owed_asked_since(const struct scene *scene, const struct wait *w);
/* Whoever asked over the connection, at `since_ns` or later, is owed the answer. */
bool owed_on(const struct scene *scene, const struct ends *ends, const struct descriptor *d, uint64_t since_ns, uint64_t from_ns);
/* From when on a server that was asked then may have asked others. */
uint64_t owed_upstream_since(const struct scene *scene, uint64_t asked_ns);
/* A connection that its process began itself, to another than the window server. */
bool owed_is_upstream(const struct ends *ends, const struct descriptor *d);
/* One of those is such. */
bool owed_upstream(const struct scene *scene, const struct ends *ends, uint32_t pid, uint64_t since_ns, uint64_t from_ns);
/* The other end of a connection that the server's process (d's) accepted: it was told something there last, and since turned to
 * something else. */
bool owed_turned_away(const struct scene *scene, const struct ends *ends, const struct descriptor *d, uint64_t since_ns, uint64_t from_ns);
/* Who reads what the other end passes on by a pipe, and has turned to something else since, where that was told something last; 0 nobody. */
uint32_t owed_passed_on(const struct scene *scene, const struct ends *ends, const struct descriptor *d, uint64_t since_ns, uint64_t from_ns);
/* One whom the server told something last, and who runs another program than the one who asks, has turned away so. */
bool owed_told_last(const struct scene *scene, const struct ends *ends, uint32_t server, uint32_t asks, uint64_t since_ns, uint64_t from_ns);
/* The thread's process has windows, and none of its threads listens to them: what the window server sent lies unread. */
bool owed_leaves_windows(const struct scene *scene, const struct ends *ends, const struct wait *w, uint64_t from_ns);
/* The same, whether something lies unread or not. */
bool owed_ignores_windows(const struct scene *scene, const struct ends *ends, const struct wait *w, uint64_t from_ns);
/* A thread of the process waits, or may wait, for the next that comes over the connection. */
bool owed_listens(const struct scene *scene, const struct ends *ends, uint32_t pid, uint64_t connection, uint64_t from_ns);
/* The wait is for that object, or may be, among others. */
bool owed_may_listen(const struct scene *scene, const struct ends *ends, const struct wait *wait, uint64_t object);

#endif
