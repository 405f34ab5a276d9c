/* An answer to look at: all that the page of `argus report` and `argus serve` shows, as
 * one JSON document (docs/json.md). It holds what `argus why --json` tells, the threads on
 * the way as lanes (picture.h), and which lane each part of the answer is about. */
#ifndef SESSION_VIEW_H
#define SESSION_VIEW_H

#include "session/why.h"

#define VIEW_VERSION 1

struct view_options {
	const char *build;       /* of Argus */
	bool redact;             /* it is going to be redacted, and says so */
};

/* `base`: the other trace that was asked with, or NULL. */
void view_json(struct arena *arena, struct session *session, const struct session *base, const struct why_reply *reply,
	       const struct view_options *options, struct buf *buf);
/* The members of that object, or some of them, into an open one. */
void view_members_json(struct arena *arena, struct session *session, const struct session *base, const struct why_reply *reply,
		       const struct view_options *options, struct json *json);
void view_about_json(const struct session *session, const char *build, struct json *json);
void view_hangs_json(const struct hang *hangs, size_t count, size_t most, struct json *json);

/* Where the time of the recorded command's run went; null where the trace is none of one. */
void view_run_path_json(struct arena *arena, struct session *session, struct json *json);

/* Takes out of a JSON document what may tell more than the hang: paths, arguments, host,
 * user and control group names, addresses, texts of marks. Whatever member they stand in;
 * names of programs, threads and functions stay. */
void view_redact(const struct session *session, const struct buf *document, struct buf *ret_buf);

#endif
