/* "Where did the time go?": the critical path of a run, folded, as the command line and
 * other commands ask for it. */
#ifndef SESSION_PATH_RUN_H
#define SESSION_PATH_RUN_H

#include "path/whatif.h"
#include "session/session.h"

struct path_question {
	uint32_t pid, tid;        /* 0: the recorded command's first thread */
	uint64_t from_ns, to_ns;
	bool what_if;             /* tell what would help, too */
	unsigned line_cells;      /* of the path's line, 0 none is made */
	uint64_t short_below_ns;  /* links shorter than that are short: their sum is told */
};

struct path_reply {
	struct fold fold;         /* finished; to be freed with path_reply_done */
	struct changes changes;   /* where they were asked for */
	uint64_t from_ns, to_ns;  /* of the path: the thread's life in the window */
	uint32_t pid, tid;
	const char *comm;         /* in the arena */
	uint64_t lost, lost_ns;   /* events, and the time in which some are missing */
};

/* -ENOENT when the thread is not there, or whose path is meant is not said. The memory that
 * is needed goes with a stretch of the trace and the number of lines, not with the trace. */
int path_run(struct arena *arena, struct session *session, const struct path_question *question, struct path_reply *ret_reply,
	     struct err *err);
/* For when nothing hung: where the path of the process (0: the recorded command) went, in two
 * sentences; NULL when there is nothing to be told. In the arena. */
const char *path_sentences(struct arena *arena, struct session *session, uint32_t pid);
void path_reply_done(struct path_reply *reply);

/* The path of a thread, by tid, between two moments, however long that is; to be freed with
 * fold_done. False when it is not there. */
bool path_fold_of(const struct session *session, const struct path_question *question, struct fold *ret_fold);

#endif
