/* Where one stands in the session of `argus debug`, to look at: the wait at that moment, its
 * stack, who ended it or should have (several where the way forks), whom the thread set to
 * work, and the way that was gone so far. */
#ifndef SESSION_NODE_H
#define SESSION_NODE_H

#include "base/json.h"
#include "session/debug.h"

/* The member "node"; null where one stands nowhere yet. */
void node_json(struct debug *debug, struct json *json);

#endif
