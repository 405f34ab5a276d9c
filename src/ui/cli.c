/* See cli.h. */
#include "ui/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "session/command.h"

struct descriptor_sink {
	struct sink sink;
	int fd;
};

static int write_all(struct sink *sink, const void *data, size_t size)
{
	int fd = ((struct descriptor_sink *)sink)->fd;
	const char *at = data;

	while (size) {
		ssize_t n = write(fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
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

/* Starts $PAGER (or less); what is written to the descriptor goes through it. */
static pid_t start_pager(int *ret_fd)
{
	const char *pager = getenv("PAGER");
	int ends[2];
	pid_t pid;

	if (!pager || !*pager)
		pager = "less";
	if (!strcmp(pager, "cat") || pipe(ends))
		return -1;
	pid = fork();
	if (pid == 0) {
		dup2(ends[0], 0);
		close(ends[0]);
		close(ends[1]);
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
	return pid;
}

static void describe_all(struct buf *buf)
{
	buf_text(buf, "argus: why was it stuck?\n\n"
		      "usage: argus COMMAND [OPTIONS] [ARGUMENTS]\n\n");
	for (size_t i = 0; commands[i]; i++)
		buf_printf(buf, "  %-12s %s\n", commands[i]->name, commands[i]->summary);
	buf_text(buf, "\n`argus COMMAND -h` tells more of one. The default file is argus.trace.\n");
}

static void describe(struct buf *buf, const struct command *command)
{
	buf_printf(buf, "argus %s: %s\n\nusage: argus %s [OPTIONS]%s%s\n\n", command->name, command->summary,
		   command->name, *command->arguments ? " " : "", command->arguments);
	options_describe(buf, command->options);
	buf_text(buf, "  -h, --help                  this help\n");
	if (command->help)
		buf_printf(buf, "\n%s", command->help);
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

static int run(const struct command *command, int count, char *const *words)
{
	struct descriptor_sink out = sink_of(1), notes = sink_of(2);
	struct options options;
	struct arena arena;
	struct err err = { 0 };
	pid_t pager = -1;
	int r;

	arena_init(&arena);
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
		pager = start_pager(&out.fd);
	r = command->run(&(struct command_context){ &arena, &options, &out.sink, &notes.sink }, &err);
	if (pager > 0) {
		close(out.fd);
		while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (r == -EPIPE) {
		r = 0;
	} else if (r < 0) {
		if (!err.text[0])
			err_sys(&err, r, "writing the result");
		complain(command->name, &err);
		if (r == -ENOENT && !strncmp(command->arguments, "[FILE", 5) && !options.argument_count && access(COMMAND_TRACE, F_OK))
			fprintf(stderr, "`argus record -- COMMAND` makes " COMMAND_TRACE ", and so does `argus snap` where `argus start` was "
				"given; another trace is named: argus %s FILE\n", command->name);
		r = r == -EINVAL ? 2 : 1;
	}
	arena_done(&arena);
	return r;
}

/* Frees it too; the exit status. */
static int show_help(struct buf *buf, bool wrong)
{
	struct descriptor_sink sink = sink_of(wrong ? 2 : 1);
	int r = sink_buf(&sink.sink, buf);

	buf_done(buf);
	if (r && r != -EPIPE) {
		struct err err;

		err_sys(&err, r, "writing the help");
		complain("", &err);
		return 1;
	}
	return wrong ? 2 : 0;
}

int cli_main(int count, char *const *words)
{
	const struct command *command;
	struct buf buf;

	signal(SIGPIPE, SIG_IGN);
	buf_init(&buf);
	if (count >= 2 && (!strcmp(words[1], "--version") || !strcmp(words[1], "-V"))) {
		printf("argus %s\n", ARGUS_VERSION);
		return 0;
	}
	if (count < 2 || !strcmp(words[1], "-h") || !strcmp(words[1], "--help") || !strcmp(words[1], "help")) {
		command = count > 2 ? command_find(words[2]) : NULL;
		if (command)
			describe(&buf, command);
		else
			describe_all(&buf);
		return show_help(&buf, count < 2);
	}
	command = command_find(words[1]);
	if (!command) {
		struct err err;

		err_set(&err, -EINVAL, "no command '%s'; `argus -h` lists them", words[1]);
		complain("", &err);
		return 2;
	}
	if (wants_help(command, count - 2, words + 2)) {
		describe(&buf, command);
		return show_help(&buf, false);
	}
	return run(command, count - 2, words + 2);
}
