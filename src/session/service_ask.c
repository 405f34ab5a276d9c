/* See service_ask.h. */
#include "session/service_ask.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/arena.h"
#include "record/control.h"
#include "trace/output.h"

static const char *socket_path(void)
{
	const char *path = getenv("ARGUS_SERVICE_SOCKET");

	return path && *path ? path : SERVICE_SOCKET;
}

int service_connect(struct service_call *ret_call, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd, r;

	if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s", socket_path()) >= sizeof(address.sun_path))
		return err_set(err, -ENAMETOOLONG, "'%s' is too long for a socket", socket_path());
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_sys(err, -errno, "opening a socket");
	if (!connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		ret_call->fd = fd;
		return 0;
	}
	r = -errno;
	close(fd);
	if (r == -EACCES || r == -EPERM)
		return err_set(err, r, "only members of the group argus may ask the recording service: sudo usermod -aG argus NAME, then log in again");
	return err_sys(err, r, "reaching the recording service at '%s'", socket_path());
}

int service_send(struct service_call *call, const struct service_request *request, int output, struct err *err)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr message = { .msg_iovlen = 1 };
	struct iovec data;
	struct buf buf;
	int r;

	buf_init(&buf);
	r = service_request_put(request, &buf, err);
	data = (struct iovec){ buf.data, buf.length };
	message.msg_iov = &data;
	if (output >= 0) {
		struct cmsghdr *c = &control.head;

		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		*c = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(c), &output, sizeof(output));
	}
	/* a service that refuses a caller does not wait for his question: its answer is there to be read */
	if (!r && sendmsg(call->fd, &message, MSG_NOSIGNAL) < 0 && errno != EPIPE)
		r = err_sys(err, -errno, "asking the recording service");
	buf_done(&buf);
	if (r)
		service_hang_up(call);
	return r;
}

static int read_answer(char *text, struct service_answer *answer, struct buf *rest)
{
	char *space = strchr(text, ' '), *end;

	if (!space)
		return -EPROTO;
	*space++ = 0;
	if (!strcmp(text, "started")) {
		answer->word = SERVICE_STARTED;
	} else if (!strcmp(text, "progress")) {
		answer->word = SERVICE_PROGRESS;
		if (sscanf(space, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &answer->events, &answer->bytes, &answer->lost, &answer->ns) != 4)
			return -EPROTO;
	} else if (!strcmp(text, "note")) {
		answer->word = SERVICE_NOTE;
		snprintf(answer->text, sizeof(answer->text), "%s", space);
	} else if (!strcmp(text, "end")) {
		answer->word = SERVICE_END;
		answer->code = (int)strtol(space, &end, 10);
		if (end == space || *end != ' ' || answer->code > 0)
			return -EPROTO;
		snprintf(answer->text, sizeof(answer->text), "%s", end + 1);
		if (rest && !answer->code)
			buf_text(rest, end + 1);
	} else {
		return -EPROTO;
	}
	return 0;
}

int service_receive(struct service_call *call, struct service_answer *ret_answer, struct buf *rest, struct err *err)
{
	char *text = mem_alloc(SERVICE_ANSWER_BYTES + 1);
	ssize_t n;
	int r = 0;

	*ret_answer = (struct service_answer){ 0 };
	do
		n = recv(call->fd, text, SERVICE_ANSWER_BYTES, 0);
	while (n < 0 && errno == EINTR);
	if (n <= 0) {
		r = err_set(err, n < 0 ? -errno : -ECONNRESET, "the recording service ended without an answer");
	} else {
		text[n] = 0;
		r = read_answer(text, ret_answer, rest);
		if (r)
			err_set(err, r, "the recording service answers in a way that this version does not know");
	}
	free(text);
	return r;
}

void service_stop(struct service_call *call)
{
	send(call->fd, "stop\n", 5, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void service_hang_up(struct service_call *call)
{
	if (call->fd >= 0)
		close(call->fd);
	call->fd = -1;
}

/* Up to its end, whose failure is ours. */
static int wait_for_end(struct service_call *call, struct buf *text, struct err *err)
{
	struct service_answer answer;
	int r;

	do
		r = service_receive(call, &answer, text, err);
	while (!r && answer.word != SERVICE_END);
	service_hang_up(call);
	return r ? r : answer.code ? err_set(err, answer.code, "%s", answer.text) : 0;
}

/* The recorder is not ours to ask: somebody may be there who is. */
static bool is_other(int code)
{
	return geteuid() && (code == -EACCES || code == -EPERM);
}

int service_ask_recorder(const char *line, const struct service_request *request, struct buf *reply, struct err *err)
{
	struct service_call call;
	struct err refused = { 0 };
	int r = control_ask(line, reply, err), s;

	if (!is_other(r))
		return r;
	s = service_connect(&call, &refused);
	if (s == -ENOENT || s == -ECONNREFUSED)
		return r;
	if (!s)
		s = service_send(&call, request, -1, &refused);
	if (!s)
		s = wait_for_end(&call, reply, &refused);
	if (err)
		*err = refused;
	return s;
}

int service_snap(const char *path, uint64_t last_ns, struct err *err)
{
	struct service_request request = { .verb = SERVICE_SNAP, .last_ns = last_ns };
	struct service_call call;
	struct output out;
	int r = service_connect(&call, err);

	if (r)
		return r;
	r = output_create(&out, path, true, OUTPUT_WHOLE, err);
	if (r) {
		service_hang_up(&call);
		return r;
	}
	r = service_send(&call, &request, out.fd, err);
	if (!r)
		r = wait_for_end(&call, NULL, err);
	if (!r)
		r = output_publish(&out, err);
	output_close(&out);
	return r;
}
