/* See cli.h. */
#include "ui/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/memory_watch.h"
#include "base/programs.h"
#include "base/suggest.h"
#include "session/complete.h"
#include "session/help.h"
#include "ui/page.h"
#include "ui/progress_line.h"

#define COMPLETION_S 3

struct descriptor_sink {
	struct sink sink;
	int fd;
	bool paged;         /* a pager reads it, and has the terminal */
	bool gone;          /* who read it has left */
};

static int write_all(struct sink *sink, const void *data, size_t size)
{
	struct descriptor_sink *to = (struct descriptor_sink *)sink;
	const char *at = data;
	int fd = to->fd;

	if (sink->terminal)
		progress_line_clear(to->paged);
	while (size) {
		ssize_t n = write(fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			to->gone |= errno == EPIPE;
			return -errno;
		}
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

static struct descriptor_sink sink_of(int fd)
{
	struct descriptor_sink sink = { .sink = { .write = write_all }, .fd = fd };
	const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
	struct winsize size;

	if (isatty(fd)) {
		sink.sink.terminal = true;
		sink.sink.colour = !(no_colour && *no_colour) && term && strcmp(term, "dumb");
		if (!ioctl(fd, TIOCGWINSZ, &size))
			sink.sink.width = size.ws_col;
	}
	return sink;
}

/* ---- the pager ---- */

static volatile sig_atomic_t pager_fd = -1;
static volatile pid_t pager_pid;

/* The terminal is the pager's until it ends: who interrupts us waits for it, like its reader. */
static void leave_with_pager(int signal)
{
	int saved = pager_fd;

	pager_fd = -1;
	if (saved >= 0)
		close(saved);
	while (waitpid(pager_pid, NULL, 0) < 0 && errno == EINTR)
		;
	_exit(128 + signal);
}

/* Starts $PAGER (or less); what is written to the descriptor goes through it. */
static pid_t start_pager(struct arena *arena, int *ret_fd)
{
	const char *pager = getenv("PAGER");
	int ends[2];
	pid_t pid;

	if (!pager || !*pager)
		pager = program_in_path(arena, "less") ? "less" : "cat";
	if (!strcmp(pager, "cat") || pipe2(ends, O_CLOEXEC))
		return -1;
	pid = fork();
	if (pid == 0) {
		dup2(ends[0], 0);
		setenv("LESS", "FRX", 0);
		execlp("sh", "sh", "-c", pager, (char *)NULL);
		_exit(127);
	}
	close(ends[0]);
	if (pid < 0) {
		close(ends[1]);
		return -1;
	}
	*ret_fd = ends[1];
	pager_fd = ends[1];
	pager_pid = pid;
	signal(SIGINT, leave_with_pager);
	signal(SIGTERM, leave_with_pager);
	return pid;
}

/* 0, or a status when it could not be run: what was written to it is lost. */
static int end_pager(int fd)
{
	int status;

	pager_fd = -1;
	close(fd);
	while (waitpid(pager_pid, &status, 0) < 0)
		if (errno != EINTR)
			return 0;
	if (!WIFEXITED(status) || (WEXITSTATUS(status) != 127 && WEXITSTATUS(status) != 126))
		return 0;
	fprintf(stderr, "argus: the pager '%s' ($PAGER) cannot be run; PAGER=cat goes without one\n", getenv("PAGER"));
	return 1;
}

static bool wants_help(const struct command *command, int count, char *const *words)
{
	for (int i = 0; i < count; i++) {
		if (!strcmp(words[i], "--"))
			return false;
		if (!strcmp(words[i], "--help") || !strcmp(words[i], "-h"))
			return true;
		if (command->rest_is_command && words[i][0] != '-')
			return false;
	}
	return false;
}

static void complain(const char *command, const struct err *err)
{
	struct buf buf;

	buf_init(&buf);
	buf_escaped(&buf, err->text, strlen(err->text), NULL);
	fprintf(stderr, "argus%s%s: %s\n", *command ? " " : "", command, buf_str(&buf));
	buf_done(&buf);
}

static int check_arguments(const struct command *command, const struct options *options, struct err *err)
{
	size_t most = *command->arguments ? 1 : 0;
	int r = options_check(options, command->rules, err);

	if (r)
		return r;
	if (command->many_arguments || command->rest_is_command || options->argument_count <= most)
		return 0;
	return err_set(err, -EINVAL, "'%s' is one argument too many", options->arguments[most]);
}

/* The kernel would kill without a word. */
static void end_short_of_memory(void *data, const struct memory_bound *bound)
{
	const struct command *command = data;
	struct buf buf;
	ssize_t n;

	buf_init(&buf);
	buf_printf(&buf, "argus %s: memory runs out: %" PRIu64 " MiB are taken here, of the %" PRIu64 " MiB that ", command->name,
		   bound->own_bytes >> 20, bound->limit_bytes >> 20);
	if (*bound->group) {
		buf_text(&buf, "the control group '");
		buf_escaped(&buf, bound->group, strlen(bound->group), NULL);
		buf_text(&buf, "' may have. ");
	} else {
		buf_text(&buf, "this machine has. ");
	}
	buf_printf(&buf, "%s\n", command->narrow);
	n = write(2, buf.data, buf.length);
	_exit(n < 0 ? 125 : 1);
}

/* The only word is an option that the command does not have. */
static bool names_option(const struct command *command, int count, char *const *words)
{
	const struct option_spec *spec = command->options;

	if (count != 1 || strncmp(words[0], "--", 2) || !words[0][2])
		return false;
	while (spec->name && strcmp(spec->name, words[0] + 2))
		spec++;
	return !spec->name;
}

static char *const *end_options(struct arena *arena, int *count, char *const *words)
{
	char **ended = arena_array(arena, char *, 2);

	ended[0] = arena_strdup(arena, "--");
	ended[1] = words[0];
	*count = 2;
	return ended;
}

static int run(const struct command *command, const char *build, int count, char *const *words)
{
	struct descriptor_sink out = sink_of(1), notes = sink_of(2);
	struct options options;
	struct arena arena;
	struct err err = { 0 };
	pid_t pager = -1;
	int r, paging;

	arena_init(&arena);
	if (command->names_options && names_option(command, count, words))
		words = end_options(&arena, &count, words);
	r = options_parse(&arena, command->options, command->rest_is_command, count, words, &options, &err);
	if (!r)
		r = check_arguments(command, &options, &err);
	if (r) {
		complain(command->name, &err);
		fprintf(stderr, "`argus %s -h` tells its options.\n", command->name);
		arena_done(&arena);
		return 2;
	}
	if (command->pages && out.sink.terminal && isatty(0) && !options_has(&options, "json"))
		pager = start_pager(&arena, &out.fd);
	out.paged = pager > 0;
	progress_line_open();
	if (command->narrow)
		memory_watch(end_short_of_memory, (void *)(uintptr_t)command);
	r = command->run(&(struct command_context){ &arena, &options, &out.sink, &notes.sink, build, page_make }, &err);
	paging = pager > 0 ? end_pager(out.fd) : 0;
	if ((r == -EPIPE && (out.gone || notes.gone)) || (!r && paging)) {
		r = paging;
	} else if (r < 0) {
		if (!err.text[0])
			err_sys(&err, r, "writing the result");
		complain(command->name, &err);
		if (r == -ENOENT && !strncmp(command->arguments, "[FILE", 5) && !options.argument_count && access(COMMAND_TRACE, F_OK) &&
		    strstr(err.text, "'" COMMAND_TRACE "'")) /* and not what was asked about, in a ring */
			fprintf(stderr, "`argus record -- COMMAND` makes " COMMAND_TRACE ", and so does `argus snap` where `argus start` was "
				"given; another trace is named: argus %s FILE\n", command->name);
		r = r == -EINVAL ? 2 : 1;
	}
	arena_done(&arena);
	return r;
}

/* Frees it too; the exit status. */
static int show_text(struct buf *buf, bool wrong)
{
	struct descriptor_sink sink = sink_of(wrong ? 2 : 1);
	int r = sink_buf(&sink.sink, buf);

	buf_done(buf);
	if (r && r != -EPIPE) {
		struct err err;

		err_sys(&err, r, "writing the text");
		complain("", &err);
		return 1;
	}
	return wrong ? 2 : 0;
}

/* What a bug report needs to begin with. */
static void describe_version(struct buf *buf, const char *build)
{
	buf_printf(buf, "argus %s (build %s, " ARGUS_MACHINE ", ", ARGUS_VERSION, build);
#ifdef HAVE_BPF
	buf_text(buf, "records with BPF)\n");
#else
	buf_text(buf, "built without recording)\n");
#endif
	buf_text(buf, "Licence: MIT; the BPF programs MIT or GPL-2.0\n");
}

static int unknown_command(const char *word)
{
	struct suggestion near = suggest_begin(word, strlen(word));
	struct err err;

	for (size_t i = 0; commands[i]; i++)
		suggest_offer(&near, commands[i]->name);
	if (near.nearest)
		err_set(&err, -EINVAL, "no command '%s'; did you mean %s? `argus -h` lists all", word, near.nearest);
	else
		err_set(&err, -EINVAL, "no command '%s'; `argus -h` lists them", word);
	complain("", &err);
	return 2;
}

/* For the shells, see complete.h. Who waits for a TAB does not wait long. */
static int complete(int count, char *const *words)
{
	struct arena arena;
	struct buf buf;

	alarm(COMPLETION_S);
	arena_init(&arena);
	buf_init(&buf);
	complete_words(&arena, count, words, &buf);
	arena_done(&arena);
	return show_text(&buf, false);
}

int cli_main(int count, char *const *words, const char *build)
{
	const char *first = count > 1 ? words[1] : "";
	const struct command *command = command_find(first);
	struct buf buf;

	signal(SIGPIPE, SIG_IGN);
	if (!strcmp(first, "--complete"))
		return complete(count - 2, words + 2);
	buf_init(&buf);
	if (!strcmp(first, "--version") || !strcmp(first, "-V")) {
		describe_version(&buf, build);
		return show_text(&buf, false);
	}
	if (!*first || !strcmp(first, "-h") || !strcmp(first, "--help")) {
		help_commands(&buf);
		return show_text(&buf, !*first);
	}
	if (!command)
		return unknown_command(first);
	if (wants_help(command, count - 2, words + 2)) {
		help_command(&buf, command, sink_of(1).sink.width);
		return show_text(&buf, false);
	}
	return run(command, build, count - 2, words + 2);
}
