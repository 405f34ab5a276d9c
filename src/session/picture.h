/* What some threads did in a stretch of time, as data for a picture: a lane for each with
 * its states, what it waited on and where, arrows between them, the stacks. All comes from
 * the scene and the graph that answers are found in. */
#ifndef SESSION_PICTURE_H
#define SESSION_PICTURE_H

#include "base/json.h"
#include "session/session.h"

struct picture_request {
	const struct session *session;   /* that looks at the stretch */
	const uint32_t *threads;         /* entries of its tables, in the order of the lanes */
	const char *const *comms;        /* what they are called; NULL, or of one of them: as at the end of the stretch */
	unsigned count;
	uint64_t from_ns, to_ns;
	const uint64_t *evidence;        /* events whose arrows are to be there, if others are left out; sorted */
	size_t evidence_count;
};

void picture_json(struct arena *arena, struct json *json, const char *key, const struct picture_request *request);

#endif
