/* "Where did the time go?": the critical path of a run, folded, as the command line and
 * other commands ask for it. */
#ifndef SESSION_PATH_RUN_H
#define SESSION_PATH_RUN_H

#include "base/buf.h"
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
/* Whose path it is, how long, and what is not known of it. */
void path_reply_head(const struct path_reply *reply, struct buf *buf);
/* A line, if there were any; `what` follows from them. */
void path_put_losses(const struct trace_losses *losses, const char *what, struct buf *buf);
/* Whose path is meant where nobody is named: the recorded command's, or that of the only one that was to be recorded; 0 of
 * nobody. */
int path_root(const struct session *session, uint32_t *ret_tid, struct err *err);
/* The process of that name in another trace: the same one, else one of its recorded command, else the one that was there
 * longest. -ENOENT: none. */
int path_named(const struct session *session, const char *comm, uint32_t pid, uint32_t *ret_pid, struct err *err);

/* The path of a thread, by tid, between two moments, however long that is; to be freed with
 * fold_done. False when it is not there. */
bool path_fold_of(const struct session *session, const struct path_question *question, struct fold *ret_fold);

#endif
