/* argus start: the flight recorder, in the background. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/flight.h"
#include "record/service_conf.h"
#include "session/recording.h"

#define DEFAULT_FOLDER "/var/lib/argus"
#define SECOND_NS 1000000000ull

static const struct option_spec options[] = {
	{ "dir", 'd', OPTION_TEXT, "DIR", "folder of the ring's files (" DEFAULT_FOLDER ")" },
	{ "size", 0, OPTION_BYTES, "SIZE", "size of the ring, all files together (2G)", .least = FLIGHT_BYTES_LEAST },
	RECORDING_LEVEL,
	RECORDING_FREQ("49"),
	RECORDING_PROBE, RECORDING_PACK,
	RECORDING_WATCH,
	RECORDING_LIMIT,
	{ "no-stacks", 0, OPTION_FLAG, NULL, "record no stacks of waits, wake-ups and samples" },
	RECORDING_RING,
	{ "on-unread", 0, OPTION_DURATION, "TIME", "save when input or a request has been left unread for this long", .least = 1 },
	{ "on-blocked", 0, OPTION_DURATION, "TIME", "save when a thread has been in one uninterruptible wait (state D) for this long", .least = 1 },
	{ "on-window", 0, OPTION_DURATION, "TIME", "save when a window has not answered for this long", .least = 1 },
	{ "display", 0, OPTION_TEXT, "DISPLAY", "X11 display for --on-window ($DISPLAY)" },
	{ "on-command", 0, OPTION_TEXT, "COMMAND", "save when this shell command succeeds" },
	{ "every", 0, OPTION_DURATION, "TIME", "how often --on-command is run (10s)", .least = SECOND_NS / 10 },
	{ "save", 0, OPTION_DURATION, "TIME", "how much to save when a hang is seen (60s)", .least = 1 },
	{ "no-index", 0, OPTION_FLAG, NULL, "do not look for hangs while recording; the first question then takes longer" },
	{ "config", 0, OPTION_TEXT, "FILE", "who may read the ring's folder, if that has a group (" SERVICE_CONF_PATH ")" },
	{ "foreground", 0, OPTION_FLAG, NULL, "stay in the foreground, for service managers" },
	{ NULL },
};

static const struct option_rule rules[] = {
	{ .option = "limit", .without = "watch" }, { .option = "near", .without = "probe" },
	{ .option = "display", .without = "on-window" }, { .option = "every", .without = "on-command" },
	{ .option = "save", .without = "on-unread on-blocked on-window on-command" }, { 0 }
};

/* The folder as it is called from anywhere. */
static const char *absolute(struct arena *arena, const char *path)
{
	char here[PATH_MAX];

	if (path[0] == '/' || !getcwd(here, sizeof(here)))
		return path;
	return arena_printf(arena, "%s/%s", here, path);
}

/* How the background process tells that it records, or why not. */
struct report {
	struct sink *notes;   /* in the foreground */
	int fd;               /* to the process that waits; -1 in the foreground */
	const char *folder;
};

static void on_ready(void *data)
{
	struct report *report = data;

	if (report->fd < 0) {
		sink_printf(report->notes, "recording into %s\n", report->folder);
		return;
	}
	if (write(report->fd, "\n", 1) < 0)
		return; /* nobody waits: he was killed */
	close(report->fd);
	report->fd = -1;
}

static void detach_terminal(void)
{
	int null = open("/dev/null", O_RDWR);

	setsid();
	if (null >= 0) {
		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		if (null > 2)
			close(null);
	}
	if (chdir("/"))
		return; /* keeps a file system busy, no more */
}

static _Noreturn void run_background(const struct flight_options *want, struct control *control, struct report *report)
{
	struct err err = { 0 };
	int r;

	detach_terminal();
	control_own(control, want->folder);
	r = flight_run(want, control, on_ready, report, &err);
	if (r && report->fd >= 0) {
		int code = r;

		/* an empty line would mean success */
		if (write(report->fd, &code, sizeof(code)) < 0 || write(report->fd, err.text, strlen(err.text)) < 0)
			_exit(1);
	}
	_exit(r ? 1 : 0);
}

