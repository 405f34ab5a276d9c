/* argus serve: a page over a whole trace, for one person on this machine. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/programs.h"
#include "session/command.h"
#include "ui/page.h"
#include "ui/served.h"

#define LOOPBACK "127.0.0.1"
#define PORT_MOST 65535
#define LINGER_NS UINT64_C(60000000000)
#define LOOK_NS 200000000l

static const struct option_spec serve_options[] = {
	{ "port", 0, OPTION_NUMBER, "PORT", "listen on this port (any free one)", .most = PORT_MOST },
	{ "listen", 0, OPTION_TEXT, "ADDRESS", "listen at this address (" LOOPBACK "); others can then read what goes over the network" },
	{ "no-browser", 0, OPTION_FLAG, NULL, "start no browser, print what to open" },
	{ "linger", 0, OPTION_DURATION, "TIME", "stop this long after the last page was closed (60s)", .least = 1 },
	{ 0 }
};

/* A page that brings the token; only the user can read it. */
struct doorway {
	char folder[256], path[300];
};

static int make_doorway(struct doorway *d, const struct http *http, const char *address, struct err *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	struct stat at;
	FILE *file;
	int fd, r;

	/* A folder of one's own, whose name nobody can take first. */
	snprintf(d->folder, sizeof(d->folder), "%s/argus-XXXXXX",
		 runtime && *runtime == '/' && strlen(runtime) < 200 && !stat(runtime, &at) && at.st_uid == geteuid() ? runtime : "/tmp");
	if (!mkdtemp(d->folder))
		return err_set(err, -errno, "cannot make a folder in '%s': %s", d->folder, strerror(errno));
	snprintf(d->path, sizeof(d->path), "%s/open.html", d->folder);
	fd = open(d->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	file = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!file) {
		r = err_set(err, -errno, "writing '%s': %s", d->path, strerror(errno));
		if (fd >= 0)
			close(fd);
		rmdir(d->folder);
		return r;
	}
	fprintf(file, "<!DOCTYPE html><meta charset=\"utf-8\"><title>Argus</title>\n"
		"<form id=\"f\" method=\"post\" action=\"http://%s:%u/enter\"><input type=\"hidden\" name=\"token\" value=\"%s\">"
		"<button>Open Argus</button></form>\n<script>document.getElementById('f').submit()</script>\n",
		address, http_port(http), http_token(http));
	return fclose(file) ? err_set(err, -errno, "writing '%s': %s", d->path, strerror(errno)) : 0;
}

static void remove_doorway(struct doorway *d)
{
	if (d->path[0])
		unlink(d->path);
	if (d->folder[0])
		rmdir(d->folder);
	d->path[0] = d->folder[0] = 0;
}

struct serving {
	struct served served;
	struct doorway doorway;
};

static void answer(void *data, const struct http_request *request, struct http_reply *reply)
{
	served_answer(&((struct serving *)data)->served, request, reply);
}

/* The token is used up: its file may go. */
static void entered(void *data)
{
	remove_doorway(&((struct serving *)data)->doorway);
}

/* In a process of its own, which this one does not wait for. */
static void start_browser(const char *path)
{
	pid_t pid = fork();

	if (!pid) {
		int null = open("/dev/null", O_RDWR);

		for (int fd = 0; fd < 3 && null >= 0; fd++)
			dup2(null, fd);
		if (!fork()) {
			setsid();
			execlp("xdg-open", "xdg-open", path, (char *)NULL);
		}
		_exit(0);
	}
	if (pid > 0)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
}

static void tell(const struct command_context *context, const struct http *http, const char *address, const char *path)
{
	bool wanted = !options_has(context->options, "no-browser"), screen = getenv("DISPLAY") || getenv("WAYLAND_DISPLAY");

	sink_printf(context->notes, "http://%s:%u/ : open %s in a browser; it works once. Ctrl-C ends.\n", address, http_port(http), path);
	if (strcmp(address, LOOPBACK))
		sink_printf(context->notes, "Not only this machine can reach it, and nothing is encrypted: whoever sees the traffic can read along "
			    "and take the page over. `ssh -L` is safer.\n");
	if (wanted && screen && program_in_path(context->arena, "xdg-open"))
		start_browser(path);
	else if (wanted && screen)
		sink_printf(context->notes, "No browser can be started from here (there is no xdg-open): open the file yourself.\n");
	else if (wanted)
		sink_printf(context->notes, "There is no screen here. On your own machine:\n  ssh -L %u:%s:%u THIS-MACHINE\n"
			    "then fetch the file (scp) and open it there.\n", http_port(http), address, http_port(http));
}

/* Until Ctrl-C, `quit`, or the last page has gone. */
static void wait_for_end(const struct http *http, const struct debug *debug, const sigset_t *signals, uint64_t linger_ns)
{
	const struct timespec often = { .tv_nsec = LOOK_NS };

	while (sigtimedwait(signals, NULL, &often) < 0) {
		uint64_t last_ns = http_last_ns(http);

		if (__atomic_load_n(&debug->quit, __ATOMIC_RELAXED) || (last_ns && clock_now_ns() > last_ns + linger_ns))
			return;
	}
}

static int serve(struct command_context *context, struct debug *debug, struct err *err)
{
	const char *address = options_text(context->options, "listen", LOOPBACK);
	struct serving serving = { .served = { .debug = debug, .build = context->build } };
	struct http_options options = { .address = address, .port = (uint16_t)options_number(context->options, "port", 0),
					.answer = answer, .entered = entered, .data = &serving };
	struct http *http;
	sigset_t signals;
	int r;

	/* Before the server's thread is there, so that it does not take them. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	r = http_start(&options, &http, err);
	if (r)
		return r;
	r = make_doorway(&serving.doorway, http, address, err);
	if (!r) {
		tell(context, http, address, serving.doorway.path);
		wait_for_end(http, debug, &signals, options_number(context->options, "linger", LINGER_NS));
	}
	http_stop(http);
	served_done(&serving.served);
	remove_doorway(&serving.doorway);
	if (!r && knowledge_unsaved(&debug->knowledge))
		sink_printf(context->notes, "%zu corrections were not saved\n", knowledge_unsaved(&debug->knowledge));
	return r;
}

static int run_serve(struct command_context *context, struct err *err)
{
	struct debug debug;
	int r = page_check(err);

	if (!r)
		r = http_check(err);
	if (!r)
		r = debug_open(&debug, command_trace_path(context), err);
	if (r)
		return r;
	command_note_damage(context, debug.session.trace);
	r = serve(context, &debug, err);
	debug_close(&debug);
	return r;
}

const struct command command_serve = {
	.name = "serve",
	.arguments = "[FILE]",
	.summary = "look at a trace in a browser: hangs, answers, all threads, corrections",
	.help = "It serves one person on this machine: the page opens through a file that only\n"
		"you can read. What is asked and corrected there is the session of `argus debug`.\n",
	.options = serve_options,
	.narrow = NARROW_TRACE,
	.run = run_serve,
};
