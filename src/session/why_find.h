/* The hangs that a question of `why` is about. */
#ifndef SESSION_WHY_FIND_H
#define SESSION_WHY_FIND_H

#include "session/why.h"

/* Of a thread at a moment its process's hangs are looked for: sets `pid`. */
int why_process_of_thread(struct session *session, struct why_question *question, struct err *err);
/* Of all times that it is about, likeliest first. */
int why_find_hangs(struct arena *arena, struct session *session, const struct why_question *question, struct why_reply *reply, struct err *err);

#endif
