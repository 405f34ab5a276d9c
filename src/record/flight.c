/* See flight.h. */
#include "record/flight.h"

#include <errno.h>

#ifndef HAVE_BPF

int flight_run(const struct flight_options *options, struct control *control, flight_ready *ready, void *data,
	       struct err *err)
{
	(void)options;
	(void)control;
	(void)ready;
	(void)data;
	return err_set(err, -ENOTSUP, "this argus was built without BPF and cannot record");
}

#else

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "record/flight_index.h"
#include "record/recorder.h"
#include "record/ring_folder.h"
#include "record/signals.h"
#include "record/spawn.h"
#include "trace/output.h"

#define FILES 16                    /* of a full ring */
#define FILE_BYTES_LEAST (FLIGHT_BYTES_LEAST / 4)
#define FILE_BYTES_MOST (128u << 20)
#define DISK_BYTES_LEAST (512u << 10) /* of a ring, however little the disk has */
#define TICK_MS 500
#define TRIGGER_NS 2000000000ull    /* between looks for hangs */
#define RETRY_NS 5000000000ull      /* after a failure */
#define SAVE_NS 60000000000ull      /* at the earliest so long after the save before */
#define SAVES_MOST 20               /* kept until somebody removes them */
#define SAVE_DELAY_NS UINT64_C(2000000000) /* what follows the moment belongs to it */

struct flight {
	const struct flight_options *options;
	struct control *control;
	struct recorder *recorder;      /* NULL while recording is interrupted */
	struct triggers *triggers;      /* NULL none */
	struct ring_folder folder;
	char path[PATH_MAX];            /* of the file that is written */
	dev_t device;                   /* ... and which one it is */
	ino_t inode;
	uint64_t file_bytes;            /* a file's, at which the next one begins */
	uint64_t limit_bytes;           /* of the ring; less than asked for where the disk has less */
	uint64_t quota_bytes;           /* what a quota, which no disk tells, let it have */
	uint64_t next_trigger_ns, next_retry_ns, next_save_ns, save_at_ns;
	uint64_t events, lost, bytes;   /* of recorders before this one */
	uint64_t interruptions, vanished, saves, hangs;
	uint64_t unsaved;               /* hangs, for there were too many saved ones */
	char hang[TRIGGER_TEXT_BYTES];  /* the last one's words */
	struct err failure;             /* of the last interruption */
	uint64_t since_ns;
	int signals;
	pid_t saving;                   /* process that saves, 0 none */
	struct flight_index index;
	bool stop;
};

static uint64_t file_bytes_of(uint64_t ring_bytes)
{
	uint64_t bytes = ring_bytes / FILES, least = ring_bytes / 4 < FILE_BYTES_LEAST ? ring_bytes / 4 : FILE_BYTES_LEAST;

	return bytes > FILE_BYTES_MOST ? FILE_BYTES_MOST : bytes < least ? least : bytes;
}

/* The ring and its files become as large as the disk allows now, up to what was
 * asked for; a little is left free, for what is written between two looks. */
static void fit_disk(struct flight *flight)
{
	uint64_t limit = flight->options->bytes, room;
	struct ring_folder_size size;

	if (ring_folder_room(&flight->folder, &room, NULL))
		room = limit;
	if (room < limit && !ring_folder_size(&flight->folder, &size, NULL)) {
		room += size.bytes;
		room -= room / 16;
		limit = room < limit ? room : limit;
	}
	if (limit > flight->quota_bytes)
		limit = flight->quota_bytes;
	flight->limit_bytes = limit < DISK_BYTES_LEAST ? DISK_BYTES_LEAST : limit;
	flight->file_bytes = file_bytes_of(flight->limit_bytes);
}

/* Room for the file that is about to grow. */
static int trim(struct flight *flight, struct err *err)
{
	fit_disk(flight);
	return ring_folder_trim(&flight->folder, flight->limit_bytes - flight->file_bytes, 1, err);
}

/* The writer asks itself, for the disk may fill between two looks of ours. In its thread. */
static bool make_room(void *data, uint64_t bytes, bool full)
{
	struct flight *flight = data;

	if (full)
		flight_index_let_go(&flight->index);
	return ring_folder_make_room(&flight->folder, bytes, full);
}

/* A full disk is made less full by what is oldest of ours. The newest file goes
 * only when none could be begun beside it, and when that gives room for one. */
static void yield_room(struct flight *flight, const struct err *why, size_t keep)
{
	struct ring_folder_size size;

	if ((why->code != -ENOSPC && why->code != -EDQUOT) || ring_folder_size(&flight->folder, &size, NULL))
		return;
	if (why->code == -EDQUOT)
		flight->quota_bytes = size.bytes - size.bytes / 8;
	if (size.bytes >= DISK_BYTES_LEAST)
		ring_folder_trim(&flight->folder, size.bytes / 2, keep, NULL);
}

