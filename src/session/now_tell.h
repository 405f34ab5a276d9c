/* What a look at this moment found, and how it is told: as text, as JSON, or only what has changed. */
#ifndef SESSION_NOW_TELL_H
#define SESSION_NOW_TELL_H

#include "base/buf.h"
#include "diagnose/diagnosis.h"
#include "diagnose/standing.h"
#include "session/command.h"
#include "session/now_asked.h"
#include "session/now_before.h"
#include "session/now_look.h"
#include "session/now_meant.h"
#include "session/session.h"

/* Of one thread that stands still. */
struct now_finding {
	const struct standing *standing;
	const struct diagnosis *diagnosis;
	const struct diagnosis *before; /* of what it waited for when that was asked, where it went on meanwhile */
};

struct now_answers {
	struct command_context *context;
	struct arena arena;       /* of this look */
	struct session session;
	uint64_t from_ns;         /* what has not moved since then stands still */
	struct event_snapshot last; /* snapshot's end */
	uint64_t last_ns;           /* when it began */
	const struct now_asked *asked; /* NULL: a trace is read */
	const struct now_look *taking; /* NULL: a trace is read */
	struct now_meant meant;
	struct filter calls;      /* whose calls a longer look records */
	struct now_finding *findings;
	size_t count;
	struct now_finding *perhaps;  /* not asked about, and uncertain */
	size_t perhaps_count;
	struct now_finding *doubted;  /* the same, though another owes it the end of its wait: who is only guessed */
	size_t doubted_count;
	const struct standing *elsewhere; /* nothing that was asked about is stuck, and that one is */
	struct buf said;          /* signature of what was told last */
	bool again, told;
	bool opened;              /* session and arena are in use */
	bool silent;              /* what is found is not told yet */
	bool may_repeat;          /* a longer look can be taken, ... */
	uint64_t longer_ns;       /* ... which tells more than this one; 0 it does not */
	struct now_before before; /* what this one told, of the longer one */
};

bool now_finding_is_stuck(const struct now_finding *finding);
/* The way to who is to blame leads over that thread, which is not the first on it. */
bool now_leads_over(const struct diagnosis *diagnosis, uint32_t thread);
/* What it looks at, or waits to see change; "" nothing is known of that. */
const char *now_looks_of(struct now_answers *answers, const struct now_finding *finding);
int now_tell(struct now_answers *answers);
/* Where that is not what was told last. */
int now_tell_change(struct now_answers *answers);

#endif
