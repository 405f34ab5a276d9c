/* Whether a wait that stands at the trace's end is one that another should have ended by now, as the last snapshot alone
 * tells: a connection that is not accepted, what is written and not taken, an answer of a server that does not even listen
 * to who asks. Who waits for news, for a person, or for somebody who is only slow is owed nothing. */
#ifndef DIAGNOSE_OWED_H
#define DIAGNOSE_OWED_H

#include "diagnose/ends.h"

bool owed_by_now(const struct scene *scene, const struct ends *ends, const struct wait *w, uint64_t from_ns);
/* A thread of the process waits, or may wait, for the next that comes over the connection. */
bool owed_listens(const struct scene *scene, const struct ends *ends, uint32_t pid, uint64_t connection);

#endif
