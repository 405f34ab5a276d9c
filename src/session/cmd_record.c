/* argus record: records until its command ends, the time is over, or a signal
 * asks it to stop. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record/doctor.h"
#include "base/clock.h"
#include "record/signals.h"
#include "session/child.h"
#include "session/plan.h"
#include "session/recording.h"
#include "session/service_ask.h"
#include "session/stepping.h"
#include "trace/output.h"

#define PROGRESS_MS 500

static const struct option_spec options[] = {
	{ "all", 'a', OPTION_FLAG, NULL, "record all processes (without a command: the default)" },
	{ "pid", 'p', OPTION_TEXT, "PID,...", "only these processes, and who wakes them" },
	{ "tid", 't', OPTION_TEXT, "TID,...", "only these threads" },
	{ "cpu", 'C', OPTION_TEXT, "LIST", "only these processors: 0-3,8" },
	{ "cgroup", 'G', OPTION_TEXT, "PATH", "only this control group and those below it" },
	{ "container", 0, OPTION_TEXT, "NAME", "only this container: its name, its id or the first digits of it (docker, podman, containerd, ...)" },
	{ "user", 'u', OPTION_TEXT, "USER,...", "only these users' processes" },
	OPTION_OUTPUT_TRACE,
	RECORDING_LEVEL,
	{ "duration", 0, OPTION_DURATION, "TIME", "stop after this time", .least = 1 },
	{ "max-size", 0, OPTION_BYTES, "SIZE", "stop when the trace has this size", .least = 64 << 10 },
	RECORDING_RING,
	RECORDING_FREQ("99"),
	RECORDING_PROBE, RECORDING_PACK,
	RECORDING_WATCH,
	RECORDING_LIMIT,
	RECORDING_STEP, STEPPING_OPTIONS,
	{ "stacks", 0, OPTION_WORDS, "LIST",
	  "events that record a user stack: waits, wakes, msgs, syscalls (lean: when a call returns), samples, probes, watches, all, none "
	  "(waits,wakes,samples,watches; full: msgs too)", .choices = "waits wakes msgs syscalls samples probes watches all none" },
	{ "plan", 0, OPTION_TEXT, "FILE", "record what an answer lacked: a file with the output of `argus why --json` (-: standard input)" },
	{ NULL },
};

static const struct option_rule rules[] = {
	{ .one_of = "all pid" }, { .one_of = "all tid" }, { .one_of = "all cgroup" }, { .one_of = "all container" }, { .one_of = "all user" },
	{ .option = "limit", .without = "watch" }, { .option = "near", .without = "probe" },
	{ .option = "depth", .without = "step" }, { .option = "into", .without = "step" }, { 0 }
};

static void show_progress(struct sink *notes, const struct recorder_status *status, bool last)
{
	double seconds = (double)(status->now_ns - status->start_ns) / 1e9;

	sink_printf(notes, "%s%" PRIu64 " events, %.1f MB, %" PRIu64 " lost, %.1f s%s", notes->terminal ? "\r" : "",
		    status->events, (double)status->bytes / 1e6, status->lost, seconds,
		    last ? (notes->terminal ? "   \n" : "\n") : "");
	/* counted while kernel.bpf_stats_enabled is set */
	if (last && status->program_runs)
		sink_printf(notes, "%" PRIu64 " runs of BPF programs took %.0f ns each\n", status->program_runs,
			    (double)status->program_ns / (double)status->program_runs);
}

/* A person is told what to type next. */
static void show_next(struct sink *notes, const struct recorder_options *want)
{
	bool usual = !strcmp(want->path, COMMAND_TRACE);

	if (notes->terminal && !want->steps && !want->watches)
		sink_printf(notes, "%s is written; `argus why%s%s` tells who was stuck\n", want->path, usual ? "" : " ", usual ? "" : want->path);
}

/* Loading takes seconds on a busy machine, and what is to be recorded does not run yet. */
static void show_start(struct sink *notes, bool done)
{
	if (notes->terminal)
		sink_text(notes, done ? "\r           \r" : "starting...");
}

#define COMMAND_ENDS_NS 2000000000u /* so long after an interrupt the command may go on and be recorded */

struct wait_state {
	struct recorder *recorder;
	struct child *child;
	int signals;
	uint64_t end_ns;        /* 0: no limit */
	int status;             /* of the command */
	bool stopping;          /* a signal has come */
	int not_started;        /* why the command could not be started */
	struct recorder_status by_service; /* as the recording service tells it */
};

