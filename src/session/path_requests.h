/* `argus path --requests`: the requests of a server, and what the slowest went through. */
#ifndef SESSION_PATH_REQUESTS_H
#define SESSION_PATH_REQUESTS_H

#include "base/json.h"
#include "path/tails.h"
#include "session/path_run.h"

struct requests_reply {
	struct requests requests;
	struct tails tails;       /* the slowest 1 % against the middle half; with a base the middle half against its */
	bool has_tails;
	const char *base_path;    /* NULL none */
	uint64_t base_count, base_median_ns;
	struct texts texts;       /* of groups */
	struct trace_losses losses;
	uint32_t pid;
};

/* `base`: another trace of the same server, or NULL. */
int path_requests(struct session *session, struct session *base, const struct path_question *question, enum request_group by,
		  struct requests_reply *ret_reply, struct err *err);
void path_requests_done(struct requests_reply *reply);
void path_requests_text(const struct session *session, const struct requests_reply *reply, struct buf *buf);
void path_requests_json(const struct session *session, const struct requests_reply *reply, struct json *json);

#endif