static void know_file(struct flight *flight)
{
	struct stat info;

	ring_folder_share_file(&flight->folder, flight->path);
	if (lstat(flight->path, &info))
		info = (struct stat){ 0 }; /* gone already */
	flight->device = info.st_dev;
	flight->inode = info.st_ino;
}

/* Removed, or something else stands in its place, or it was cut below what is written, which may have been filled by what came since. */
static bool is_file_gone(const struct flight *flight, uint64_t written)
{
	struct stat info;

	if (lstat(flight->path, &info))
		return errno == ENOENT || errno == ENOTDIR;
	return info.st_dev != flight->device || info.st_ino != flight->inode || (uint64_t)info.st_size < written ||
	       !output_is_trace(flight->path, &info);
}

/* A file without events would stand before those with history. */
static int start_file(struct flight *flight, const struct recorder_options *want, struct err *err)
{
	struct stat info;
	bool others = !lstat(flight->path, &info); /* which is no file of ours */
	int r = recorder_start(want, &flight->recorder, err);

	if (r && !others)
		unlink(flight->path);
	return r;
}

static int begin(struct flight *flight, struct err *err)
{
	const struct flight_options *options = flight->options;
	struct recorder_options want = {
		.path = flight->path,
		.full = options->full,
		.room = { make_room, flight },
		.ring_bytes = options->ring_bytes,
		.sample_hz = options->sample_hz,
		.stacks = options->stacks,
		.probes = options->probes,
		.watches = options->watches,
		.options = options->options,
	};
	int r = ring_folder_open(&flight->folder, options->folder, err);

	if (!r) {
		ring_folder_share(&flight->folder, options->group_reads);
		r = trim(flight, err);
	}
	if (!r)
		r = ring_folder_next(&flight->folder, flight->path, sizeof(flight->path), err);
	if (!r)
		r = start_file(flight, &want, err);
	know_file(flight);
	return r;
}

static void interrupt(struct flight *flight, const struct err *why)
{
	struct recorder_status status = { 0 };

	recorder_stop(flight->recorder, &status, NULL);
	flight->recorder = NULL;
	flight->events += status.events;
	flight->lost += status.lost;
	flight->bytes += status.bytes;
	flight->failure = *why;
	flight->interruptions++;
	flight->next_retry_ns = clock_now_ns();
	yield_room(flight, why, 1);
}

static void retry(struct flight *flight)
{
	struct err why = { 0 };

	if (clock_now_ns() < flight->next_retry_ns)
		return;
	flight->next_retry_ns = clock_now_ns() + RETRY_NS;
	if (!begin(flight, &why))
		return;
	flight->failure = why;
	yield_room(flight, &why, 0);
}

static void rotate(struct flight *flight)
{
	struct err why = { 0 };
	int r = ring_folder_open(&flight->folder, flight->options->folder, &why);

	if (!r)
		r = trim(flight, &why);
	if (!r)
		r = ring_folder_next(&flight->folder, flight->path, sizeof(flight->path), &why);
	if (!r)
		r = recorder_rotate(flight->recorder, flight->path, &why);
	know_file(flight);
	if (!r && flight->quota_bytes < flight->options->bytes)
		flight->quota_bytes += flight->quota_bytes / 8; /* it may have become more */
	if (r)
		interrupt(flight, &why);
}

static void keep_recording(struct flight *flight)
{
	struct recorder_status status;

	if (!flight->recorder) {
		retry(flight);
		return;
	}
	recorder_status(flight->recorder, &status);
	if (status.ended) {
		interrupt(flight, &status.err);
		return;
	}
	if (is_file_gone(flight, status.file_bytes)) {
		flight->vanished++;
		rotate(flight);
		return;
	}
	fit_disk(flight);
	if (status.file_bytes >= flight->file_bytes || status.file_is_full)
		rotate(flight);
	else if (flight->limit_bytes < flight->options->bytes || flight->index.pid) /* its files count, too */
		ring_folder_trim(&flight->folder, flight->limit_bytes, 1, NULL);
}

static void note_hang(struct flight *flight, const char *text)
{
	snprintf(flight->hang, sizeof(flight->hang), "%s", text);
	flight->hangs++;
	if (flight->recorder) {
		recorder_mark(flight->recorder, text, NULL);
		/* the hang may be over when it is saved */
		recorder_snapshot(flight->recorder, SNAPSHOT_REASON_request, NULL);
	}
	if (!flight->save_at_ns)
		flight->save_at_ns = clock_now_ns() + SAVE_DELAY_NS;
}

