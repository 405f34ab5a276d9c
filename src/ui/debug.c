/* argus debug: the interactive session at a terminal, or fed with lines.
 *
 * At a terminal lines are edited, completed and kept in a history, and long
 * answers go through a pager; without one, lines come from -c, files or the
 * standard input, and an error ends the run with its status. */
#include "session/debug.h"

#include <editline/readline.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "session/command.h"

#define SCREEN_LINES 40

static const struct option_spec debug_options[] = {
	{ "command", 'c', OPTION_TEXT, "LINE", "run this line, questions separated by `;` (may be given several times), then leave" },
	{ "script", 's', OPTION_TEXT, "FILE", "run the lines of the file, then leave" },
	{ "mark", 0, OPTION_TEXT, "TEXT", "begin with the hang at this mark, or the last one before it" },
	{ "web", 0, OPTION_FLAG, NULL, "in a browser, as `argus serve`" },
	{ 0 }
};

static const struct option_rule debug_rules[] = { { .one_of = "command script web" }, { .one_of = "mark web" }, { 0 } };

/* The line editor asks without saying for which session. */
static struct debug *completed;
static int word_start;

static char *next_candidate(const char *text, int state)
{
	static const char *const *at;
	bool files;

	if (!state)
		at = debug_complete(completed, rl_line_buffer, (size_t)word_start, text, &files);
	return *at ? strdup(*at++) : NULL;
}

/* What the session knows; files where a verb takes those. */
static char **complete(const char *text, int start, int end)
{
	bool files;

	(void)end;
	word_start = start;
	debug_complete(completed, rl_line_buffer, (size_t)start, text, &files);
	rl_attempted_completion_over = !files;
	return files ? NULL : rl_completion_matches(text, next_candidate);
}

static size_t count_lines(const struct buf *buf)
{
	size_t lines = 0;

	for (size_t i = 0; i < buf->length; i++)
		lines += buf->data[i] == '\n';
	return lines;
}

static int show(struct command_context *context, const struct buf *out, bool page)
{
	const char *pager = getenv("PAGER");
	FILE *to;

	if (!page || count_lines(out) < SCREEN_LINES || (pager && !strcmp(pager, "cat")))
		return sink_buf(context->out, out);
	to = popen(pager && *pager ? pager : "less -FRX", "w");
	if (!to)
		return sink_buf(context->out, out);
	fwrite(out->data, 1, out->length, to);
	pclose(to);
	return 0;
}

/* One line and its answer; what went wrong is told and returned. */
static int run_line(struct command_context *context, struct debug *debug, const char *line, bool page)
{
	struct err err = { 0 };
	struct buf out;
	int r, written;

	buf_init(&out);
	debug->width = context->out->width;
	r = debug_line(debug, line, &out, &err);
	/* What was answered before something went wrong stands before it. */
	written = out.length ? show(context, &out, page) : 0;
	if (r < 0) {
		struct buf words;

		buf_init(&words);
		buf_escaped(&words, err.text, strlen(err.text), NULL);
		sink_printf(context->notes, "%s\n", buf_str(&words));
		buf_done(&words);
	}
	buf_done(&out);
	return written ? written : r;
}

static int run_stream(struct command_context *context, struct debug *debug, FILE *from)
{
	char *line = NULL;
	size_t capacity = 0;
	int r = 0;

	while (!r && !debug->quit && getline(&line, &capacity, from) >= 0)
		r = run_line(context, debug, line, false);
	free(line);
	return r;
}

static int run_script(struct command_context *context, struct debug *debug, const char *path, struct err *err)
{
	FILE *file = fopen(path, "re");
	int r;

	if (!file)
		return err_sys(err, -errno, "cannot read '%s'", path);
	r = run_stream(context, debug, file);
	fclose(file);
	return r;
}

static void history_path(char *path, size_t size)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	path[0] = 0;
	if (state && *state)
		snprintf(path, size, "%s/argus_history", state);
	else if (home && *home)
		snprintf(path, size, "%s/.argus_history", home);
}

static void run_terminal(struct command_context *context, struct debug *debug)
{
	char path[512], *line;
	mode_t mask;

	history_path(path, sizeof(path));
	rl_readline_name = (char *)"argus";
	rl_attempted_completion_function = complete;
	completed = debug;
	using_history();
	if (path[0])
		read_history(path);
	sink_printf(context->notes, "%s: `help` lists the verbs\n", trace_path(debug->session.trace));
	while (!debug->quit && (line = readline("(argus) "))) {
		if (line[0])
			add_history(line);
		run_line(context, debug, line, true);
		free(line);
	}
	mask = umask(077);
	if (path[0])
		write_history(path);
	umask(mask);
}

/* Without a file, the running flight recorder's last minutes. */
static int take_snapshot(struct command_context *context, struct err *err)
{
	static const char *const no_arguments[] = { NULL };
	static const struct options none = { .arguments = no_arguments };
	struct command_context snap = *context;

	snap.options = &none;
	return command_find("snap")->run(&snap, err);
}

static int run_mark(struct command_context *context, struct debug *debug, const char *mark)
{
	char line[512];

	snprintf(line, sizeof(line), "why mark %s", mark);
	return run_line(context, debug, line, false);
}

static int run_debug(struct command_context *context, struct err *err)
{
	const char *path = command_trace_path(context), *mark;
	struct debug debug;
	int r = 0;

	if (!context->options->argument_count) {
		r = take_snapshot(context, err);
		if (r && access(path, F_OK))
			return err_prefix(err, "there is no %s, and no flight recorder to take a snapshot of", path);
		if (r)
			*err = (struct err){ 0 };
	}
	if (options_has(context->options, "web"))
		return command_find("serve")->run(context, err);
	r = debug_open(&debug, path, err);
	if (r)
		return r;
	debug.live = true;
	r = debug_begin(&debug, err);
	if (r) {
		debug_close(&debug);
		return r;
	}
	command_note_damage(context, debug.session.trace);
	mark = options_text(context->options, "mark", NULL);
	if (mark)
		r = run_mark(context, &debug, mark);
	if (options_has(context->options, "command") || options_has(context->options, "script")) {
		const char *text;

		for (size_t i = 0; !r && (text = options_nth(context->options, "script", i)); i++)
			r = run_script(context, &debug, text, err);
		for (size_t i = 0; !r && !debug.quit && (text = options_nth(context->options, "command", i)); i++)
			r = run_line(context, &debug, text, false);
	} else if (!r && isatty(0) && context->out->terminal) {
		run_terminal(context, &debug);
	} else if (!r) {
		r = run_stream(context, &debug, stdin);
	}
	debug_close(&debug);
	/* What went wrong in a line has been told. */
	return r == -EPIPE ? r : r < 0 && !err->text[0] ? 1 : r;
}

const struct command command_debug = {
	.name = "debug",
	.arguments = "[FILE]",
	.summary = "explore a trace interactively: ask, correct, ask again",
	.help = "Without FILE a snapshot of the running flight recorder is taken, into argus.trace\n"
		"(the one before is kept as argus.trace.old); where none runs, argus.trace is read.\n"
		"`help` in the session lists the verbs.\n",
	.options = debug_options,
	.rules = debug_rules,
	.narrow = NARROW_TRACE,
	.run = run_debug,
};
