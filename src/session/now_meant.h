/* Which processes are meant by the words of a question about this moment. */
#ifndef SESSION_NOW_MEANT_H
#define SESSION_NOW_MEANT_H

#include "base/options.h"
#include "record/filter.h"
#include "session/now_asked.h"
#include "session/session.h"

struct now_meant {
	uint32_t *pids;
	size_t count;
	const struct now_asked_one **ended; /* was there when that was asked, and is not any more */
	size_t ended_count;
};

/* A number is a process's or a thread's; a name, a program's or a process's, or else of the script that one runs. The lists lie in the
 * arena. `asked`: what there was of numbers when that was asked; NULL not known. */
int now_meant_find(struct arena *arena, const struct session *session, const struct options *given, const struct now_asked *asked,
		   struct now_meant *ret_meant, struct err *err);
/* Those that live, and what they have started, for a recording that is about them. */
void now_meant_filter(const struct session *session, const struct now_meant *meant, struct filter *ret_filter);

#endif
