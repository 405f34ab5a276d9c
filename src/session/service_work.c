/* See service_work.h.
 *
 * What is written for a caller is made in a folder of the service's own, and then copied,
 * with the caller's rights, into the descriptor that came with the request: no name that a
 * caller gives is ever opened, and a disk's limits are the caller's. */
#include "session/service_work.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "record/control.h"
#include "record/recorder.h"
#include "record/service_request.h"
#include "session/ring_copy.h"
#include "trace/copy_own.h"

#define REQUEST_TIMEOUT_S 2
#define PROGRESS_MS 500
#define MARK_REST_S 1       /* a mark keeps its caller's place for so long */

/* ---- messages ---- */

__attribute__((format(printf, 3, 4))) static void tell(const struct service_caller *caller, const char *word, const char *format, ...)
{
	struct buf buf;
	va_list args;

	buf_init(&buf);
	buf_printf(&buf, "%s ", word);
	va_start(args, format);
	buf_vprintf(&buf, format, args);
	va_end(args);
	send(caller->fd, buf.data, buf.length < SERVICE_ANSWER_BYTES ? buf.length : SERVICE_ANSWER_BYTES, MSG_NOSIGNAL);
	buf_done(&buf);
}

/* What the caller has sent and nobody has read would reach him as a reset, before the answer. */
void service_end(int fd, int code, const char *text)
{
	static char rest[SERVICE_REQUEST_BYTES];
	struct buf buf;

	shutdown(fd, SHUT_RD);
	while (recv(fd, rest, sizeof(rest), MSG_DONTWAIT) > 0)
		;
	buf_init(&buf);
	buf_printf(&buf, "end %d %s", code, text);
	send(fd, buf.data, buf.length < SERVICE_ANSWER_BYTES ? buf.length : SERVICE_ANSWER_BYTES, MSG_NOSIGNAL);
	buf_done(&buf);
	close(fd);
}

/* The first descriptor that came with the message; others are closed. */
static int take_descriptor(struct msghdr *message)
{
	int found = -1;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; at + sizeof(int) <= c->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + at, sizeof(fd));
			if (found < 0)
				found = fd;
			else
				close(fd);
		}
	}
	return found;
}

static int read_request(const struct service_caller *caller, struct service_request *request, int *ret_output, struct err *err)
{
	static char text[SERVICE_REQUEST_BYTES];
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec data = { text, sizeof(text) };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	ssize_t n;

	*ret_output = -1;
	n = recvmsg(caller->fd, &message, MSG_CMSG_CLOEXEC);
	if (n < 0)
		return err_sys(err, -errno, "reading the request");
	*ret_output = take_descriptor(&message);
	if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		return err_set(err, -E2BIG, "the request is too long, or carries more than one descriptor");
	return service_request_parse(text, (size_t)n, request, err);
}

/* ---- the file that the caller passed ---- */

static int check_output(int fd, struct err *err)
{
	struct stat info;
	int flags = fd >= 0 ? fcntl(fd, F_GETFL) : -1;

	if (fd < 0)
		return err_set(err, -EINVAL, "the request lacks the descriptor of the file to write");
	if (flags < 0 || flags & O_PATH || (flags & O_ACCMODE) == O_RDONLY || fstat(fd, &info) || !S_ISREG(info.st_mode))
		return err_set(err, -EINVAL, "the descriptor is not of a regular file that may be written");
	return 0;
}

/* From here on the process has no more rights than the caller. */
static int become(const struct ucred *who, struct err *err)
{
	if (geteuid() == who->uid)
		return 0;
	if (setgroups(0, NULL) || setresgid(who->gid, who->gid, who->gid) || setresuid(who->uid, who->uid, who->uid))
		return err_sys(err, -errno, "taking the caller's rights");
	return 0;
}

static int write_all(int fd, const char *data, size_t size, struct err *err)
{
	while (size) {
		ssize_t n = write(fd, data, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_sys(err, n ? -errno : -ENOSPC, "writing the trace");
		data += n;
		size -= (size_t)n;
	}
	return 0;
}

static int hand_over(const struct service_caller *caller, int from, int to, struct err *err)
{
	static char data[256 << 10];
	int r = become(&caller->who, err);

	while (!r) {
		ssize_t n = read(from, data, sizeof(data));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, -errno, "reading the trace");
		if (!n)
			break;
		r = write_all(to, data, (size_t)n, err);
	}
	return r;
}

/* ---- traces ---- */

struct making {
	char folder[64];           /* the service's own, for what is being made */
	char whole[96], own[96];   /* all that was recorded; what the caller may see of it */
};