static int exit_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void limit_end(struct wait_state *state, uint64_t after_ns)
{
	uint64_t end = clock_now_ns() + after_ns;

	if (!state->end_ns || end < state->end_ns)
		state->end_ns = end;
}

/* -1: no limit. */
static int ms_left(const struct wait_state *state)
{
	uint64_t now = clock_now_ns(), left = state->end_ns > now ? (state->end_ns - now) / 1000000 + 1 : 0;

	return !state->end_ns ? -1 : left > 60000 ? 60000 : (int)left;
}

static bool take_command_end(struct wait_state *state)
{
	int status;

	if (state->child->pid <= 0 || waitpid(state->child->pid, &status, WNOHANG) != state->child->pid)
		return false;
	state->child->pid = 0;
	state->status = exit_status(status);
	return true;
}

/* True when the recording is to end. */
static bool take_signal(struct wait_state *state)
{
	struct signalfd_siginfo info;

	if (read(state->signals, &info, sizeof(info)) != sizeof(info))
		return false;
	if (info.ssi_signo == SIGCHLD)
		return take_command_end(state);
	/* A terminal sends its interrupt to the command too; one sent to us alone is passed on, and recorded for as
	 * long as the command may need to end. A second one ends the wait for the command. */
	if (state->child->pid <= 0 || state->stopping)
		return true;
	state->stopping = true;
	limit_end(state, COMMAND_ENDS_NS);
	if (info.ssi_signo != SIGINT || info.ssi_code == SI_USER)
		kill(state->child->pid, (int)info.ssi_signo);
	return false;
}

static void wait_for_end(struct command_context *context, struct wait_state *state)
{
	for (;;) {
		struct pollfd fds[2] = {
			{ .fd = state->signals, .events = POLLIN },
			{ .fd = recorder_fd(state->recorder), .events = POLLIN },
		};
		struct recorder_status status;
		int timeout = context->notes->terminal ? PROGRESS_MS : -1;
		int left = ms_left(state);

		if (!left)
			return;
		if (left > 0 && (timeout < 0 || left < timeout))
			timeout = left;
		if (poll(fds, 2, timeout) < 0 && errno != EINTR)
			return;
		if (fds[1].revents)
			return;
		if (fds[0].revents && take_signal(state))
			return;
		if (context->notes->terminal) {
			recorder_status(state->recorder, &status);
			show_progress(context->notes, &status, false);
		}
	}
}

/* The recording is over, the command not yet: its status is still ours. */
static void wait_for_command(struct command_context *context, struct wait_state *state)
{
	if (state->child->pid > 0 && !take_command_end(state))
		sink_printf(context->notes, "the recording is over, the command (pid %d) still runs; %s leaves it to itself\n",
			    (int)state->child->pid, state->stopping ? "another Ctrl-C" : "Ctrl-C asks it to end, a second one");
	while (state->child->pid > 0) {
		struct pollfd ready = { .fd = state->signals, .events = POLLIN };
		bool stopping = state->stopping;

		if (poll(&ready, 1, -1) < 0 && errno != EINTR)
			return;
		/* a second request to stop leaves the command to itself */
		if (take_signal(state) && state->child->pid > 0 && stopping)
			return;
	}
}

/* The command's program stops before its first instruction, so that its variables can be
 * watched from there on. Should we be killed, it goes on. */
static int child_hold(pid_t pid, struct err *err)
{
	return ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACEEXEC) ? err_sys(err, -errno, "holding the command until it is watched") : 0;
}

static int child_release(struct wait_state *state, struct err *err)
{
	pid_t pid = state->child->pid;
	int status, r = 0;

	do {
		if (waitpid(pid, &status, __WALL) != pid) {
			if (errno == EINTR)
				continue;
			return err_sys(err, -errno, "waiting for the command");
		}
		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			state->child->pid = 0;
			state->status = exit_status(status);
			return 0;
		}
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
			break;
		ptrace(PTRACE_CONT, pid, NULL, status >> 16 ? 0 : WSTOPSIG(status));
	} while (true);
	r = recorder_command_started(state->recorder, err);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	return r;
}

