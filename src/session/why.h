/* "Why was it stuck?", as the command line and the interactive session ask it. */
#ifndef SESSION_WHY_H
#define SESSION_WHY_H

#include "base/json.h"
#include "base/options.h"
#include "session/session.h"

/* How `why` and `report` are asked which hang is meant, and what excludes what. */
#define EXIT_NO_HANG 3
#define OPTIONS_OF_QUESTION \
	{ "hang", 0, OPTION_NUMBER, "N", "the Nth hang that `argus hangs` lists; with --pid, --at or --mark the Nth of those", .least = 1 }, \
	{ "pid", 'p', OPTION_NUMBER, "PID", "the worst hang of this process", .least = 1, .most = OPTION_PID_MOST }, \
	{ "at", 0, OPTION_TEXT, "TIME", "the hang at this time: seconds since the start, @ns, or the time of day" }, \
	{ "mark", 0, OPTION_TEXT, "TEXT", "the hang at this mark, or the last one before it" }, \
	{ "tid", 't', OPTION_NUMBER, "TID", "this thread, at --at, or between --from and --to", .least = 1, .most = OPTION_PID_MOST }, \
	{ "from", 0, OPTION_TEXT, "TIME", "begin of the window; alone: the worst hang in it; with --pid or --tid: that, hang or not" }, \
	{ "to", 0, OPTION_TEXT, "TIME", "end of the window" }, \
	{ "last", 0, OPTION_DURATION, "TIME", "the worst hang of the last TIME: 10m", .least = 1 }, \
	{ "base", 0, OPTION_TEXT, "FILE", "a trace of the same programs in which all went well" }
#define RULES_OF_QUESTION \
	{ .one_of = "at mark last" }, { .one_of = "mark tid" }, { .one_of = "last tid" }, { .one_of = "hang tid" }, { .one_of = "pid tid" }, \
	{ .one_of = "at from last" }, { .one_of = "at to last" }, { .one_of = "mark from" }, { .one_of = "mark to" }

/* What was asked; texts as written. Zero, or NULL: not given. */
struct why_question {
	uint64_t hang;            /* from 1 */
	uint64_t last_ns;
	uint32_t pid, tid;
	const char *at, *mark, *from, *to, *base_path;
};

void why_question_read(const struct options *options, struct why_question *ret_question);

struct why_reply {
	const struct diagnosis *diagnosis; /* verdict none when there is no hang: its text says what was looked for */
	const struct hang *hangs;          /* that the question was about, the one that is answered among them */
	size_t hang_count;                 /* 0: a window was asked about */
	size_t number;                     /* of the hang that is answered, from 1 */
	bool uncertain;                    /* by the usual measure nothing hung: what took longest is told */
};

/* The reply lies in the arena. `base`, another trace in which all went well, may be NULL. */
int why_ask(struct arena *arena, struct session *session, const struct session *base,
	    const struct why_question *question, struct why_reply *ret_reply, struct err *err);

/* The other hangs that the question may have meant; nothing when there are none. */
void why_others_text(struct arena *arena, const struct session *session, const struct why_reply *reply, struct buf *buf);

/* True when a rule spoke for the same before. */
bool why_spoke_before(const struct judgement *judgement, size_t index);
void why_json(const struct session *session, const struct diagnosis *diagnosis, struct buf *buf);
/* The members of that object, into an open one. */
void why_members_json(const struct session *session, const struct diagnosis *diagnosis, struct json *json);
/* `width`: columns of the terminal, 0 none. */
void why_text(struct arena *arena, const struct session *session, const struct diagnosis *diagnosis, int width, struct buf *buf);

/* What to record to know more; nothing when the evidence is good. */
void why_plan_text(const struct diagnosis *diagnosis, struct buf *buf);

#endif
