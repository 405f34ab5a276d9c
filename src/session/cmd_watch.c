/* argus watch: who writes (and reads) a variable of a process that runs. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "record/signals.h"
#include "session/recording.h"
#include "session/watch_report.h"

static const struct option_spec options[] = {
	OPTION_OUTPUT_TRACE,
	{ "duration", 0, OPTION_DURATION, "TIME", "stop after this time", .least = 1 },
	RECORDING_LIMIT,
	{ "show", 0, OPTION_FLAG, NULL, "record nothing: the argument is a trace whose watchpoints are to be shown" },
	OPTION_JSON,
	{ NULL },
};

static const struct option_rule rules[] = {
	{ .one_of = "show duration" }, { .one_of = "show output" }, { .one_of = "show limit" }, { 0 }
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Until the time is over, the process has ended, the recording has, or a signal asks for it. */
static void wait_for_end(const struct recorder *recorder, pid_t pid, int signals, uint64_t duration)
{
	int process = (int)syscall(SYS_pidfd_open, pid, 0);
	uint64_t end = duration ? now_ns() + duration : 0;
	struct pollfd fds[3] = {
		{ .fd = signals, .events = POLLIN }, { .fd = recorder_fd(recorder), .events = POLLIN }, { .fd = process, .events = POLLIN },
	};

	for (;;) {
		uint64_t now = now_ns(), left = end > now ? (end - now) / 1000000 + 1 : 0;
		struct signalfd_siginfo info;

		if (end && !left)
			break;
		if (poll(fds, 3, !end ? -1 : left > 60000 ? 60000 : (int)left) < 0 && errno != EINTR)
			break;
		if (fds[1].revents || fds[2].revents)
			break;
		if (fds[0].revents && read(signals, &info, sizeof(info)) == sizeof(info) && info.ssi_signo != SIGCHLD)
			break;
	}
	if (process >= 0)
		close(process);
}

static int record(struct command_context *context, pid_t pid, const struct watch_wishes *wishes, const char *path, struct err *err)
{
	struct recorder_options want = {
		.path = path, .keep_old = true, .stacks = STACKS_WATCHES | STACKS_WAITS | STACKS_WAKES, .watches = wishes, .options = "watch",
	};
	struct recorder_status status;
	struct recorder *recorder;
	struct filter filter = { 0 };
	sigset_t before;
	int signals = signals_open(&before, err), r;

	if (signals < 0)
		return signals;
	filter_add(&filter, FILTER_PID, (uint64_t)pid);
	want.filter = &filter;
	r = recorder_start(&want, &recorder, err);
	if (!r) {
		sink_printf(context->notes, "watching %zu place%s of process %d%s\n", wishes->spec_count, wishes->spec_count == 1 ? "" : "s",
			    (int)pid, options_has(context->options, "duration") ? "" : "; Ctrl-C ends it");
		wait_for_end(recorder, pid, signals, options_number(context->options, "duration", 0));
		r = recorder_stop(recorder, &status, err);
		if (!r && status.lost)
			sink_printf(context->notes, "%llu events were lost\n", (unsigned long long)status.lost);
	}
	filter_done(&filter);
	close(signals);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return r;
}

static int run(struct command_context *context, struct err *err)
{
	const struct options *given = context->options;
	const char *path = options_text(given, "output", COMMAND_TRACE);
	bool as_json = options_has(given, "json");
	struct watch_wishes *wishes;
	uint64_t number;
	pid_t pid;
	int r;

	if (options_has(given, "show")) {
		if (given->argument_count > 1)
			return err_set(err, -EINVAL, "watch --show takes one trace");
		return watch_report(context, command_trace_path(context), as_json, err);
	}
	if (given->argument_count < 2)
		return err_set(err, -EINVAL, "say which process and which memory: argus watch PID PLACE...");
	if (parse_number(given->arguments[0], &number) || !number || number > OPTION_PID_MOST)
		return err_set(err, -EINVAL, "'%s' is no number of a process", given->arguments[0]);
	pid = (pid_t)number;
	r = recording_watch_specs(context->arena, given->arguments + 1, given->argument_count - 1, given, &wishes, err);
	if (r)
		return r;
	wishes->pids = &pid;
	wishes->pid_count = 1;
	r = record(context, pid, wishes, path, err);
	return r ? r : watch_report(context, path, as_json, err);
}

const struct command command_watch = {
	.name = "watch",
	.arguments = "PID PLACE...",
	.summary = "who writes a variable of a running process",
	.help = "Sets hardware watchpoints, at most four at once, in all threads of the process, records\n"
		"each write (PLACE%access: each read too) with value and stack, and tells who came to it.\n"
		"A PLACE is 0xADDRESS, VARIABLE, FILE:VARIABLE, or a way from one: pool:queue->first->done;\n"
		"docs/watch.md. The recording is a trace as any other: `argus why`, `argus dump`.\n",
	.options = options,
	.rules = rules,
	.many_arguments = true,
	.run = run,
};