/* Where --watch looks: in the command, the processes named, or wherever the files are. */
static int watched_processes(struct arena *arena, const struct options *given, pid_t child, struct watch_wishes *watches, struct err *err)
{
	const char *list = options_text(given, "pid", "");
	pid_t *pids = arena_array(arena, pid_t, strlen(list) + 1);

	for (const char *at = list; *at;) {
		size_t length = strcspn(at, ",");
		uint64_t number;

		if (parse_number(arena_strndup(arena, at, length), &number) || !number || number > OPTION_PID_MOST)
			return err_set(err, -EINVAL, "--pid takes numbers of processes, not '%s'", list);
		pids[watches->pid_count++] = (pid_t)number;
		at += length + (at[length] == ',');
	}
	watches->pids = pids;
	watches->command = child;
	return 0;
}

static const char *join(struct arena *arena, const char *const *words)
{
	struct buf buf;
	const char *text;

	buf_init(&buf);
	for (size_t i = 0; words[i]; i++)
		buf_printf(&buf, "%s%s", i ? " " : "", words[i]);
	text = arena_strdup(arena, buf_str(&buf));
	buf_done(&buf);
	return text;
}

static const char *join_options(struct arena *arena, const struct options *given)
{
	struct buf buf;
	const char *text;

	buf_init(&buf);
	for (size_t i = 0; i < given->value_count; i++) {
		const struct option_value *value = &given->values[i];

		buf_printf(&buf, "%s--%s", i ? " " : "", value->spec->name);
		if (value->text)
			buf_printf(&buf, "=%s", value->text);
	}
	text = arena_strdup(arena, buf_str(&buf));
	buf_done(&buf);
	return text;
}

static int read_filter(const struct options *given, pid_t child, struct filter *filter, struct err *err)
{
	static const struct {
		const char *option;
		int (*add)(struct filter *filter, const char *text, struct err *err);
	} lists[] = {
		{ "pid", filter_add_pids }, { "tid", filter_add_tids }, { "cpu", filter_add_cpus },
		{ "cgroup", filter_add_cgroup }, { "container", filter_add_container }, { "user", filter_add_users },
	};
	const char *text;
	int r = 0;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		for (size_t n = 0; !r && (text = options_nth(given, lists[i].option, n)); n++)
			r = lists[i].add(filter, text, err);
	if (child > 0 && !options_has(given, "all")) {
		filter_add(filter, FILTER_PID, (uint64_t)child);
		filter->follow_forks = true;
	}
	return r;
}

static void show_unreached(struct sink *notes, const struct recorder_status *status)
{
	struct buf path;

	if (!status->unreached)
		return;
	buf_init(&path);
	buf_escaped(&path, status->unreached_example, strlen(status->unreached_example), NULL);
	sink_printf(notes, "%" PRIu32 " file system%s did not answer: stacks that go through files like %s may be cut, and their "
		    "functions have no names\n", status->unreached, status->unreached == 1 ? "" : "s", buf_str(&path));
	buf_done(&path);
}

/* ---- by the recording service, for one who may not record ---- */

/* All of an option that may be given several times. */
static int join_list(const struct options *given, const char *name, char to[SERVICE_TEXT_BYTES], struct err *err)
{
	size_t length = 0;
	const char *text;

	for (size_t n = 0; (text = options_nth(given, name, n)); n++) {
		length += (size_t)snprintf(to + length, SERVICE_TEXT_BYTES - length, "%s%s", n ? "," : "", text);
		if (length >= SERVICE_TEXT_BYTES)
			return err_set(err, -E2BIG, "--%s: the list is too long for the recording service", name);
	}
	return 0;
}

static int fill_request(const struct options *given, const struct recorder_options *want, pid_t child, struct service_request *request,
			struct err *err)
{
	static const char *const not_there[] = { "cgroup", "container", "user", "probe", "near", "pack", "watch", "limit", "step", "depth", "into", NULL };
	int r;

	for (size_t i = 0; not_there[i]; i++)
		if (options_has(given, not_there[i]))
			return err_set(err, -EPERM, "--%s needs root (sudo argus record ...): the recording service does without", not_there[i]);
	*request = (struct service_request){
		.verb = SERVICE_RECORD, .full = want->full, .stacks = want->stacks, .hz = want->sample_hz, .ring = want->ring_bytes,
		.duration_ns = options_number(given, "duration", 0), .bytes = want->max_bytes,
		.child = child > 0 && !options_has(given, "all") ? (uint64_t)child : 0,
	};
	r = join_list(given, "pid", request->pids, err);
	if (!r)
		r = join_list(given, "tid", request->tids, err);
	if (!r)
		r = join_list(given, "cpu", request->cpus, err);
	/* for the trace's head, which holds it as far as it goes */
	snprintf(request->command, sizeof(request->command), "%s", want->command);
	for (char *at = request->command; *at; at++)
		*at = *at == '\n' ? ' ' : *at;
	return r;
}

