/* An event loop that its own time limit let go on, and what its threads have to do with that. Private to the finding of suspects. */
#ifndef DIAGNOSE_OWN_LIMIT_H
#define DIAGNOSE_OWN_LIMIT_H

#include "diagnose/follow.h"
#include "diagnose/question.h"

/* Others wait for what the loop did when its time had come, and the thread is one of its own that was only started, and waits for a word since. */
bool own_limit_came(const struct question *q, const struct trail *t);

#endif
