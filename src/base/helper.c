/* See helper.h. */
#include "base/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/vec.h"

#define PATIENCE_MS 1500
#define LOOKS 3                    /* at a helper that does not answer; none may show any progress */
#define MEANWHILE_MS 5
#define PIDS_MOST 16u
#define END_MS 250                 /* for one to end that has been killed */
#define MESSAGE_MOST (1u << 30)
#define NICE (-10)                 /* of those that somebody waits for */

struct message_head {
	uint32_t kind, bytes;
};

struct helpers {
	pid_t pid;
	int fd;                    /* to ask it for helpers */
	pthread_mutex_t lock;
	pid_t working[PIDS_MOST];  /* helpers, 0 where there is none */
};

struct helper {
	struct helpers *helpers;
	pid_t pid;                 /* 0: none works */
	int fd, pidfd;
	struct vec(int) left;      /* pidfds of those left behind */
	void (*meanwhile)(void *data); /* NULL: the one who waits only waits */
	void *meanwhile_data;
	_Atomic uint32_t patience_ms;
};

struct helper_port {
	int fd;
};

/* ---- messages ---- */

/* How far a message has come: both sides can go on where they stopped. */
struct transfer {
	char *data;
	size_t bytes, done;
	int fd;                    /* goes or came with the first byte, -1 none */
};

/* 1 more was moved, 0 the other end is closed, -EAGAIN later. */
static int receive_some(int from, struct transfer *t)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec part = { t->data + t->done, t->bytes - t->done };
	struct msghdr head = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(from, &head, MSG_CMSG_CLOEXEC);

	if (n <= 0)
		return n == 0 ? 0 : errno == EINTR || errno == EAGAIN ? -EAGAIN : -errno;
	t->done += (size_t)n;
	struct cmsghdr *c = CMSG_FIRSTHDR(&head);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len >= CMSG_LEN(sizeof(int))) {
		if (t->fd >= 0)
			close(t->fd);
		memcpy(&t->fd, CMSG_DATA(c), sizeof(int));
	}
	return 1;
}

static int send_some(int to, struct transfer *t)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { t->data + t->done, t->bytes - t->done };
	struct msghdr head = { .msg_iov = &part, .msg_iovlen = 1 };

	if (t->fd >= 0 && t->done == 0) {
		head.msg_control = control;
		head.msg_controllen = sizeof(control);
		struct cmsghdr *c = CMSG_FIRSTHDR(&head);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &t->fd, sizeof(int));
	}
	ssize_t n = sendmsg(to, &head, MSG_NOSIGNAL);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? -EAGAIN : -errno;
	t->done += (size_t)n;
	return 1;
}

/* What waits for the other side before each step; false: no more steps. */
typedef bool wait_for_turn(void *data, short events);

static int transfer_all(int fd, struct transfer *t, bool out, wait_for_turn *wait, void *data)
{
	while (t->done < t->bytes) {
		if (wait && !wait(data, out ? POLLOUT : POLLIN))
			return -ETIMEDOUT;
		int r = out ? send_some(fd, t) : receive_some(fd, t);
		if (r == 0 || (r < 0 && r != -EAGAIN))
			return -EPIPE;
	}
	return 0;
}

static int message_send(int to, uint32_t kind, const void *data, size_t bytes, int fd, wait_for_turn *wait, void *waiting)
{
	struct message_head head = { kind, (uint32_t)bytes };
	struct transfer first = { (char *)&head, sizeof(head), 0, fd }, rest = { (char *)data, bytes, 0, -1 };

	if (bytes > MESSAGE_MOST)
		return -E2BIG;
	int r = transfer_all(to, &first, true, wait, waiting);
	return r ? r : transfer_all(to, &rest, true, wait, waiting);
}