/* Takes one answer; true at the end. */
static bool take_answer(struct command_context *context, struct wait_state *state, struct service_call *call, int *r, struct err *err)
{
	struct service_answer answer;

	*r = service_receive(call, &answer, NULL, err);
	if (*r)
		return true;
	switch (answer.word) {
	case SERVICE_STARTED:
		if (state->child->pid > 0) {
			state->not_started = child_go(state->child, context->options->arguments[0], err);
			if (state->not_started)
				service_stop(call);
		}
		break;
	case SERVICE_PROGRESS:
		state->by_service = (struct recorder_status){ .events = answer.events, .bytes = answer.bytes, .lost = answer.lost,
							      .now_ns = answer.ns };
		if (context->notes->terminal)
			show_progress(context->notes, &state->by_service, false);
		break;
	case SERVICE_NOTE:
		sink_printf(context->notes, "%s\n", answer.text);
		break;
	case SERVICE_END:
		*r = answer.code ? err_set(err, answer.code, "%s", answer.text) : state->not_started;
		return true;
	}
	return false;
}

static int record_by_service(struct command_context *context, struct wait_state *state, const struct recorder_options *want,
			     struct err *err)
{
	struct service_request request;
	struct service_call call;
	struct err none = { 0 };
	struct output out;
	int r = service_connect(&call, &none);

	if (r == -ENOENT || r == -ECONNREFUSED)
		return err_set(err, r, "recording needs root: sudo argus record ... (`argus doctor` tells which capabilities do, too, and the "
			       "recording service lets a group record)");
	if (r)
		return err_set(err, r, "recording needs root: sudo argus record ...; %s", none.text);
	r = fill_request(context->options, want, state->child->pid, &request, err);
	if (!r)
		r = output_create(&out, want->path, want->keep_old, OUTPUT_WHOLE, err);
	if (r) {
		service_hang_up(&call);
		return r;
	}
	r = service_send(&call, &request, out.fd, err);
	for (bool ended = r; !ended;) {
		struct pollfd fds[2] = { { .fd = state->signals, .events = POLLIN }, { .fd = call.fd, .events = POLLIN } };

		if (poll(fds, 2, ms_left(state)) < 0 && errno != EINTR)
			break;
		if ((fds[0].revents && take_signal(state)) || !ms_left(state)) {
			service_stop(&call);
			state->end_ns = 0;
		}
		if (fds[1].revents)
			ended = take_answer(context, state, &call, &r, err);
	}
	service_hang_up(&call);
	if (!r)
		r = output_publish(&out, err);
	output_close(&out);
	if (!r) {
		show_progress(context->notes, &state->by_service, true);
		show_next(context->notes, want);
		wait_for_command(context, state);
	}
	return r;
}

static int record(struct command_context *context, struct wait_state *state, const struct recorder_options *want,
		  struct err *err)
{
	const struct options *given = context->options;
	struct recorder_status status;
	uint64_t duration = options_number(given, "duration", 0);
	int r, stopping;

	if (!doctor_shares_pids())
		sink_text(context->notes, "argus runs in a process namespace of its own: events have the host's process numbers, by which "
			  "names and mappings are not found here (`argus doctor` tells more)\n");
	show_start(context->notes, false);
	r = recorder_start(want, &state->recorder, err);
	show_start(context->notes, true);
	if ((r == -EPERM || r == -EACCES) && geteuid())
		return record_by_service(context, state, want, err);
	if (r == -EPERM || r == -EACCES || r == -ENOENT || r == -ENOTSUP)
		doctor_explain(r, err);
	if (r)
		return r;
	if (duration)
		state->end_ns = clock_now_ns() + duration;
	if (state->child->pid > 0) {
		r = want->watches ? child_hold(state->child->pid, err) : 0;
		if (!r) {
			r = child_go(state->child, given->arguments[0], err);
			state->not_started = r;
		}
		if (!r && want->watches)
			r = child_release(state, err);
	}
	if (!r)
		wait_for_end(context, state);
	stopping = recorder_stop(state->recorder, &status, r ? NULL : err);
	show_unreached(context->notes, &status);
	show_progress(context->notes, &status, true);
	/* what was written is kept; say why there is no more */
	if (status.ended && status.err.code == -EFBIG)
		sink_printf(context->notes, "the size limit is reached: %s holds what came before\n", want->path);
	if (!r && !stopping && !status.err.code)
		show_next(context->notes, want);
	if (!r)
		wait_for_command(context, state);
	if (status.ended && status.err.code) {
		if (status.err.code == -EFBIG)
			return r;
		if (err)
			*err = status.err;
		return status.err.code;
	}
	return r ? r : stopping;
}

