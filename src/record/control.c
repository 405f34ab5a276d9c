/* See control.h. */
#include "record/control.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define CALLER_TIMEOUT_MS 1000
#define LISTEN_QUEUE 16
#define ANSWER_TIMEOUT_S 120 /* stopping writes what is left */
#define ANSWER_LATE_MS 500
#define QUEUE_TIMEOUT_MS 5000 /* for a place among those who wait for an answer */
#define OWNER_GONE_TRIES 500 /* of the lock of a recorder that is no more */
#define OWNER_GONE_US 10000

const char *control_folder(void)
{
	static char absolute[PATH_MAX]; /* the recorder changes its folder */
	const char *folder = getenv("ARGUS_RUNTIME_DIR");

	if (!folder || !*folder)
		return "/run/argus";
	if (folder[0] == '/')
		return folder;
	if (!absolute[0]) {
		char here[PATH_MAX];

		if (!getcwd(here, sizeof(here)) || snprintf(absolute, sizeof(absolute), "%s/%s", here, folder) >= PATH_MAX)
			return folder;
	}
	return absolute;
}

static int control_address(struct sockaddr_un *address, struct err *err)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	if ((size_t)snprintf(address->sun_path, sizeof(address->sun_path), "%s/control", control_folder()) >=
	    sizeof(address->sun_path))
		return err_set(err, -ENAMETOOLONG, "the runtime folder's name '%s' is too long for a socket", control_folder());
	return 0;
}

static int refuse_folder(const char *folder, int code, const char *doing, struct err *err)
{
	if (code == -EACCES && geteuid())
		return err_set(err, code, "recording needs root, and so does the runtime folder '%s': sudo argus start", folder);
	return err_sys(err, code, "%s the runtime folder '%s'", doing, folder);
}

static int open_folder(struct err *err)
{
	const char *folder = control_folder();
	struct stat info;
	int fd;

	if (mkdir(folder, 0700) && errno != EEXIST)
		return refuse_folder(folder, -errno, "making", err);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return refuse_folder(folder, -errno, "opening", err);
	if (fstat(fd, &info) || info.st_uid != geteuid() || info.st_mode & (S_IWGRP | S_IWOTH)) {
		close(fd);
		return err_set(err, -EPERM, "the runtime folder '%s' is another user's or open to others for writing", folder);
	}
	return fd;
}

/* the process that the lock file names */
static pid_t lock_owner(int fd)
{
	char text[32];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = 0;
	return (pid_t)strtol(text, NULL, 10);
}

static bool is_gone(pid_t pid)
{
	return pid <= 0 || (kill(pid, 0) && errno == ESRCH);
}

static int take_lock(int folder, struct err *err)
{
	int fd = openat(folder, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	pid_t owner;

	if (fd < 0)
		return err_sys(err, -errno, "opening the lock file in '%s'", control_folder());
	/* the helpers of a recorder that was killed hold it until they have ended, too */
	for (unsigned tries = 0; flock(fd, LOCK_EX | LOCK_NB); tries++) {
		owner = lock_owner(fd);
		if (!is_gone(owner) || tries == OWNER_GONE_TRIES) {
			close(fd);
			return err_set(err, -EALREADY, "a recorder is running already (process %d): see `argus status`, end it with `argus stop`",
				       (int)owner);
		}
		usleep(OWNER_GONE_US);
	}
	return fd;
}

static int listen_there(const struct sockaddr_un *address, struct err *err)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t before;
	int r;

	if (fd < 0)
		return err_sys(err, -errno, "opening the control socket");
	/* what an earlier recorder left behind: the lock is ours, so it is dead */
	unlink(address->sun_path);
	before = umask(0177);
	r = bind(fd, (const struct sockaddr *)address, sizeof(*address)) ? -errno : 0;
	umask(before);
	if (!r && listen(fd, LISTEN_QUEUE))
		r = -errno;
	if (!r)
		return fd;
	close(fd);
	return err_sys(err, r, "opening the control socket '%s'", address->sun_path);
}