static int message_receive(int from, struct helper_message *ret, wait_for_turn *wait, void *waiting)
{
	struct message_head head = { 0, 0 };
	struct transfer first = { (char *)&head, sizeof(head), 0, -1 };
	int r = transfer_all(from, &first, false, wait, waiting);

	if (!r && head.bytes > MESSAGE_MOST)
		r = -EPIPE;
	struct transfer rest = { r ? NULL : mem_alloc((size_t)head.bytes + 1), head.bytes, 0, first.fd };
	if (!r)
		r = transfer_all(from, &rest, false, wait, waiting);
	if (r) {
		if (rest.fd >= 0)
			close(rest.fd);
		free(rest.data);
		return r;
	}
	rest.data[head.bytes] = 0;
	*ret = (struct helper_message){ .kind = head.kind, .bytes = head.bytes, .fd = rest.fd, .data = rest.data };
	return 0;
}

void helper_message_done(struct helper_message *message)
{
	if (message->fd >= 0)
		close(message->fd);
	free(message->data);
	*message = (struct helper_message){ .fd = -1 };
}

struct helper_reader helper_read(const struct helper_message *message)
{
	const char *data = message->data;
	return (struct helper_reader){ .at = data, .end = data + message->bytes };
}

void helper_read_bytes(struct helper_reader *reader, void *to, size_t bytes)
{
	if ((size_t)(reader->end - reader->at) < bytes) {
		memset(to, 0, bytes);
		reader->failed = true;
		reader->at = reader->end;
		return;
	}
	memcpy(to, reader->at, bytes);
	reader->at += bytes;
}

const char *helper_read_text(struct helper_reader *reader)
{
	const char *text = reader->at, *stop = memchr(text, 0, (size_t)(reader->end - text));
	if (!stop) {
		reader->failed = true;
		reader->at = reader->end;
		return "";
	}
	reader->at = stop + 1;
	return text;
}

void helper_put_text(struct buf *to, const char *text)
{
	buf_add(to, text, strlen(text) + 1);
}

/* ---- the helper ---- */

void helper_answer(struct helper_port *port, uint32_t kind, const void *data, size_t bytes, int fd)
{
	if (message_send(port->fd, kind, data, bytes, fd, NULL, NULL) < 0)
		_exit(1);
}

static _Noreturn void helper_main(helper_serve *serve)
{
	struct helper_port port = { HELPER_FD };
	struct helper_message request;

	while (message_receive(port.fd, &request, NULL, NULL) == 0) {
		serve(&port, &request);
		helper_answer(&port, HELPER_DONE, "", 0, -1);
		helper_message_done(&request);
	}
	_exit(0);
}

/* ---- the process that helpers come from ---- */

void helper_leave_owner(int socket)
{
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	prctl(PR_SET_NAME, "argus-helper");
	if (socket != HELPER_FD && dup2(socket, HELPER_FD) < 0)
		_exit(1);
	if (close_range(HELPER_FD + 1, ~0u, 0) < 0)
		for (int fd = HELPER_FD + 1; fd < 65536; fd++)
			close(fd);
	int null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < 3; fd++)
		if (null < 0 || dup2(null, fd) < 0)
			close(fd);
	if (null > HELPER_FD)
		close(null);
	if (chdir("/") < 0)
		_exit(1);
}

/* A helper is a child of the owner, who can so wait for it. */
static pid_t fork_helper(int *ret_pidfd)
{
	*ret_pidfd = -1;
	return (pid_t)syscall(SYS_clone, CLONE_PARENT | CLONE_PIDFD | SIGCHLD, NULL, ret_pidfd, NULL, 0);
}

static _Noreturn void nursery_main(helper_serve *serve)
{
	struct helper_message request;
	int pidfd;

	while (message_receive(HELPER_FD, &request, NULL, NULL) == 0) {
		pid_t pid = fork_helper(&pidfd);
		if (pid == 0) {
			if (dup2(request.fd, HELPER_FD) < 0)
				_exit(1);
			helper_message_done(&request);
			helper_main(serve);
		}
		helper_message_done(&request);
		if (message_send(HELPER_FD, HELPER_DONE, &pid, sizeof(pid), pidfd, NULL, NULL) < 0)
			_exit(1);
		if (pidfd >= 0)
			close(pidfd);
	}
	_exit(0);
}

