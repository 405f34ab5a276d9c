/* A loaded trace and what has been worked out about it: tables, names, scene.
 * Commands open it and ask; what is costly is made when first asked for. */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include "diagnose/diagnosis.h"
#include "diagnose/hangs.h"

struct session {
	struct trace *trace;
	const struct tables *tables;
	struct names *names;
	struct scene *scene;
	struct diagnoser *diagnoser;
	uint32_t root_pid;        /* the recorded command, 0 none */
	bool temporary;           /* the trace goes when the session does: no index is written */
};

int session_open(const char *path, struct session *ret_session, struct err *err);
void session_close(struct session *session);
/* Has the graph's index written, if that is due; session_close does it too. For who keeps
 * the session open: when the first answer has been given. */
void session_save_index(struct session *session);

/* A time as a person writes it: seconds since the trace's start ("12.5", "12.5s",
 * "300ms"), CLOCK_MONOTONIC ns ("@123456789"), or the wall clock ("14:03:07.5",
 * local time of the trace's day). */
int session_time(const struct session *session, const char *text, uint64_t *ret_ns, struct err *err);
/* Start of the last mark that contains the text; -ENOENT. */
int session_mark(const struct session *session, const char *text, uint64_t *ret_ns, struct err *err);
/* The thread to ask about for a pid, -ENOENT with a helpful sentence. */
int session_process(const struct session *session, uint32_t pid, uint32_t *ret_thread, struct err *err);

#endif
