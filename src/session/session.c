/* A loaded trace, see session.h. */
#include "session/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "graph/graph.h"
#include "session/recorded.h"
#include "trace/when.h"

int session_open(const char *path, struct session *ret_session, struct err *err)
{
	struct session s = { 0 };
	int r = trace_open(path, &s.trace, err);

	if (r)
		return r;
	r = scene_build(s.trace, NULL, &s.scene, err);
	if (!r) {
		s.tables = s.scene->tables;
		r = names_open(s.trace, s.tables, NULL, &s.names, err);
	}
	if (r) {
		session_close(&s);
		return r;
	}
	s.diagnoser = diagnoser_new(s.scene, s.names);
	s.root_pid = recorded_root(s.trace, s.tables);
	*ret_session = s;
	return 0;
}

void session_save_index(struct session *session)
{
	if (session->scene && session->scene->graph)
		graph_save_index(session->scene->graph);
}

void session_close(struct session *session)
{
	diagnoser_free(session->diagnoser);
	if (session->names)
		names_close(session->names);
	/* The process that writes the index is a copy of this one: of less it is made sooner. */
	if (session->scene)
		scene_leave_graph(session->scene);
	if (!session->temporary)
		session_save_index(session);
	scene_free(session->scene);
	if (session->trace)
		trace_close(session->trace);
	*session = (struct session){ 0 };
}

int session_time(const struct session *session, const char *text, uint64_t *ret_ns, struct err *err)
{
	const struct trace_summary *summary = trace_summary(session->trace);
	uint64_t ns;

	if (text[0] == '@' || text[0] == '+' || text[0] == '-' || strchr(text, ':')) {
		int r = trace_time_parse(session->trace, text, &ns, err);

		if (r)
			return r;
	} else {
		if (parse_duration(text, &ns))
			return err_set(err, -EINVAL, "'%s' is not a time: write seconds since the start of the trace (12.5), "
				       "before its end (-2s), the trace's own as dump prints them, @ and nanoseconds, or the time of "
				       "day (14:03:07)", text);
		/* Numbers as large as the clock itself are the clock's. */
		if (summary->start_ns > 1000000000 && ns / 1000000000 >= summary->start_ns)
			ns /= 1000000000;
		else if (ns > summary->end_ns - summary->start_ns && ns >= summary->start_ns)
			; /* beyond the trace as a distance, within it as dump prints it */
		else
			ns += summary->start_ns;
	}
	if (ns < summary->start_ns || ns > summary->end_ns)
		return err_set(err, -ERANGE, "'%s' is outside the trace, which lasts %.3f s", text,
			       (double)(summary->end_ns - summary->start_ns) / 1e9);
	*ret_ns = ns;
	return 0;
}

int session_mark(const struct session *session, const char *text, uint64_t *ret_ns, struct err *err)
{
	const struct scene *scene = session->scene;

	for (uint32_t i = scene->mark_count; i-- > 0; )
		if (strstr(scene->marks[i].text, text)) {
			*ret_ns = scene->marks[i].time;
			return 0;
		}
	return err_set(err, -ENOENT, "the trace has no mark '%s'%s", text,
		       scene->mark_count ? "" : "; it has none at all");
}

int session_process(const struct session *session, uint32_t pid, uint32_t *ret_thread, struct err *err)
{
	const struct tables *tables = session->tables;

	for (int leader = 1; leader >= 0; leader--)
		for (uint32_t i = tables->thread_count; i-- > 1; )
			if (tables->threads[i].pid == pid && (!leader || tables->threads[i].tid == pid)) {
				*ret_thread = i;
				return 0;
			}
	for (uint32_t i = 1; i < tables->thread_count; i++)
		if (tables->threads[i].tid == pid)
			return err_set(err, -ENOENT, "%" PRIu32 " is a thread of process %" PRIu32 " (%s): give that with --pid, "
				       "or --tid with --from and --to", pid, tables->threads[i].pid, tables->threads[i].comm);
	return err_set(err, -ENOENT, "process %" PRIu32 " is not in the trace", pid);
}