int helpers_open(helper_serve *serve, bool hurry, struct helpers **ret_helpers, struct err *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return err_sys(err, -errno, "starting a helper process");
	pid_t pid = fork();
	if (pid == 0) {
		helper_leave_owner(ends[1]);
		if (hurry)
			setpriority(PRIO_PROCESS, 0, NICE);
		nursery_main(serve);
	}
	int status = pid < 0 ? -errno : 0;
	close(ends[1]);
	if (status) {
		close(ends[0]);
		return err_sys(err, status, "starting a helper process");
	}
	struct helpers *helpers = mem_zalloc(sizeof(*helpers));
	helpers->pid = pid;
	helpers->fd = ends[0];
	pthread_mutex_init(&helpers->lock, NULL);
	*ret_helpers = helpers;
	return 0;
}

size_t helpers_pids(struct helpers *helpers, pid_t *ret_pids, size_t most)
{
	size_t count = 0;

	pthread_mutex_lock(&helpers->lock);
	if (most)
		ret_pids[count++] = helpers->pid;
	for (size_t i = 0; i < PIDS_MOST && count < most; i++)
		if (helpers->working[i])
			ret_pids[count++] = helpers->working[i];
	pthread_mutex_unlock(&helpers->lock);
	return count;
}

/* Once it has ended its number may be another's. The lock is held. */
static void replace_pid(struct helpers *helpers, pid_t old, pid_t now)
{
	for (size_t i = 0; i < PIDS_MOST; i++)
		if (helpers->working[i] == old) {
			helpers->working[i] = now;
			return;
		}
}

void helpers_close(struct helpers *helpers)
{
	if (!helpers)
		return;
	close(helpers->fd);
	kill(helpers->pid, SIGKILL);
	while (waitpid(helpers->pid, NULL, 0) < 0 && errno == EINTR)
		;
	pthread_mutex_destroy(&helpers->lock);
	free(helpers);
}

static int ask_for_helper(struct helpers *helpers, int socket, pid_t *ret_pid, int *ret_pidfd)
{
	struct helper_message answer = { 0 };

	pthread_mutex_lock(&helpers->lock);
	int r = message_send(helpers->fd, HELPER_DONE, "", 0, socket, NULL, NULL);
	if (!r)
		r = message_receive(helpers->fd, &answer, NULL, NULL);
	*ret_pid = 0;
	if (!r && answer.bytes == sizeof(*ret_pid))
		memcpy(ret_pid, answer.data, sizeof(*ret_pid));
	if (!r && *ret_pid > 0)
		replace_pid(helpers, 0, *ret_pid);
	pthread_mutex_unlock(&helpers->lock);
	if (r)
		return r;
	if (answer.bytes != sizeof(*ret_pid) || *ret_pid <= 0 || answer.fd < 0) {
		helper_message_done(&answer);
		return -EAGAIN;
	}
	*ret_pidfd = answer.fd;
	answer.fd = -1;
	helper_message_done(&answer);
	return 0;
}

/* ---- a helper, seen by its owner ---- */

struct helper *helper_open(struct helpers *helpers)
{
	struct helper *helper = mem_zalloc(sizeof(*helper));
	helper->helpers = helpers;
	helper->fd = helper->pidfd = -1;
	helper->patience_ms = PATIENCE_MS;
	return helper;
}

static int start(struct helper *helper)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	int r = ask_for_helper(helper->helpers, ends[1], &helper->pid, &helper->pidfd);
	close(ends[1]);
	if (r) {
		close(ends[0]);
		return r;
	}
	helper->fd = ends[0];
	fcntl(helper->fd, F_SETFL, O_NONBLOCK);
	return 0;
}

static bool has_ended(int pidfd, int wait_ms)
{
	struct pollfd ready = { .fd = pidfd, .events = POLLIN };
	siginfo_t info;

	if (poll(&ready, 1, wait_ms) <= 0)
		return false;
	/* another may have waited for it already */
	waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG);
	return true;
}