static int wait_for_background(int fd, pid_t pid, struct err *err)
{
	char text[sizeof(int) + sizeof(err->text)];
	size_t length = 0;
	int code;

	while (length < sizeof(text)) {
		ssize_t n = read(fd, text + length, sizeof(text) - length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		length += (size_t)n;
	}
	if (length == 1)
		return 0;
	waitpid(pid, NULL, 0);
	if (length <= sizeof(code))
		return err_set(err, -EIO, "the recorder ended without a word");
	memcpy(&code, text, sizeof(code));
	return err_set(err, code < 0 ? code : -EIO, "%.*s", (int)(length - sizeof(code)), text + sizeof(code));
}

static int start_background(struct command_context *context, const struct flight_options *want, struct control *control,
			    struct report *report, struct err *err)
{
	int ends[2], r;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return err_sys(err, -errno, "starting the recorder");
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		report->fd = ends[1];
		run_background(want, control, report);
	}
	close(ends[1]);
	/* lock and socket are the other process's now */
	close(control->lock_fd);
	close(control->listen_fd);
	r = pid < 0 ? err_sys(err, -errno, "starting the recorder") : wait_for_background(ends[0], pid, err);
	close(ends[0]);
	if (!r)
		sink_printf(context->notes, "recording in the background (process %d) into %s; `argus snap` saves, `argus stop` ends\n",
			    (int)pid, want->folder);
	return r;
}

static int run(struct command_context *context, struct err *err)
{
	const struct options *given = context->options;
	struct flight_options want = {
		.folder = absolute(context->arena, options_text(given, "dir", DEFAULT_FOLDER)),
		.bytes = options_number(given, "size", 2ull << 30),
		.sample_hz = (uint32_t)options_number(given, "freq", 49),
		.stacks = options_has(given, "no-stacks") ? 0 : STACKS_WAITS | STACKS_WAKES | STACKS_SAMPLES | STACKS_WATCHES,
		.triggers = {
			.unread_ns = options_number(given, "on-unread", 0),
			.blocked_ns = options_number(given, "on-blocked", 0),
			.window_ns = options_number(given, "on-window", 0),
			.display = options_text(given, "display", getenv("DISPLAY")),
			.command = options_text(given, "on-command", NULL),
			.command_ns = options_number(given, "every", 10 * SECOND_NS),
		},
		.save_last_ns = options_number(given, "save", 60 * SECOND_NS),
	};
	struct report report = { context->notes, -1, want.folder };
	struct watch_wishes *watches = NULL;
	struct service_conf conf = { 0 };
	struct control control;
	int r;

	want.full = recording_full(given);
	want.no_index = options_has(given, "no-index");
	r = recording_ring(given, &want.ring_bytes, err);
	if (!r)
		r = service_conf_read(options_text(given, "config", SERVICE_CONF_PATH), &conf, err);
	want.group_reads = !r && conf.members_see_all;
	if (!r)
		r = recording_probes(context->arena, given, context->notes, &want.probes, err);
	if (!r)
		r = recording_watches(context->arena, given, &watches, err);
	want.watches = watches;
	if (!r)
		r = control_open(&control, err);
	if (r)
		return r;
	if (!options_has(given, "foreground"))
		return start_background(context, &want, &control, &report, err);
	control_own(&control, want.folder);
	return flight_run(&want, &control, on_ready, &report, err);
}

const struct command command_start = {
	.name = "start",
	.arguments = "",
	.summary = "record in the background, always, into a ring of files",
	.help = "Keeps the newest SIZE of what happens on this machine; goes on after logout.\n"
		"`argus mark` notes a moment, `argus snap` saves the last minutes into a trace,\n"
		"`argus status` tells how it goes, `argus stop` ends it. A hang that the --on-\n"
		"options see is saved by itself, into DIR/saved.\n"
		"--on-window asks X11 windows (_NET_WM_PING). A Wayland compositor tells nobody of\n"
		"its pings and their answers; there --on-unread sees the client that leaves them unread.\n",
	.options = options,
	.rules = rules,
	.run = run,
};
