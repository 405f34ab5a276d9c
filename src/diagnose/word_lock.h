/* A wait for a word that is for a lock, though nobody keeps who owns that: as the functions on the stack are called. */
#ifndef DIAGNOSE_WORD_LOCK_H
#define DIAGNOSE_WORD_LOCK_H

#include "diagnose/scene.h"
#include "symbols/names.h"

/* `names` may be NULL. */
bool word_lock_is(struct names *names, const struct tables *tables, const struct wait *w);
/* With a time limit, too: it may look for the lock again and again. */
bool word_lock_named(struct names *names, const struct tables *tables, const struct wait *w);
/* A private word, below a function of a type by which a lock is acquired, whatever the waiting is made of: a plain function of such a name may be what
 * others make conditions of. Also with a time limit. */
bool word_lock_of_type(struct names *names, const struct tables *tables, const struct wait *w);

/* It takes from a queue of its process, which names on the stack tell: it waits for news, and not for what somebody has. */
bool word_takes(struct names *names, const struct tables *tables, const struct wait *w);

#endif
