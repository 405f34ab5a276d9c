/* See now_look.h. */
#include "session/now_look.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "record/config.h"
#include "record/control.h"
#include "record/proc_look.h"
#include "record/recorder.h"
#include "record/signals.h"
#include "session/ring_copy.h"
#include "trace/event.h"
#include "trace/trace.h"

#define SAMPLE_HZ 199u            /* the look is short */
#define LOOK_LEAST_NS 100000000ull /* behind its first snapshot, without which nobody is known to stand still */
#define ASKED_MS 5000             /* the recorder has so long to answer */
#define HISTORY_NS 60000000000ull /* what a flight recorder has seen before, ... */
#define HISTORY_EVENTS 200000u    /* ... and how much of it: reading it must not take long */

static bool is_end(const struct signalfd_siginfo *info)
{
	return info->ssi_signo != SIGCHLD;
}

int now_look_pause(struct now_look *look, uint64_t ns)
{
	struct pollfd fds[2] = { { .fd = look->signals, .events = POLLIN },
				 { .fd = look->recorder ? recorder_fd(look->recorder) : -1, .events = POLLIN } };
	struct signalfd_siginfo info;
	struct timespec now, end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += (time_t)(ns / 1000000000);
	end.tv_nsec += (long)(ns % 1000000000);
	for (;;) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		int64_t left = (end.tv_sec - now.tv_sec) * INT64_C(1000000000) + end.tv_nsec - now.tv_nsec;
		struct timespec wait = { .tv_sec = left / 1000000000, .tv_nsec = left % 1000000000 };

		if (left <= 0 || ppoll(fds, 2, &wait, NULL) <= 0 || !fds[0].revents)
			return 0;
		if (read(look->signals, &info, sizeof(info)) == sizeof(info) && is_end(&info))
			return -EINTR;
	}
}

/* ---- by the flight recorder ---- */

static bool wants_none(int r)
{
	return r == -ENOENT || r == -EPERM || r == -EACCES || r == -ENOTDIR;
}

/* How much of a look the copy lacks, as of a recorder that has just begun. */
static uint64_t lacks(const struct now_look *look)
{
	struct trace *trace = NULL;
	uint64_t seen = 0;

	if (look->patient || trace_open(look->path, &trace, NULL))
		return 0;
	seen = trace_summary(trace)->end_ns - trace_summary(trace)->start_ns;
	trace_close(trace);
	return seen < look->look_ns ? look->look_ns - seen : 0;
}

/* 1: it can not be had this way. */
static int take_from_flight(struct now_look *look, struct err *err)
{
	struct ring_copy_want want = { .last_ns = look->look_ns > HISTORY_NS ? look->look_ns : HISTORY_NS, .most_events = HISTORY_EVENTS };
	struct err why = { 0 };
	struct buf folder;
	uint64_t left_ns;
	int r;

	buf_init(&folder);
	/* before it is waited for: one that is there */
	r = look->patient ? control_ask_within("status", ASKED_MS, &folder, &why) : 0;
	buf_clear(&folder);
	if (!r && look->patient && now_look_pause(look, look->look_ns)) {
		buf_done(&folder);
		return err_set(err, -EINTR, "interrupted");
	}
	if (!r)
		r = control_ask_within("snapshot", ASKED_MS, &folder, &why);
	if (!r)
		r = ring_copy(buf_str(&folder), look->path, &want, &why);
	left_ns = r ? 0 : lacks(look);
	if (left_ns && now_look_pause(look, left_ns)) {
		buf_done(&folder);
		return err_set(err, -EINTR, "interrupted");
	}
	if (left_ns) {
		unlink(look->path); /* nobody wants it kept as PATH.old */
		buf_clear(&folder);
		r = control_ask_within("snapshot", ASKED_MS, &folder, &why);
		r = r ? r : ring_copy(buf_str(&folder), look->path, &want, &why);
	}
	if (r) {
		if (!wants_none(r))
			sink_printf(look->context->notes, "without the recorder in the background: %s\n", why.text);
		r = 1;
	}
	buf_done(&folder);
	return r;
}

/* ---- by a recorder of its own ---- */

static int start(struct now_look *look, struct err *err)
{
	struct recorder_options want = {
		.path = look->path, .keep_old = true, .sample_hz = SAMPLE_HZ, .look = true,
		.stacks = STACKS_SLEEPERS | STACKS_SAMPLES, .ring_bytes = RECORDER_RING_LEAST,
		.full = look->calls != NULL, .names = look->calls != NULL, .filter = look->calls,
	};

	look->recording = look->path;
	return recorder_start(&want, &look->recorder, err);
}

static int stop(struct now_look *look, struct err *err)
{
	int r = recorder_stop(look->recorder, NULL, err);

	look->recorder = NULL;
	return r;
}

