/* argus now: why something is stuck at this moment, with nothing recorded before.
 *
 * A recording of half a second: its snapshots say who has been waiting for what, since
 * when, where and for whom; the look between them, what still runs. Then the answer
 * as `why` gives it, by the same engine. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "diagnose/answer.h"
#include "diagnose/standing.h"
#include "record/config.h"
#include "record/proc_look.h"
#include "record/recorder.h"
#include "record/signals.h"
#include "session/command.h"
#include "session/session.h"
#include "session/why.h"

#define LOOK_NS 500000000u
#define THRESHOLD_NS 5000000000u
#define SAMPLE_HZ 199u       /* the look is short */
#define ANSWERS_TOLD 3       /* in full; the rest a line each */
#define ANSWERS_SOUGHT 40    /* of what may be stuck, the longest */
#define CERTAIN 70           /* per cent: without a person who says so, what is less sure is not told */

#define STATUS_STUCK 1
#define STATUS_BLIND 2

static const struct option_rule now_rules[] = {
	{ .one_of = "read output" }, { .one_of = "read for" }, { 0 }
};

static const struct option_spec now_options[] = {
	{ "for", 0, OPTION_DURATION, "TIME", "how long to look at what still runs (0.5s)", .least = 1000000, .most = 60000000000 },
	{ "threshold", 0, OPTION_DURATION, "TIME", "without PID or NAME: what has been stuck for so long (5s)", .least = 1 },
	{ "output", 'o', OPTION_TEXT, "FILE", "keep the trace" },
	{ "read", 'r', OPTION_TEXT, "FILE", "answer from a trace that was kept, as of its end, instead of looking" },
	OPTION_JSON,
	{ 0 }
};

/* Of one thread that stands still. */
struct finding {
	const struct standing *standing;
	const struct diagnosis *diagnosis;
};

struct look {
	struct command_context *context;
	struct session session;
	uint32_t *pids;
	size_t pid_count;
	struct finding *findings;
	size_t count;
};

/* ---- the look ---- */

/* Until the time is over, or a signal asks to end it: -EINTR. */
static int look_on(struct recorder *recorder, uint64_t ns, int signals)
{
	struct pollfd fds[2] = { { .fd = signals, .events = POLLIN }, { .fd = recorder_fd(recorder), .events = POLLIN } };
	struct timespec left = { .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) };
	struct signalfd_siginfo info;

	while (ppoll(fds, 2, &left, NULL) > 0) {
		if (!fds[0].revents)
			return 0;
		if (read(signals, &info, sizeof(info)) == sizeof(info) && info.ssi_signo != SIGCHLD)
			return -EINTR;
	}
	return 0;
}

/* Without BPF, and what could not be seen that way. */
static int take_without(struct command_context *context, const char *path, const char *why, struct err *err)
{
	struct proc_look_seen seen;
	int r = proc_look(path, options_number(context->options, "for", LOOK_NS), &seen, err);

	if (r)
		return r;
	sink_printf(context->notes, "seen over /proc alone, for %s\n", why);
	sink_printf(context->notes, "  no stacks, no other ends of sockets; nothing of threads that move (%" PRIu32 " of %" PRIu32 ")\n",
		    seen.threads - seen.still, seen.threads);
	if (seen.closed)
		sink_printf(context->notes, "  %" PRIu32 " processes cannot be looked into (other users', not dumpable%s): only that they wait is known\n",
			    seen.closed, seen.ptrace_scope > 0 ? ", or kept by kernel.yama.ptrace_scope" : "");
	return 0;
}

static bool may_do_without(int r)
{
	return r == -EPERM || r == -EACCES || r == -ENOTSUP || r == -ENOENT;
}

static int take(struct command_context *context, const char *path, struct err *err)
{
	const struct options *given = context->options;
	struct err why = { 0 };
	struct recorder_options want = {
		.path = path, .keep_old = true, .sample_hz = SAMPLE_HZ,
		.stacks = STACKS_WAITS | STACKS_WAKES | STACKS_SAMPLES,
	};
	struct recorder *recorder;
	sigset_t before;
	int signals = signals_open(&before, err), r, stopping;

	if (signals < 0)
		return signals;
	r = recorder_start(&want, &recorder, &why);
	if (r && err)
		*err = why;
	if (!r) {
		r = look_on(recorder, options_number(given, "for", LOOK_NS), signals);
		stopping = recorder_stop(recorder, NULL, r ? NULL : err);
		if (!r)
			r = stopping;
		else
			err_set(err, r, "interrupted");
	}
	close(signals);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return may_do_without(r) ? take_without(context, path, why.text, err) : r;
}