static int making_begin(struct making *making, struct err *err)
{
	const char *base = getenv("TMPDIR");

	if (!base || strlen(base) > 32)
		base = "/var/tmp";
	snprintf(making->folder, sizeof(making->folder), "%s/argus-XXXXXX", base);
	if (!mkdtemp(making->folder))
		return err_sys(err, -errno, "making a folder in '%s'", base);
	snprintf(making->whole, sizeof(making->whole), "%s/whole", making->folder);
	snprintf(making->own, sizeof(making->own), "%s/own", making->folder);
	return 0;
}

static void making_end(const struct making *making)
{
	unlink(making->whole);
	unlink(making->own);
	rmdir(making->folder);
}

static bool sees_all(const struct service_caller *caller)
{
	return service_conf_sees_all(caller->conf, caller->who.uid, caller->groups, caller->group_count);
}

/* Opens what the caller gets of the recording that was made; its names are gone then. */
static int open_part(const struct service_caller *caller, const struct making *making, struct err *err)
{
	const char *path = making->whole;
	int r = 0, fd;

	if (!sees_all(caller)) {
		path = making->own;
		r = ring_copy_own(making->whole, path, caller->who.uid, 0, err);
	}
	fd = r ? r : open(path, O_RDONLY | O_CLOEXEC);
	if (!r && fd < 0)
		fd = err_sys(err, -errno, "opening '%s'", path);
	making_end(making);
	return fd;
}

static int deliver(const struct service_caller *caller, const struct making *making, int output, struct err *err)
{
	int fd = open_part(caller, making, err), r;

	if (fd < 0)
		return fd;
	r = hand_over(caller, fd, output, err);
	close(fd);
	return r;
}

/* Any message ends it, and so does the caller's end. */
static void record_on(const struct service_caller *caller, struct recorder *recorder, uint64_t duration_ns)
{
	uint64_t begin = clock_now_ns();

	for (;;) {
		struct pollfd fds[2] = { { .fd = caller->fd, .events = POLLIN | POLLRDHUP }, { .fd = recorder_fd(recorder), .events = POLLIN } };
		uint64_t passed = clock_now_ns() - begin, left_ms = passed < duration_ns ? (duration_ns - passed) / 1000000 + 1 : 0;
		struct recorder_status status;

		if (!left_ms || poll(fds, 2, left_ms < PROGRESS_MS ? (int)left_ms : PROGRESS_MS) > 0)
			return;
		recorder_status(recorder, &status);
		tell(caller, "progress", "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, status.events, status.bytes, status.lost,
		     status.now_ns - status.start_ns);
	}
}

static int read_filter(const struct service_caller *caller, const struct service_request *request, struct filter *filter, struct err *err)
{
	int r = 0;

	if (request->pids[0])
		r = filter_add_pids(filter, request->pids, err);
	if (!r && request->tids[0])
		r = filter_add_tids(filter, request->tids, err);
	if (!r && request->cpus[0])
		r = filter_add_cpus(filter, request->cpus, err);
	if (request->child) {
		filter_add(filter, FILTER_PID, request->child);
		filter->follow_forks = true;
	}
	if (!sees_all(caller))
		filter_add(filter, FILTER_USER, caller->who.uid);
	return r;
}

static int run_recorder(const struct service_caller *caller, const struct service_request *request, const struct making *making,
			struct err *err)
{
	const struct service_conf *conf = caller->conf;
	struct filter filter = { 0 };
	struct recorder_options want = {
		.path = making->whole,
		.full = request->full,
		.max_bytes = request->bytes && request->bytes < conf->recording_bytes ? request->bytes : conf->recording_bytes,
		.ring_bytes = request->ring,
		.sample_hz = (uint32_t)request->hz,
		.stacks = (uint32_t)request->stacks,
		.filter = &filter,
		.command = request->command,
		.options = "by the recording service",
	};
	uint64_t duration = request->duration_ns && request->duration_ns < conf->recording_ns ? request->duration_ns : conf->recording_ns;
	struct recorder_status status = { 0 };
	struct recorder *recorder;
	int r = read_filter(caller, request, &filter, err);

	if (request->ring & (request->ring - 1) || (request->ring && request->ring < RECORDER_RING_LEAST))
		r = err_set(err, -EINVAL, "a ring is 1M, 2M, 4M and so on to 64M large");
	if (!r)
		r = recorder_start(&want, &recorder, err);
	if (!r) {
		tell(caller, "started", "%d", (int)getpid());
		record_on(caller, recorder, duration);
		r = recorder_stop(recorder, &status, err);
		tell(caller, "progress", "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, status.events, status.bytes, status.lost,
		     status.now_ns - status.start_ns);
		if (status.ended && status.err.code == -EFBIG)
			tell(caller, "note", "the size limit is reached; the trace holds what came before");
		else if (status.ended && status.err.code)
			tell(caller, "note", "%s", status.err.text);
	}
	filter_done(&filter);
	return r;
}

