/* Whose standing may be meant, though nobody says that he is stuck: it is told apart, as uncertain. */
#ifndef DIAGNOSE_STANDING_UNASKED_H
#define DIAGNOSE_STANDING_UNASKED_H

#include "diagnose/ends.h"
#include "diagnose/standing.h"

/* A young program's first thread waits for an answer, or for what it writes to be taken: most likely, for some only listen. */
bool unasked_may_ask(const struct scene *scene, const struct ends *ends, const struct standing *s);
enum turned {
	TURNED_NONE,
	TURNED_RESTS,   /* to its loop, as one does that has passed something on */
	TURNED_AWAY,    /* to something else, or it is at work since */
};

/* What a thread of the process at the other end of what it waits for alone turned to, and is at still, as the wait began. */
enum turned unasked_turned(const struct scene *scene, const struct ends *ends, const struct standing *s);
/* In the midst of its work the first thread of a program with windows, to which none of its threads listens, waits for another process; or that of
 * one with a loop at a terminal waits for a child: neither listens to its user. */
bool unasked_stands_inside(const struct scene *scene, const struct ends *ends, const struct standing *s, uint64_t from_ns);
/* A command waits for a word of memory that no process that lives has mapped but its own: one that opens it anew may change it. */
bool unasked_may_be_lost(const struct scene *scene, const struct ends *ends, const struct standing *s, uint64_t from_ns);
/* A command, for whose end its parent waits, does nothing but wait itself. */
bool unasked_is_awaited(const struct scene *scene, const struct standing *s);

#endif