/* The file is whole then, and the next look has begun in the other. */
static int change_file(struct now_look *look, struct err *err)
{
	const char *whole = look->recording;
	int r = recorder_snapshot(look->recorder, SNAPSHOT_REASON_end, err);

	look->recording = whole == look->path ? look->other_path : look->path;
	unlink(look->recording);
	if (!r)
		r = recorder_rotate(look->recorder, look->recording, err);
	look->taken = whole;
	return r;
}

/* What happens is seen while the first snapshot is taken, which on a busy machine is long: that is part of the look. */
static uint64_t still_to_look(const struct now_look *look)
{
	struct recorder_status status;
	uint64_t seen, least = look->look_ns < LOOK_LEAST_NS ? look->look_ns : LOOK_LEAST_NS;

	if (look->patient || look->other_path)
		return look->look_ns;
	recorder_status(look->recorder, &status);
	seen = status.now_ns - status.seen_from_ns;
	return seen + least < look->look_ns ? look->look_ns - seen : least;
}

static int take_by_recorder(struct now_look *look, struct err *err)
{
	int r = look->recorder ? 0 : start(look, err);

	if (r)
		return r;
	if (now_look_pause(look, still_to_look(look))) {
		stop(look, NULL);
		return err_set(err, -EINTR, "interrupted");
	}
	return look->other_path ? change_file(look, err) : stop(look, err);
}

/* ---- over /proc ---- */

/* And what could not be seen that way. */
static int take_over_proc(struct now_look *look, const char *why, struct err *err)
{
	struct sink *notes = look->context->notes;
	struct proc_look_seen seen;
	int r = proc_look(look->path, look->look_ns, &seen, err);

	if (r || look->over_proc)
		return r;
	look->over_proc = true;
	sink_printf(notes, "seen over /proc alone, for %s\n", why);
	sink_printf(notes, "  stacks end at frames that need more registers than the stack pointer; threads that run have none (%" PRIu32 " of %" PRIu32 ")\n",
		    seen.threads - seen.still, seen.threads);
	if (seen.closed)
		sink_printf(notes, "  %" PRIu32 " processes cannot be looked into (other users', not dumpable%s): only that they wait is known\n",
			    seen.closed, seen.ptrace_scope > 0 ? ", or kept by kernel.yama.ptrace_scope" : "");
	return 0;
}

#define FIRST_PID_NAMESPACE 0xeffffffcu /* PROC_PID_INIT_INO, the same on every machine */

/* Whether threads have other numbers here than for BPF programs. */
static bool in_pid_namespace(void)
{
	struct stat own;

	return !stat("/proc/self/ns/pid", &own) && own.st_ino != FIRST_PID_NAMESPACE;
}

static bool may_do_without(int r)
{
	return r == -EPERM || r == -EACCES || r == -ENOTSUP || r == -ENOENT;
}

/* ---- all of them ---- */

int now_look_open(struct now_look *look, struct err *err)
{
	look->signals = signals_open(&look->before, err);
	look->ask = true;
	return look->signals < 0 ? look->signals : 0;
}

int now_look_take(struct now_look *look, struct err *err)
{
	struct err why = { 0 };
	int r = 1;

	look->taken = look->path;
	if (look->other_path && !look->recorder)
		unlink(look->path); /* the look before: nobody wants it kept as PATH.old */
	if (look->over_proc)
		return take_over_proc(look, "", err);
	if (in_pid_namespace())
		return take_over_proc(look, "this is a pid namespace of its own (a container), outside of which nothing is seen", err);
	if (look->ask)
		r = take_from_flight(look, err);
	look->ask = r <= 0;
	look->by_flight = !r;
	if (r <= 0)
		return r;
	r = take_by_recorder(look, &why);
	if (may_do_without(r))
		return take_over_proc(look, why.text, err);
	if (r && err)
		*err = why;
	return r;
}

bool now_look_may_repeat(const struct now_look *look)
{
	return !look->patient && !look->over_proc && !look->other_path;
}

int now_look_repeat(struct now_look *look, uint64_t look_ns, const struct filter *calls, struct err *err)
{
	int r;

	look->taken = look->path;
	look->look_ns = look_ns;
	look->calls = calls;
	if (!look->by_flight)
		return now_look_take(look, err);
	/* which calls one makes a flight recorder does not see; where no other may be, what it sees must do */
	look->by_flight = look->ask = false;
	r = take_by_recorder(look, NULL);
	if (!r || r == -EINTR)
		return r;
	look->calls = NULL;
	look->ask = true;
	return now_look_take(look, err);
}

void now_look_close(struct now_look *look)
{
	if (look->recorder)
		recorder_stop(look->recorder, NULL, NULL);
	close(look->signals);
	sigprocmask(SIG_SETMASK, &look->before, NULL);
}