/* Saved hangs that nobody has removed. */
static uint64_t count_saved(const char *folder)
{
	DIR *open_folder = opendir(folder);
	struct dirent *entry;
	uint64_t count = 0;

	while (open_folder && (entry = readdir(open_folder))) {
		size_t length = strlen(entry->d_name);

		count += !strncmp(entry->d_name, "hang-", 5) && length > 6 && !strcmp(entry->d_name + length - 6, ".trace");
	}
	if (open_folder)
		closedir(open_folder);
	return count;
}

/* Saves by the same command that a person uses, in a process of its own. */
static void save(struct flight *flight)
{
	char path[PATH_MAX], last[32], when[32];
	const char *words[] = { "argus", "snap", "--last", last, "-o", path, NULL };
	time_t now = time(NULL);
	struct tm parts;

	flight->save_at_ns = 0;
	flight->next_save_ns = clock_now_ns() + SAVE_NS;
	gmtime_r(&now, &parts);
	strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &parts);
	if (snprintf(path, sizeof(path), "%s/saved", flight->options->folder) >= (int)sizeof(path) - 64)
		return;
	if (mkdir(path, 0700) && errno != EEXIST)
		return;
	if (count_saved(path) >= SAVES_MOST) {
		flight->unsaved++;
		return;
	}
	snprintf(path + strlen(path), 64, "/hang-%s.trace", when);
	snprintf(last, sizeof(last), "%" PRIu64 "ns", flight->options->save_last_ns + SAVE_DELAY_NS);
	flight->saving = spawn_program("/proc/self/exe", words);
	if (flight->saving < 0)
		flight->saving = 0;
	else
		flight->saves++;
}

static void look_for_hangs(struct flight *flight)
{
	char text[TRIGGER_TEXT_BYTES];
	uint64_t now = clock_now_ns();

	if (flight->triggers && now >= flight->next_trigger_ns) {
		flight->next_trigger_ns = now + TRIGGER_NS;
		if (triggers_check(flight->triggers, now, text, NULL) > 0)
			note_hang(flight, text);
	}
	if (flight->save_at_ns && now >= flight->save_at_ns && now >= flight->next_save_ns && !flight->saving)
		save(flight);
}

static void make_index(struct flight *flight)
{
	struct recorder_status status = { 0 };

	if (flight->recorder)
		recorder_status(flight->recorder, &status);
	flight_index_look(&flight->index, clock_now_ns(), flight->events + status.events);
}

static void reap(struct flight *flight)
{
	char text[TRIGGER_TEXT_BYTES];
	struct rusage used;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG, &used)) > 0) {
		if (pid == flight->saving)
			flight->saving = 0;
		else if (flight_index_child(&flight->index, pid, &used, clock_now_ns()))
			continue;
		else if (flight->triggers && triggers_child(flight->triggers, pid, status, text))
			note_hang(flight, text);
	}
}