int control_open(struct control *control, struct err *err)
{
	struct sockaddr_un address;
	int folder, r;

	*control = (struct control){ -1, -1, "" };
	r = control_address(&address, err);
	if (r)
		return r;
	folder = open_folder(err);
	if (folder < 0)
		return folder;
	control->lock_fd = take_lock(folder, err);
	close(folder);
	if (control->lock_fd < 0)
		return control->lock_fd;
	control->listen_fd = listen_there(&address, err);
	if (control->listen_fd < 0) {
		r = control->listen_fd;
		control_close(control);
		return r;
	}
	memcpy(control->path, address.sun_path, sizeof(control->path));
	return 0;
}

void control_own(struct control *control, const char *ring)
{
	char text[32 + PATH_MAX];
	int length = snprintf(text, sizeof(text), "%d\n%s\n", (int)getpid(), ring);

	if (ftruncate(control->lock_fd, 0) || pwrite(control->lock_fd, text, (size_t)length, 0) != length)
		return; /* only the words of a second start suffer */
	/* callers are told this process's number, not that of the one which opened the socket */
	listen(control->listen_fd, LISTEN_QUEUE);
}

bool control_last_ring(char ret_ring[PATH_MAX])
{
	char path[PATH_MAX], text[32 + PATH_MAX], *ring, *end;
	ssize_t n = -1;
	int fd;

	if (snprintf(path, sizeof(path), "%s/lock", control_folder()) >= PATH_MAX)
		return false;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = 0;
	ring = strchr(text, '\n');
	end = ring ? strchr(++ring, '\n') : NULL;
	if (!end || *ring != '/')
		return false;
	*end = 0;
	snprintf(ret_ring, PATH_MAX, "%s", ring);
	return true;
}

void control_close(struct control *control)
{
	if (control->listen_fd >= 0) {
		unlink(control->path);
		close(control->listen_fd);
	}
	if (control->lock_fd >= 0)
		close(control->lock_fd);
	control->listen_fd = control->lock_fd = -1;
}

static void set_timeout(int fd, int option, int ms)
{
	struct timeval limit = { ms / 1000, ms % 1000 * 1000 };

	setsockopt(fd, SOL_SOCKET, option, &limit, sizeof(limit));
}

static bool may_ask(int fd)
{
	struct ucred caller;
	socklen_t size = sizeof(caller);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &caller, &size) && (!caller.uid || caller.uid == geteuid());
}

/* Up to the newline; several reads may be needed, each within the time limit. */
static int read_line(int fd, char request[CONTROL_REQUEST_BYTES])
{
	size_t length = 0;

	while (length < CONTROL_REQUEST_BYTES) {
		ssize_t n = recv(fd, request + length, CONTROL_REQUEST_BYTES - length, 0);
		char *end;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EPROTO;
		end = memchr(request + length, '\n', (size_t)n);
		if (end) {
			*end = 0;
			return memchr(request, 0, (size_t)(end - request)) ? -EPROTO : 0;
		}
		length += (size_t)n;
	}
	return -EMSGSIZE;
}

int control_accept(struct control *control, char request[CONTROL_REQUEST_BYTES], struct err *err)
{
	int fd = accept4(control->listen_fd, NULL, NULL, SOCK_CLOEXEC), r;

	if (fd < 0)
		return err_sys(err, -errno, "accepting a caller");
	set_timeout(fd, SO_RCVTIMEO, CALLER_TIMEOUT_MS);
	set_timeout(fd, SO_SNDTIMEO, CALLER_TIMEOUT_MS);
	if (!may_ask(fd)) {
		control_reply(fd, -EPERM, "the recorder is another user's");
		return err_set(err, -EPERM, "a caller of another user was refused");
	}
	r = read_line(fd, request);
	if (!r)
		return fd;
	control_reply(fd, r, "the request is malformed");
	return err_sys(err, r, "reading a request");
}

