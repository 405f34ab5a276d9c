/* See process_recording.h. */
#include "session/process_recording.h"
#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/filter.h"
#include "record/signals.h"

#define LOOK_MS 20        /* how often it is seen whether enough was stepped */

static bool is_called(const char *pid, const char *name)
{
	char path[64], comm[32];
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%.20s/comm", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, comm, sizeof(comm) - 1) : -1;
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	comm[n - (comm[n - 1] == '\n')] = 0;
	return !strcmp(comm, name);
}

int process_find(const char *text, pid_t *ret_pid, struct err *err)
{
	uint64_t number, found = 0;
	struct dirent *entry;
	DIR *processes;

	if (!parse_number(text, &number)) {
		if (!number || number > OPTION_PID_MOST)
			return err_set(err, -EINVAL, "'%s' is not a process number", text);
		*ret_pid = (pid_t)number;
		return 0;
	}
	processes = opendir("/proc");
	while (processes && (entry = readdir(processes))) {
		if (parse_number(entry->d_name, &number) || !is_called(entry->d_name, text))
			continue;
		if (found) {
			closedir(processes);
			return err_set(err, -EINVAL, "several processes are called '%s', %" PRIu64 " and %" PRIu64 " for two: say the number of one",
				       text, found, number);
		}
		found = number;
	}
	if (processes)
		closedir(processes);
	if (!found)
		return err_set(err, -ESRCH, "no process is called '%s', and it is no process number", text);
	*ret_pid = (pid_t)found;
	return 0;
}

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
		if (want->steps && recorder_has_stepped(recorder))
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
