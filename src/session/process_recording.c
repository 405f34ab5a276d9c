/* See process_recording.h. */
#include "session/process_recording.h"
#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/filter.h"
#include "record/signals.h"

#define LOOK_MS 20        /* how often it is seen whether enough was stepped */

static void wait_for_end(struct recorder *recorder, const struct recorder_options *want, pid_t pid, int signals, uint64_t duration)
{
	int process = (int)syscall(SYS_pidfd_open, pid, 0);
	uint64_t end = duration ? clock_now_ns() + duration : 0;
	struct pollfd fds[3] = {
		{ .fd = signals, .events = POLLIN }, { .fd = recorder_fd(recorder), .events = POLLIN }, { .fd = process, .events = POLLIN },
	};

	for (;;) {
		uint64_t now = clock_now_ns(), left = end > now ? (end - now) / 1000000 + 1 : 0;
		int timeout = !end ? -1 : left > 60000 ? 60000 : (int)left;
		struct signalfd_siginfo info;

		if (end && !left)
			break;
		if (want->steps && (timeout < 0 || timeout > LOOK_MS))
			timeout = LOOK_MS;
		if (poll(fds, 3, timeout) < 0 && errno != EINTR)
			break;
		if (fds[1].revents || fds[2].revents)
			break;
		if (fds[0].revents && read(signals, &info, sizeof(info)) == sizeof(info) && info.ssi_signo != SIGCHLD)
			break;
		if (want->steps && recorder_steps(recorder) >= want->steps->most)
			break;
	}
	if (process >= 0)
		close(process);
}

int process_record(struct command_context *context, pid_t pid, struct recorder_options *want, const char *begun, struct err *err)
{
	struct recorder_options options;
	struct recorder_status status;
	struct recorder *recorder;
	struct filter filter = { 0 };
	sigset_t before;
	int signals = signals_open(&before, err), r;

	if (signals < 0)
		return signals;
	filter_add(&filter, FILTER_PID, (uint64_t)pid);
	options = *want;
	options.filter = &filter;
	options.keep_old = true;
	r = recorder_start(&options, &recorder, err);
	if (!r) {
		sink_printf(context->notes, "%s%s\n", begun, options_has(context->options, "duration") ? "" : "; Ctrl-C ends it");
		wait_for_end(recorder, &options, pid, signals, options_number(context->options, "duration", 0));
		r = recorder_stop(recorder, &status, err);
		if (!r && status.lost)
			sink_printf(context->notes, "%llu events were lost\n", (unsigned long long)status.lost);
	}
	filter_done(&filter);
	close(signals);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return r;
}