/* Kills it. One that does not end at once is left behind. */
static void end(struct helper *helper, int wait_ms)
{
	if (!helper->pid)
		return;
	pthread_mutex_lock(&helper->helpers->lock);
	replace_pid(helper->helpers, helper->pid, 0);
	pthread_mutex_unlock(&helper->helpers->lock);
	close(helper->fd);
	syscall(SYS_pidfd_send_signal, helper->pidfd, SIGKILL, NULL, 0);
	if (has_ended(helper->pidfd, wait_ms))
		close(helper->pidfd);
	else
		vec_push(&helper->left, helper->pidfd);
	helper->pid = 0;
	helper->fd = helper->pidfd = -1;
}

uint32_t helper_left(struct helper *helper)
{
	size_t kept = 0;
	for (size_t i = 0; i < helper->left.length; i++) {
		if (has_ended(helper->left.items[i], 0))
			close(helper->left.items[i]);
		else
			helper->left.items[kept++] = helper->left.items[i];
	}
	helper->left.length = kept;
	return (uint32_t)kept;
}

void helper_close(struct helper *helper)
{
	if (!helper)
		return;
	end(helper, END_MS);
	helper_left(helper);
	for (size_t i = 0; i < helper->left.length; i++)
		close(helper->left.items[i]);
	vec_done(&helper->left);
	free(helper);
}

void helper_meanwhile(struct helper *helper, void (*meanwhile)(void *data), void *data)
{
	helper->meanwhile = meanwhile;
	helper->meanwhile_data = data;
}

void helper_patience(struct helper *helper, uint32_t ms)
{
	if (helper)
		atomic_store(&helper->patience_ms, ms);
}

/* Sleeping or stopped, not waiting for a processor. */
static bool is_asleep(pid_t pid)
{
	char path[64], text[512];
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	size_t got = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[got] = 0;
	const char *state = strrchr(text, ')');
	return state && state[1] == ' ' && state[2] != 'R';
}

static uint64_t cpu_ns(pid_t pid)
{
	struct timespec t = { 0 };
	clockid_t clock;
	if (clock_getcpuclockid(pid, &clock) == 0)
		clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Until it is the owner's turn, or so long. */
static bool wait_once(const struct helper *helper, short events, int ms)
{
	struct pollfd ready = { .fd = helper->fd, .events = events };
	return poll(&ready, 1, ms) > 0;
}

/* False when it is stuck. */
static bool wait_for_helper(void *data, short events)
{
	struct helper *helper = data;
	uint64_t before = UINT64_MAX;

	for (int still = 1; still < LOOKS;) {
		int look = (int)atomic_load(&helper->patience_ms) / LOOKS;
		if (!helper->meanwhile && wait_once(helper, events, look))
			return true;
		for (int ms = 0; helper->meanwhile && ms < look; ms += MEANWHILE_MS) {
			if (wait_once(helper, events, MEANWHILE_MS))
				return true;
			helper->meanwhile(helper->meanwhile_data);
		}
		uint64_t now = cpu_ns(helper->pid);
		still = now == before && is_asleep(helper->pid) ? still + 1 : 1;
		before = now;
	}
	return false;
}

int helper_ask(struct helper *helper, uint32_t kind, const void *data, size_t bytes, int fd)
{
	int r = helper->pid ? 0 : start(helper);
	if (!r)
		r = message_send(helper->fd, kind, data, bytes, fd, wait_for_helper, helper);
	if (r)
		end(helper, 0);
	return r;
}

int helper_next(struct helper *helper, struct helper_message *ret_answer)
{
	if (!helper->pid)
		return -EPIPE;
	int r = message_receive(helper->fd, ret_answer, wait_for_helper, helper);
	if (r) {
		end(helper, 0);
		return r;
	}
	if (ret_answer->kind != HELPER_DONE)
		return 1;
	helper_message_done(ret_answer);
	return 0;
}
