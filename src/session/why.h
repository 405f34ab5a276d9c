/* "Why was it stuck?", as the command line and the interactive session ask it. */
#ifndef SESSION_WHY_H
#define SESSION_WHY_H

#include "base/json.h"
#include "base/options.h"
#include "session/session.h"

/* What was asked; texts as written. Zero, or NULL: not given. */
struct why_question {
	uint64_t hang;            /* from 1 */
	uint32_t pid, tid;
	const char *at, *mark, *from, *to, *base_path;
};

void why_question_read(const struct options *options, struct why_question *ret_question);

/* *ret_diagnosis lies in the arena; its verdict is none when there is no hang,
 * and its text then says what was looked for. `base`, another
 * trace in which all went well, may be NULL. */
int why_ask(struct arena *arena, const struct session *session, const struct session *base,
	    const struct why_question *question, const struct diagnosis **ret_diagnosis, struct err *err);

void why_json(const struct session *session, const struct diagnosis *diagnosis, struct buf *buf);
void why_text(struct arena *arena, const struct session *session, const struct diagnosis *diagnosis, struct buf *buf);

/* What to record to know more; nothing when the evidence is good. */
void why_plan_text(const struct diagnosis *diagnosis, struct buf *buf);

#endif
