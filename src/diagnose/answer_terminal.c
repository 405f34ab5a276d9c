/* What an answer says of the signal that stopped the culprit, as of a terminal: a job in the background may neither
 * read from it nor set it; and of a terminal whose output was stopped. See answer.h. */
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "diagnose/answer.h"
#include "diagnose/judgement.h"
#include "diagnose/walk_person.h"

static bool is_stop(uint32_t signal)
{
	return signal >= SIGSTOP && signal <= SIGTTOU;
}

/* The signal by which the process was stopped in the window, or before it and still is; 0 none is known. *ret_sent: its
 * sending was recorded; else the kernel keeps which it was, and not whose. */
static uint32_t stopped_by(const struct scene *scene, const struct diagnosis *g, bool *ret_sent)
{
	uint32_t thread = g->culprit.thread, first = scene->threads[thread].wait;
	const struct wait *stop = NULL;

	*ret_sent = false;
	for (uint32_t i = scene_waits_from(scene, thread, g->end_ns); i-- > first && !stop && scene->waits[i].end_ns > g->start_ns; )
		if (scene->waits[i].kind == WAIT_KIND_stop && scene->waits[i].state == TASK_STATE_stopped)
			stop = &scene->waits[i];
	for (uint32_t i = scene->signal_count; stop && i-- > 0; ) {
		const struct sent_signal *s = &scene->signals[i];

		if (s->time <= stop->start_ns && is_stop(s->signal) && scene_same_process(scene, s->target, thread)) {
			*ret_sent = true;
			return s->signal;
		}
	}
	return stop && is_stop((uint32_t)stop->argument) ? (uint32_t)stop->argument : 0;
}

/* "" not known. */
static const char *terminal_of(const struct describer *d, uint32_t pid)
{
	struct row row = ends_of_process(d->ends, pid);

	for (uint32_t i = 0; i < row.count; i++)
		if (ends_at(d->ends, row, i)->at.kind == OBJECT_KIND_tty && ends_at(d->ends, row, i)->text[0])
			return ends_at(d->ends, row, i)->text;
	return "";
}

/* The wait of one on the way to write to a terminal; NULL none. */
static const struct wait *writes_to_terminal(const struct describer *d, const struct diagnosis *g)
{
	for (size_t i = 0; i < g->path_count; i++) {
		uint32_t thread = g->path[i].actor.thread;
		const struct wait *w = thread && g->path[i].actor.pid != g->culprit.pid ? answer_longest_wait(d->scene, thread, g) : NULL;

		if (w && w->kind == WAIT_KIND_write && object_kind(w->object) == OBJECT_KIND_tty)
			return w;
	}
	return NULL;
}

/* The culprit, or another thread of its process. */
static bool listened(const struct describer *d, const struct diagnosis *g)
{
	SCENE_EACH_MATE(d->scene, g->culprit.thread, i) {
		const struct wait *w = i == g->culprit.thread || rule_holds(d->scene, RULE_listener_mate) ? answer_longest_wait(d->scene, i, g) : NULL;

		if (w && ends_listens_at_terminals(d->ends, g->culprit.pid, w))
			return true;
	}
	return false;
}

/* At the other side of the terminal that the victim, or one that it waits for, writes to the culprit only listened. */
static void tell_stopped_output(const struct describer *d, const struct diagnosis *g, struct buf *buf)
{
	const struct wait *writes = writes_to_terminal(d, g);

	if (writes && g->culprit.pid != g->victim.pid && !ends_lies_unread(d->ends, writes) && listened(d, g))
		buf_text(buf, writes->end == WAIT_END_OPEN ? " The terminal's output is stopped, as by Ctrl-S, until somebody lets it go on."
							   : " The terminal's output was stopped, as by Ctrl-S, until somebody let it go on.");
}

/* The culprit waits for that itself. */
static void tell_awaited_output(const struct describer *d, const struct diagnosis *g, struct buf *buf)
{
	const struct wait *w = answer_longest_wait(d->scene, g->culprit.thread, g);
	uint64_t from = w->start_ns > g->start_ns ? w->start_ns : g->start_ns, to = w->end_ns < g->end_ns ? w->end_ns : g->end_ns;
	uint32_t shows = walk_waits_for_output(d->scene, d->ends, w, from, to);
	struct actor who;

	if (!shows)
		return;
	if (w->end == WAIT_END_OPEN) {
		buf_text(buf, " The terminal's output is stopped, as by Ctrl-S, until somebody lets it go on");
	} else {
		describe_thread(d, w->waker, w->end_ns, &who);
		buf_printf(buf, " The terminal's output was stopped, as by Ctrl-S, until %s let it go on (event %" PRIu32 ")",
			   answer_who(d->arena, &who), w->end_event);
	}
	describe_thread(d, shows, to - 1, &who);
	buf_printf(buf, "; %s, at its other side, only %s.", answer_who(d->arena, &who), w->end == WAIT_END_OPEN ? "listens" : "listened");
}

void answer_terminal_text(const struct describer *d, const struct diagnosis *g, struct buf *buf)
{
	bool sent = false;
	uint32_t signal = g->culprit.kind == ACTOR_THREAD ? stopped_by(d->scene, g, &sent) : 0;
	const char *path, *who = g->culprit.thread == g->victim.thread ? "It" : answer_who(d->arena, &g->culprit);

	if (g->awaits_output)
		tell_awaited_output(d, g, buf);
	else if (g->culprit.kind == ACTOR_THREAD)
		tell_stopped_output(d, g, buf);
	if (signal == SIGSTOP && !sent)
		buf_printf(buf, " %s was stopped by SIGSTOP, from whom the kernel does not keep; SIGCONT lets it go on.", who);
	if (!signal || signal == SIGSTOP || (signal == SIGTSTP && sent))
		return;
	path = terminal_of(d, g->culprit.pid);
	if (signal == SIGTSTP)
		buf_printf(buf, " %s was stopped by SIGTSTP, as by Ctrl-Z at its terminal%s", who, path[0] ? " " : "");
	else
		buf_printf(buf, " %s was stopped by %s: in the background it may not %s its terminal%s", who, signal == SIGTTIN ? "SIGTTIN" : "SIGTTOU",
			   signal == SIGTTIN ? "read from" : "write to, or set,", path[0] ? " " : "");
	buf_escaped(buf, path, strlen(path), NULL);
	buf_text(buf, "; it goes on when it is put into the foreground (fg).");
}