static uint32_t read_stacks(const struct options *given, bool full)
{
	static const struct { const char *name; uint32_t bits; } uses[] = {
		{ "waits", STACKS_WAITS }, { "wakes", STACKS_WAKES }, { "msgs", STACKS_MESSAGES }, { "syscalls", STACKS_SYSCALLS },
		{ "samples", STACKS_SAMPLES }, { "probes", STACKS_PROBES }, { "watches", STACKS_WATCHES }, { "none", 0 },
		{ "all", STACKS_WAITS | STACKS_WAKES | STACKS_MESSAGES | STACKS_SYSCALLS | STACKS_SAMPLES | STACKS_PROBES |
			 STACKS_WATCHES },
	};
	const char *list = options_text(given, "stacks", full ? "waits,wakes,samples,msgs,watches" : "waits,wakes,samples,watches");
	uint32_t stacks = 0;

	for (const char *at = list; *at;) {
		size_t length = strcspn(at, ",");

		for (size_t i = 0; i < sizeof(uses) / sizeof(uses[0]); i++)
			if (strlen(uses[i].name) == length && !strncmp(uses[i].name, at, length))
				stacks |= uses[i].bits;
		at += length + (at[length] == ',');
	}
	return stacks;
}

/* The status is then the one of shells, so that callers can tell. */
static void show_not_started(const struct command_context *context, const struct err *err)
{
	sink_printf(context->notes, "argus record: %s\n", err ? err->text : "the command could not be started");
}

static int run_options(struct command_context *context, struct err *err)
{
	const struct options *given = context->options;
	struct recorder_options want = {
		.path = options_text(given, "output", COMMAND_TRACE),
		.keep_old = true,
		.max_bytes = options_number(given, "max-size", 0),
		.sample_hz = (uint32_t)options_number(given, "freq", 99),
		.command = join(context->arena, given->arguments),
		.options = join_options(context->arena, given),
	};
	struct child child = { 0 };
	struct filter filter = { 0 };
	struct wait_state state = { .child = &child };
	struct watch_wishes *watches = NULL;
	sigset_t before;
	int r;

	want.full = recording_full(given);
	r = recording_ring(given, &want.ring_bytes, err);
	if (!r)
		r = recording_probes(context->arena, given, context->notes, &want.probes, err);
	if (!r)
		r = recording_watches(context->arena, given, &watches, err);
	if (!r)
		r = stepping_wishes(context->arena, given, context->notes, &want.steps, err);
	if (r)
		return r;
	if (given->argument_count && child_look_for(given->arguments[0], err)) {
		show_not_started(context, err);
		return STATUS_NOT_FOUND;
	}
	want.stacks = read_stacks(given, want.full);
	state.signals = signals_open(&before, err);
	if (state.signals < 0)
		return state.signals;
	if (given->argument_count)
		r = child_start(given->arguments, &before, &child, err);
	if (!r)
		r = read_filter(given, child.pid, &filter, err);
	want.filter = &filter;
	if (!r && watches)
		r = watched_processes(context->arena, given, child.pid, watches, err);
	want.watches = watches;
	if (!r)
		r = record(context, &state, &want, err);
	filter_done(&filter);
	if (r)
		child_kill(&child);
	child_drop(&child);
	close(state.signals);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (state.not_started) {
		show_not_started(context, err);
		return state.not_started == -ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
	}
	return r ? r : state.status;
}

static int run(struct command_context *context, struct err *err)
{
	const char *plan = options_text(context->options, "plan", NULL);
	struct command_context merged = *context;
	struct options both;

	if (plan) {
		int r = plan_merge(context->arena, plan, options, rules, context->options, &both, err);

		if (r)
			return r;
		merged.options = &both;
	}
	return run_options(&merged, err);
}

const struct command command_record = {
	.name = "record",
	.arguments = "[-- COMMAND]",
	.summary = "record what threads wait for and who wakes them",
	.help = "Records into argus.trace (the previous one is kept as argus.trace.old) until\n"
		"the command ends, the time is over, or Ctrl-C. The status is the command's.\n",
	.options = options,
	.rules = rules,
	.rest_is_command = true,
	.run = run,
};
