/* Sleeps between tries for something that another has: a lock that is a file or folder, which
 * can be made by one alone, or a process that is looked at with a signal of number 0. Only
 * where calls were recorded: the full level. */
#ifndef DIAGNOSE_TRIES_H
#define DIAGNOSE_TRIES_H

#include "diagnose/scene.h"

struct tries {
	const struct call_made *refused; /* just before the sleep */
	const struct call_made *next;    /* the same call just behind it, NULL none */
};

/* The episode is of sleeps, before which the thread was refused something, or saw that a process lives. */
bool tries_find(const struct scene *scene, const struct episode *episode, struct tries *ret_tries);
/* At last it got it, or the process was gone. */
bool tries_came(const struct tries *tries);
/* Who took away what it waited for, in its last sleep: of those that had made such a thing before it was refused that, the last.
 * NULL nobody. */
const struct call_made *tries_taken_away(const struct scene *scene, const struct episode *episode, const struct tries *tries);

#endif