static void take_signals(struct flight *flight)
{
	struct signalfd_siginfo info;

	if (read(flight->signals, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGCHLD)
		reap(flight);
	else if (info.ssi_signo != SIGHUP)
		flight->stop = true;
}

static void add_number(struct buf *buf, const char *key, uint64_t number)
{
	buf_printf(buf, "%s=%" PRIu64 "\n", key, number);
}

static void add_text(struct buf *buf, const char *key, const char *text)
{
	buf_printf(buf, "%s=", key);
	buf_escaped(buf, text, strlen(text), NULL);
	buf_char(buf, '\n');
}

/* Seconds by the wall clock of now: it may have been set since then. */
static uint64_t started_at(const struct flight *flight)
{
	return (flight->since_ns + (uint64_t)clock_ahead_ns(CLOCK_REALTIME)) / 1000000000u;
}

static void describe(struct flight *flight, struct buf *buf)
{
	struct recorder_status status = { 0 };
	struct ring_folder_size size = { 0 };
	struct rusage used;

	if (flight->recorder)
		recorder_status(flight->recorder, &status);
	ring_folder_size(&flight->folder, &size, NULL);
	getrusage(RUSAGE_SELF, &used);
	add_number(buf, "pid", (uint64_t)getpid());
	add_text(buf, "level", flight->options->full ? "full" : "lean");
	add_text(buf, "folder", flight->options->folder);
	add_text(buf, "state", flight->recorder ? "recording" : "interrupted");
	add_number(buf, "since", started_at(flight));
	add_number(buf, "events", flight->events + status.events);
	add_number(buf, "bytes_written", flight->bytes + status.bytes);
	add_number(buf, "lost", flight->lost + status.lost);
	add_number(buf, "ring_bytes", size.bytes);
	add_number(buf, "ring_limit", flight->limit_bytes);
	add_number(buf, "ring_asked", flight->options->bytes);
	add_number(buf, "ring_files", size.files);
	add_number(buf, "cpu_us", (uint64_t)used.ru_utime.tv_sec * 1000000 + (uint64_t)used.ru_utime.tv_usec +
				  (uint64_t)used.ru_stime.tv_sec * 1000000 + (uint64_t)used.ru_stime.tv_usec + flight->index.cpu_us);
	add_number(buf, "real_time", status.real_time);
	add_number(buf, "interruptions", flight->interruptions);
	add_number(buf, "files_vanished", flight->vanished);
	add_number(buf, "hangs_seen", flight->hangs);
	add_number(buf, "hangs_saved", flight->saves);
	add_number(buf, "hangs_unsaved", flight->unsaved);
	add_text(buf, "last_hang", flight->hang);
	add_text(buf, "last_failure", flight->failure.text);
	flight_index_describe(&flight->index, buf);
}

static void answer(struct flight *flight, const char *request, int *fd)
{
	struct err why = { 0 };
	struct buf text;
	int r = 0;

	buf_init(&text);
	if (!strcmp(request, "status")) {
		describe(flight, &text);
	} else if (!strcmp(request, "stop")) {
		flight->stop = true;
	} else if (!flight->recorder && (!strcmp(request, "flush") || !strcmp(request, "snapshot"))) {
		r = err_set(&why, -EIO, "recording is interrupted (`argus snap --dir '%.160s'` saves the ring's newest recording): %s",
			    flight->options->folder, flight->failure.text);
	} else if (!flight->recorder) {
		r = err_set(&why, -EIO, "recording is interrupted: %s", flight->failure.text);
	} else if (!strncmp(request, "mark ", 5)) {
		r = recorder_mark(flight->recorder, request + 5, &why);
	} else if (!strcmp(request, "flush") || !strcmp(request, "snapshot")) {
		if (request[0] == 's')
			r = recorder_snapshot(flight->recorder, SNAPSHOT_REASON_request, &why);
		if (!r)
			r = recorder_flush(flight->recorder, &why);
		buf_text(&text, flight->options->folder);
	} else {
		r = err_set(&why, -EINVAL, "unknown request");
	}
	if (!flight->stop) {
		control_reply(*fd, r, r ? why.text : buf_str(&text));
		*fd = -1;
	}
	buf_done(&text);
}

/* Until it is to stop; who asked for that is answered at the end: his
 * descriptor, or -1. */
static int serve(struct flight *flight)
{
	char request[CONTROL_REQUEST_BYTES];

	for (;;) {
		struct pollfd fds[3] = {
			{ .fd = flight->control->listen_fd, .events = POLLIN },
			{ .fd = flight->signals, .events = POLLIN },
			{ .fd = flight->recorder ? recorder_fd(flight->recorder) : -1, .events = POLLIN },
		};
		int fd;

		poll(fds, 3, TICK_MS);
		if (fds[1].revents)
			take_signals(flight);
		if (fds[0].revents) {
			fd = control_accept(flight->control, request, NULL);
			if (fd >= 0)
				answer(flight, request, &fd);
			if (flight->stop)
				return fd;
		}
		if (flight->stop)
			return -1;
		keep_recording(flight);
		look_for_hangs(flight);
		make_index(flight);
	}
}

static bool wants_triggers(const struct triggers_options *options)
{
	return options->unread_ns || options->blocked_ns || options->window_ns || options->command;
}

int flight_run(const struct flight_options *options, struct control *control, flight_ready *ready, void *data,
	       struct err *err)
{
	struct flight flight = { .options = options, .control = control, .since_ns = clock_now_ns() };
	struct err failure = { 0 };
	int r = 0, asker = -1;

	flight.quota_bytes = flight.limit_bytes = options->bytes;
	flight_index_init(&flight.index, options->no_index ? NULL : options->folder);
	flight.file_bytes = file_bytes_of(options->bytes);
	flight.signals = signals_open(NULL, err);
	if (flight.signals < 0)
		return flight.signals;
	if (wants_triggers(&options->triggers))
		r = triggers_open(&options->triggers, &flight.triggers, err);
	if (!r)
		r = begin(&flight, err);
	if (!r) {
		ready(data);
		asker = serve(&flight);
		if (flight.recorder)
			r = recorder_stop(flight.recorder, NULL, &failure);
	}
	triggers_close(flight.triggers);
	flight_index_stop(&flight.index);
	close(flight.signals);
	/* whoever asked may start another at once */
	control_close(control);
	if (asker >= 0)
		control_reply(asker, r, r ? failure.text : "");
	if (r && failure.code && err)
		*err = failure;
	return r;
}

#endif
