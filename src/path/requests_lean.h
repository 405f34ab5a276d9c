/* Requests without messages: by who woke whom, over which socket, in which call.
 *
 * A client on the same machine that waits for its answer tells of its request by that wait.
 * One that is answered before it waits tells of it by the wake-up with which it asked: the
 * turn of the thread that it woke is the request. What neither slept for is not seen: asked
 * while the server was awake, and answered before the client slept. With no client on the
 * machine the turns that something from outside began count. */
#ifndef PATH_REQUESTS_LEAN_H
#define PATH_REQUESTS_LEAN_H

#include "path/requests.h"

#define STATE_LISTENING 10u  /* of a socket */

struct requests_question {
	struct naming *naming;
	const struct ends *ends;
	uint32_t pid;
	enum request_group by;
	uint64_t from_ns, to_ns;
};

void requests_find_lean(const struct requests_question *question, struct requests *requests);

/* Part of requests.c. */
bool requests_is_socket(uint64_t object);
uint32_t requests_group(const struct requests_question *q, uint64_t object, bool other_end, uint32_t ustack);

#endif
