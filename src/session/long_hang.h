/* Of a hang that is too long to be looked at as a whole, which end of it is. */
#ifndef SESSION_LONG_HANG_H
#define SESSION_LONG_HANG_H

#include "session/session.h"

/* `found`: the hang as it was found; `hang`: as session_turn_to left it, whose end alone is looked at where it is so long. Where what stood in
 * its beginning explains more than the end does, the session turns to that, and the hang ends with what is looked at; *ret_ended_ns is then when
 * it truly did, else 0. */
int long_hang_turn(struct session *session, const struct hang *found, struct hang *hang, struct side *base, uint64_t *ret_ended_ns, struct err *err);

#endif