/* ---- who is meant ---- */

static bool is_name_of(const struct thread *t, const char *name)
{
	const char *slash = strrchr(t->exe, '/');

	return !strcmp(t->comm, name) || (slash && !strcmp(slash + 1, name));
}

static void add_pid(struct look *look, uint32_t pid)
{
	for (size_t i = 0; i < look->pid_count; i++)
		if (look->pids[i] == pid)
			return;
	look->pids[look->pid_count++] = pid;
}

/* A number is a process's or a thread's; a name, a program's or a process's. */
static int add_word(struct look *look, const char *word, struct err *err)
{
	const struct tables *tables = look->session.tables;
	size_t before = look->pid_count;
	uint64_t number;
	bool is_number = !parse_number(word, &number);

	for (uint32_t i = 1; i < tables->thread_count; i++) {
		const struct thread *t = &tables->threads[i];

		if (t->flags & TASK_FLAGS_argus || t->end_ns < look->session.scene->end_ns || !t->pid)
			continue;
		if (is_number ? t->pid == number || t->tid == number : t->tid == t->pid && is_name_of(t, word))
			add_pid(look, t->pid);
	}
	if (look->pid_count > before)
		return 0;
	return err_set(err, -ENOENT, is_number ? "there is no process or thread %s" : "no process is called '%s'", word);
}

static int choose(struct look *look, struct err *err)
{
	const struct options *given = look->context->options;
	int r = 0;

	look->pids = arena_array(look->context->arena, uint32_t, look->session.tables->thread_count + 1);
	for (size_t i = 0; !r && i < given->argument_count; i++)
		r = add_word(look, given->arguments[i], err);
	return r;
}

/* ---- the answers ---- */

static const struct diagnosis *diagnose_standing(struct look *look, const struct standing *s)
{
	const struct scene *scene = look->session.scene;
	const struct thread *t = &scene->tables->threads[s->thread];
	struct diagnose_request request = { .thread = s->thread, .from_ns = scene->start_ns, .to_ns = scene->end_ns };

	if (t->start_ns > request.from_ns)
		request.from_ns = t->start_ns;
	return diagnose(look->context->arena, look->session.diagnoser, &request);
}

static bool is_stuck(const struct finding *f)
{
	return f->standing->kind != STANDING_MOVES && f->standing->kind != STANDING_RESTS;
}

static void find(struct look *look)
{
	const struct options *given = look->context->options;
	struct standing_options options = { .pids = look->pids, .pid_count = look->pid_count,
					    .threshold_ns = options_number(given, "threshold", THRESHOLD_NS) };
	const struct standing *list;
	size_t count = standing_find(look->context->arena, look->session.diagnoser, &options, &list);

	look->findings = arena_array(look->context->arena, struct finding, count);
	if (!look->pid_count && count > ANSWERS_SOUGHT)
		count = ANSWERS_SOUGHT;
	for (size_t i = 0; i < count; i++) {
		struct finding f = { .standing = &list[i] };

		if (is_stuck(&f))
			f.diagnosis = diagnose_standing(look, &list[i]);
		if (!look->pid_count && f.diagnosis->confidence < CERTAIN)
			continue;
		look->findings[look->count++] = f;
	}
}

static void describe_thread_of(const struct look *look, uint32_t thread, struct actor *actor)
{
	const struct thread *t = &look->session.tables->threads[thread];

	*actor = (struct actor){ .thread = thread, .pid = t->pid, .tid = t->tid, .comm = t->comm };
}

static void put_line(struct look *look, const struct finding *f, struct buf *buf)
{
	struct actor actor;

	describe_thread_of(look, f->standing->thread, &actor);
	buf_printf(buf, "%s: %s, %s%s\n", answer_who(look->context->arena, &actor), f->standing->reason,
		   f->standing->exactly ? "for " : "for at least ",
		   describe_time(look->context->arena, look->session.scene->end_ns - f->standing->since_ns));
}