static int take_slot(const struct service_caller *caller, struct err *err)
{
	if (!caller->conf->recordings)
		return err_set(err, -EPERM, SERVICE_CONF_PATH " allows no recordings");
	for (uint32_t i = 0; i < caller->conf->recordings; i++) {
		pid_t none = 0;

		if (atomic_compare_exchange_strong(&caller->slots->makers[i], &none, getpid()))
			return 0;
	}
	return err_set(err, -EBUSY, "%u recordings are being made already, as many as " SERVICE_CONF_PATH " allows", caller->conf->recordings);
}

static int record(const struct service_caller *caller, const struct service_request *request, int output, struct err *err)
{
	struct making making;
	int r = check_output(output, err);

	if (!r)
		r = take_slot(caller, err);
	if (!r)
		r = making_begin(&making, err);
	if (r)
		return r;
	r = run_recorder(caller, request, &making, err);
	if (!r)
		return deliver(caller, &making, output, err);
	making_end(&making);
	return r;
}

static int snap(const struct service_caller *caller, const struct service_request *request, int output, struct err *err)
{
	uint64_t now = clock_now_ns();
	struct ring_copy_want want = { .from_ns = request->last_ns && request->last_ns < now ? now - request->last_ns : 0 };
	struct making making;
	struct buf folder;
	int r = check_output(output, err);

	if (!r)
		r = take_slot(caller, err);
	if (r)
		return r;
	buf_init(&folder);
	r = control_ask("snapshot", &folder, err);
	if (!r)
		r = making_begin(&making, err);
	if (!r) {
		if (sees_all(caller))
			r = ring_copy(buf_str(&folder), making.whole, &want, err);
		else
			r = ring_copy_own(buf_str(&folder), making.whole, caller->who.uid, want.from_ns, err);
		if (!r) {
			int fd = open(making.whole, O_RDONLY | O_CLOEXEC);

			r = fd < 0 ? err_sys(err, -errno, "opening the snapshot") : 0;
			making_end(&making);
			if (!r)
				r = hand_over(caller, fd, output, err);
		} else {
			making_end(&making);
		}
	}
	buf_done(&folder);
	return r;
}

static int mark(const struct service_request *request, struct err *err)
{
	struct buf line, reply;
	int r;

	if (!request->text[0])
		return err_set(err, -EINVAL, "mark needs a text");
	buf_init(&line);
	buf_init(&reply);
	buf_printf(&line, "mark %s", request->text);
	r = control_ask(buf_str(&line), &reply, err);
	buf_done(&line);
	buf_done(&reply);
	return r;
}

/* ---- the caller ---- */

int service_caller_read(struct service_caller *caller, struct err *err)
{
	socklen_t size = sizeof(caller->who);

	if (getsockopt(caller->fd, SOL_SOCKET, SO_PEERCRED, &caller->who, &size))
		return err_sys(err, -errno, "asking who calls");
	size = sizeof(caller->groups);
	caller->group_count = getsockopt(caller->fd, SOL_SOCKET, SO_PEERGROUPS, caller->groups, &size) ? 0 : size / sizeof(gid_t);
	return 0;
}

/* The socket's mode says so already, where it has not been changed. */
static bool may_ask(const struct service_caller *caller)
{
	struct group *group = getgrnam(caller->group);

	if (!caller->who.uid || (group && caller->who.gid == group->gr_gid))
		return true;
	for (uint32_t i = 0; group && i < caller->group_count; i++)
		if (caller->groups[i] == group->gr_gid)
			return true;
	return false;
}

void service_work(struct service_caller *caller)
{
	struct timeval limit = { .tv_sec = REQUEST_TIMEOUT_S };
	struct service_request request = { .verb = SERVICE_VERBS };
	struct err err = { 0 };
	struct buf text;
	int output = -1, r;

	buf_init(&text);
	setsockopt(caller->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(caller->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	r = may_ask(caller) ? read_request(caller, &request, &output, &err)
			    : err_set(&err, -EPERM, "only members of the group %s may ask the recording service", caller->group);
	if (!r) {
		switch ((enum service_verb)request.verb) {
		case SERVICE_RECORD:
			r = record(caller, &request, output, &err);
			break;
		case SERVICE_SNAP:
			r = snap(caller, &request, output, &err);
			break;
		case SERVICE_MARK:
			r = mark(&request, &err);
			break;
		case SERVICE_STATUS:
			r = control_ask("status", &text, &err);
			break;
		case SERVICE_VERBS:
			break;
		}
	}
	if (output >= 0)
		close(output);
	service_end(caller->fd, r, r ? err.text : buf_str(&text));
	buf_done(&text);
	if (request.verb == SERVICE_MARK)
		sleep(MARK_REST_S);
}
