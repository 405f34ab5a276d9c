/* A program that was asked about stood still when that was asked, and went on, or ended, before the answer was there: what it waited for till then
 * is told all the same. */
#ifndef SESSION_NOW_WENT_ON_H
#define SESSION_NOW_WENT_ON_H

#include "base/json.h"
#include "session/now_asked.h"
#include "session/session.h"

/* What one of the process's threads waited for, as the look began, for long, until it went on; NULL nothing. */
const struct diagnosis *now_went_on(struct arena *arena, struct diagnoser *diagnoser, uint32_t pid, uint64_t from_ns);
/* Of one that does something else since then. Nothing for NULL, unless it had waited for long when that was asked. */
void now_went_on_text(struct arena *arena, const struct session *session, const struct diagnosis *before, const struct now_asked *asked, uint32_t pid,
		      uint64_t since_ns, int width, struct buf *buf);

/* Of one that has ended. */
void now_ended_text(struct arena *arena, const struct session *session, const struct now_asked_one *one, uint64_t from_ns, int width, struct buf *buf);
/* The member that lists them; nothing without any. */
void now_ended_json(struct arena *arena, const struct session *session, const struct now_asked_one *const *ended, size_t count, uint64_t from_ns,
		    struct json *json);

/* A member, null without an answer. */
void now_answer_json(struct json *json, const char *name, const struct diagnosis *diagnosis);

#endif