/* One of the circle has been told of: the others stand for the same. */
static bool is_told(const struct look *look, size_t index)
{
	const struct diagnosis *d = look->findings[index].diagnosis;

	for (size_t i = 0; i < index && d->circle_count > 1; i++)
		for (size_t j = 0; j < d->circle_count; j++)
			if (look->findings[i].diagnosis && look->findings[i].diagnosis->circle_count > 1 &&
			    look->findings[i].diagnosis->circle[0].thread == d->circle[j].thread)
				return true;
	return false;
}

static void put_text(struct look *look, struct buf *buf)
{
	size_t told = 0;

	for (size_t i = 0; i < look->count; i++) {
		const struct finding *f = &look->findings[i];

		if (!is_stuck(f) || told >= ANSWERS_TOLD || is_told(look, i)) {
			put_line(look, f, buf);
			continue;
		}
		if (told++)
			buf_char(buf, '\n');
		why_text(look->context->arena, &look->session, f->diagnosis, look->context->out->width, buf);
	}
	if (!look->count)
		buf_printf(buf, "nothing is stuck\n");
}

static void put_json(struct look *look, struct buf *buf)
{
	struct json json;
	const char *level = trace_machine(look->session.trace, "level");

	json_init(&json, buf);
	json.pretty = true;
	json_object(&json, NULL);
	json_u64(&json, "version", 1);
	json_text(&json, "seen_by", level && !strcmp(level, "proc") ? "proc" : "bpf");
	json_array(&json, "threads");
	for (size_t i = 0; i < look->count; i++) {
		const struct finding *f = &look->findings[i];
		struct actor actor;

		describe_thread_of(look, f->standing->thread, &actor);
		json_object(&json, NULL);
		answer_actor_json(&json, &actor);
		json_bool(&json, "stuck", is_stuck(f));
		json_text(&json, "reason", f->standing->reason);
		json_u64(&json, "since_ns", f->standing->since_ns);
		json_u64(&json, "since_wall_ns", trace_wall_ns(look->session.trace, f->standing->since_ns));
		json_bool(&json, "exactly", f->standing->exactly);
		if (f->diagnosis) {
			json_object(&json, "answer");
			answer_json(&json, f->diagnosis);
			json_end(&json);
		} else {
			json_null(&json, "answer");
		}
		json_end(&json);
	}
	json_end(&json);
	json_end(&json);
	buf_char(buf, '\n');
}

static int answer(struct look *look, struct err *err)
{
	struct buf buf;
	int r = choose(look, err);

	if (r)
		return r;
	find(look);
	buf_init(&buf);
	if (options_has(look->context->options, "json"))
		put_json(look, &buf);
	else
		put_text(look, &buf);
	r = sink_buf(look->context->out, &buf);
	buf_done(&buf);
	for (size_t i = 0; !r && i < look->count; i++)
		if (is_stuck(&look->findings[i]))
			return STATUS_STUCK;
	return r;
}

static int look_and_tell(struct command_context *context, const char *path, bool keep, struct err *err)
{
	struct look look = { .context = context };
	int r = options_has(context->options, "read") ? 0 : take(context, path, err);

	if (!r)
		r = session_open(path, &look.session, err);
	if (r)
		return r;
	look.session.temporary = !keep;
	r = answer(&look, err);
	session_close(&look.session);
	return r;
}

static int run(struct command_context *context, struct err *err)
{
	const char *path = options_text(context->options, "output", options_text(context->options, "read", NULL));
	const char *folder = getenv("TMPDIR");
	char *temporary = NULL, *file = NULL;
	int r;

	if (!path) {
		temporary = (char *)arena_printf(context->arena, "%s/argus-now-XXXXXX", folder && folder[0] ? folder : "/tmp");
		if (!mkdtemp(temporary))
			return err_sys(err, -errno, "making a folder for the trace");
		path = file = (char *)arena_printf(context->arena, "%s/now.trace", temporary);
	}
	r = look_and_tell(context, path, !temporary, err);
	if (temporary) {
		unlink(file);
		rmdir(temporary);
	}
	if (r >= 0)
		return r;
	sink_printf(context->notes, "argus now: %s\n", err->text);
	return STATUS_BLIND;
}

const struct command command_now = {
	.name = "now",
	.arguments = "[PID|NAME]...",
	.summary = "tell why something is stuck at this moment",
	.help = "Without PID or NAME, everything that has been stuck for long is told, the longest\n"
		"first. The exit status is 0 when nothing is stuck, 1 when something is, 2 when\n"
		"that cannot be seen.\n",
	.options = now_options,
	.rules = now_rules,
	.many_arguments = true,
	.run = run,
};
