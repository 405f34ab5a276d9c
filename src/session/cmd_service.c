/* argus service: records for members of a group. Accepts callers and gives each a process of
 * its own (service_work.h); bounds how many there are. */
#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/service_request.h"
#include "record/signals.h"
#include "session/command.h"
#include "session/service_work.h"

#define CALLERS_MOST 32u
#define CALLERS_OF_USER 8u
#define LISTEN_QUEUE 16
#define GIVEN_FD 3           /* of a socket that systemd hands over */

static const struct option_spec options[] = {
	{ "socket", 0, OPTION_TEXT, "PATH", "socket to listen on, unless systemd gives one (" SERVICE_SOCKET ")" },
	{ "config", 0, OPTION_TEXT, "FILE", "what members may see and ask for (" SERVICE_CONF_PATH ")" },
	{ "group", 0, OPTION_TEXT, "GROUP", "whose members may ask (argus)" },
	{ NULL },
};

struct service {
	const char *config, *group;
	int listen_fd, signals;
	sigset_t before;                     /* the mask that callers' processes have */
	struct service_slots *slots;
	struct {
		pid_t pid;                   /* 0: free */
		uid_t uid;
	} callers[CALLERS_MOST];
	bool stop;
};

/* systemd's protocol: LISTEN_FDS descriptors from 3 on, for the process LISTEN_PID. */
static bool is_given(void)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");

	return pid && count && (pid_t)strtol(pid, NULL, 10) == getpid() && !strcmp(count, "1");
}

static int listen_at(const char *path, const char *group, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct group *entry = getgrnam(group);
	int fd, r = 0;
	mode_t before;

	if (!entry)
		return err_set(err, -ENOENT, "there is no group '%s': groupadd --system %s", group, group);
	if (strlen(path) >= sizeof(address.sun_path))
		return err_set(err, -ENAMETOOLONG, "'%s' is too long for a socket", path);
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_sys(err, -errno, "opening a socket");
	/* one that somebody listens on stays */
	if (!connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		close(fd);
		return err_set(err, -EADDRINUSE, "another service listens on '%s'", path);
	}
	if (errno == ECONNREFUSED)
		unlink(path);
	before = umask(0177);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || lchown(path, (uid_t)-1, entry->gr_gid) || chmod(path, 0660) ||
	    listen(fd, LISTEN_QUEUE))
		r = err_sys(err, -errno, "listening on '%s'", path);
	umask(before);
	if (!r)
		return fd;
	close(fd);
	return r;
}

/* The place of a new caller, or CALLERS_MOST. */
static unsigned find_place(const struct service *service, uid_t uid)
{
	unsigned place = CALLERS_MOST, same = 0;

	for (unsigned i = CALLERS_MOST; i--;) {
		if (!service->callers[i].pid)
			place = i;
		else
			same += service->callers[i].uid == uid;
	}
	return uid && same >= CALLERS_OF_USER ? CALLERS_MOST : place;
}

static _Noreturn void serve_caller(struct service *service, struct service_caller *caller)
{
	static struct service_conf conf; /* of this process, which serves one */
	struct err err = { 0 };

	close(service->listen_fd);
	close(service->signals);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	sigprocmask(SIG_SETMASK, &service->before, NULL);
	if (service_conf_read(service->config, &conf, &err)) {
		service_end(caller->fd, err.code, err.text);
		_exit(1);
	}
	caller->conf = &conf;
	service_work(caller);
	_exit(0);
}

static void take_caller(struct service *service)
{
	static struct service_caller caller;
	unsigned place;
	pid_t pid;

	caller = (struct service_caller){ .fd = accept4(service->listen_fd, NULL, NULL, SOCK_CLOEXEC), .group = service->group,
					  .slots = service->slots };
	if (caller.fd < 0)
		return;
	place = service_caller_read(&caller, NULL) ? CALLERS_MOST : find_place(service, caller.who.uid);
	if (place == CALLERS_MOST) {
		service_end(caller.fd, -EBUSY, "the service has too many callers at the moment");
		return;
	}
	pid = fork();
	if (!pid)
		serve_caller(service, &caller);
	if (pid > 0) {
		service->callers[place].pid = pid;
		service->callers[place].uid = caller.who.uid;
	}
	close(caller.fd);
}

static void forget_caller(struct service *service, pid_t pid)
{
	for (unsigned i = 0; i < CALLERS_MOST; i++)
		if (service->callers[i].pid == pid)
			service->callers[i].pid = 0;
	for (unsigned i = 0; i < SERVICE_RECORDINGS_MOST; i++)
		if (atomic_load(&service->slots->makers[i]) == pid)
			atomic_store(&service->slots->makers[i], 0);
}

static void take_signals(struct service *service)
{
	struct signalfd_siginfo info;
	pid_t pid;

	if (read(service->signals, &info, sizeof(info)) != sizeof(info))
		return;
	service->stop |= info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT;
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		forget_caller(service, pid);
}

static void serve(struct service *service)
{
	while (!service->stop) {
		struct pollfd fds[2] = { { .fd = service->listen_fd, .events = POLLIN }, { .fd = service->signals, .events = POLLIN } };

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		if (fds[1].revents)
			take_signals(service);
		if (fds[0].revents)
			take_caller(service);
	}
	for (unsigned i = 0; i < CALLERS_MOST; i++)
		if (service->callers[i].pid)
			kill(service->callers[i].pid, SIGTERM);
}

static int run(struct command_context *context, struct err *err)
{
	const char *path = options_text(context->options, "socket", SERVICE_SOCKET);
	bool given = is_given();
	struct service service = {
		.config = options_text(context->options, "config", SERVICE_CONF_PATH),
		.group = options_text(context->options, "group", "argus"),
	};
	struct service_conf conf = { 0 };
	int r = service_conf_read(service.config, &conf, err);

	if (r)
		return r;
	if (geteuid())
		return err_set(err, -EPERM, "the service records for others, which needs root: sudo argus service");
	service.signals = signals_open(&service.before, err);
	if (service.signals < 0)
		return service.signals;
	service.slots = mmap(NULL, sizeof(*service.slots), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (service.slots == MAP_FAILED)
		return err_sys(err, -errno, "making room for the list of recordings");
	service.listen_fd = given ? GIVEN_FD : listen_at(path, service.group, err);
	if (service.listen_fd < 0)
		return service.listen_fd;
	sink_printf(context->notes, "members of the group %s may ask at %s\n", service.group, given ? "the socket that was given" : path);
	serve(&service);
	close(service.listen_fd);
	if (!given)
		unlink(path);
	return 0;
}

const struct command command_service = {
	.name = "service",
	.arguments = "",
	.summary = "record for members of the group argus, who are not root",
	.help = "`argus record`, `mark`, `snap` and `status` of a member ask it by themselves. What it\n"
		"writes goes into the file that the member's command has opened; members see what\n"
		"their own processes do, unless " SERVICE_CONF_PATH " lets them see all. Needs root.\n",
	.options = options,
	.run = run,
};