void control_reply(int fd, int code, const char *text)
{
	struct buf buf;
	size_t at = 0;

	buf_init(&buf);
	buf_printf(&buf, "%d %s", code, text);
	while (at < buf.length) {
		ssize_t n = send(fd, buf.data + at, buf.length - at, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	buf_done(&buf);
	close(fd);
}

static int connect_there(struct err *err)
{
	struct sockaddr_un address;
	int r = control_address(&address, err), fd;

	if (r)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_sys(err, -errno, "opening a socket");
	set_timeout(fd, SO_RCVTIMEO, ANSWER_TIMEOUT_S * 1000);
	/* a stopped recorder takes nobody in: its queue gets full */
	set_timeout(fd, SO_SNDTIMEO, QUEUE_TIMEOUT_MS);
	if (!connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		return fd;
	r = -errno;
	close(fd);
	if (r == -EAGAIN)
		return err_set(err, -EBUSY, "the recorder answers nobody, and %d wait for it: it is stopped, or stuck", LISTEN_QUEUE);
	if (r == -ENOENT || r == -ECONNREFUSED || r == -ENOTDIR)
		return err_set(err, -ENOENT, "no recorder is running; `argus start` starts one");
	if (r == -EACCES || r == -EPERM)
		return err_set(err, r, "the recorder is another user's: ask as that user or as root");
	return err_sys(err, r, "reaching the recorder at '%s'", address.sun_path);
}

/* Stopped by a signal or a debugger: it will not answer until somebody lets it go on. */
static bool is_stopped(pid_t pid)
{
	char path[64], text[512];
	const char *state;
	size_t got;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	got = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[got] = 0;
	state = strrchr(text, ')');
	return state && state[1] == ' ' && (state[2] == 'T' || state[2] == 't');
}

/* Until there is something to read. Whether it is stopped is looked at only when it is late. */
static int wait_for_reply(int fd, int timeout_ms, struct err *err)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	struct ucred recorder = { .pid = 0 };
	socklen_t size = sizeof(recorder);

	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &recorder, &size);
	for (int waited_ms = 0; waited_ms < timeout_ms; waited_ms += ANSWER_LATE_MS) {
		int n = poll(&ready, 1, ANSWER_LATE_MS);

		if (n > 0 || (n < 0 && errno != EINTR))
			return 0;
		if (recorder.pid > 0 && is_stopped(recorder.pid))
			return err_set(err, -EBUSY, "the recorder (process %d) is stopped; `kill -CONT %d` lets it go on", (int)recorder.pid,
				       (int)recorder.pid);
	}
	return err_set(err, -ETIMEDOUT, "the recorder (process %d) has not answered for %d s", (int)recorder.pid, timeout_ms / 1000);
}

static int read_reply(int fd, int timeout_ms, struct buf *raw, struct err *err)
{
	char data[4096];

	for (;;) {
		int r = wait_for_reply(fd, timeout_ms, err);
		ssize_t n = r ? 0 : recv(fd, data, sizeof(data), 0);

		if (r)
			return r;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, -errno, "waiting for the recorder's answer");
		if (!n)
			return 0;
		buf_add(raw, data, (size_t)n);
	}
}

int control_ask(const char *request, struct buf *reply, struct err *err)
{
	return control_ask_within(request, ANSWER_TIMEOUT_S * 1000, reply, err);
}

int control_ask_within(const char *request, int timeout_ms, struct buf *reply, struct err *err)
{
	struct buf raw, line;
	char *rest;
	long code;
	int fd = connect_there(err), r;

	if (fd < 0)
		return fd;
	buf_init(&raw);
	buf_init(&line);
	buf_printf(&line, "%s\n", request);
	r = send(fd, line.data, line.length, MSG_NOSIGNAL) == (ssize_t)line.length ? 0 : -errno;
	r = r ? err_sys(err, r, "asking the recorder") : read_reply(fd, timeout_ms, &raw, err);
	close(fd);
	if (!r) {
		code = strtol(buf_str(&raw), &rest, 10);
		if (!raw.length || rest == raw.data || *rest != ' ')
			r = err_set(err, -ECONNRESET, "the recorder ended without an answer");
		else if (code < 0)
			r = err_set(err, (int)code, "%s", rest + 1);
		else
			buf_text(reply, rest + 1);
	}
	buf_done(&raw);
	buf_done(&line);
	return r;
}
