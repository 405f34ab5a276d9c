/* See complete.h. */
#include "session/complete.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/probe_points.h"
#include "session/command.h"
#include "session/hang_list.h"
#include "session/help.h"
#include "session/session.h"
#include "symbols/debug_file.h"
#include "trace/event.h"

/* More than anybody reads; one letter more makes them fewer. */
#define OFFERED_MOST 5000

struct completion {
	struct arena *arena;
	struct buf *buf;
	const char *begun;               /* of the candidate */
	const char *before;              /* stands in the same word, before the candidate: "--level=", "1,2," */
	const char *trace;               /* named on the line, else the usual one */
	size_t offered;
};

static void offer(struct completion *c, const char *word, const char *about)
{
	if (!*word || strncmp(word, c->begun, strlen(c->begun)) || strpbrk(word, "\n\t") || c->offered++ >= OFFERED_MOST)
		return;
	buf_text(c->buf, c->before);
	buf_escaped(c->buf, word, strlen(word), NULL);
	buf_char(c->buf, '\t');
	buf_escaped(c->buf, about, strcspn(about, "\n"), NULL);
	buf_char(c->buf, '\n');
}

static void offer_list(struct completion *c, const char *choices)
{
	for (const char *at = choices; *at;) {
		size_t length = strcspn(at, " ");

		offer(c, arena_strndup(c->arena, at, length), "");
		at += length + (at[length] == ' ');
	}
}

/* ---- what values stand for ---- */

static void files(struct completion *c)
{
	buf_text(c->buf, ":files\n");
}

static void folders(struct completion *c)
{
	buf_text(c->buf, ":folders\n");
}

static const char *comm_of(struct completion *c, const char *folder)
{
	char text[64];
	int fd = open(arena_printf(c->arena, "%s/comm", folder), O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

	if (fd >= 0)
		close(fd);
	return n > 0 ? arena_strndup(c->arena, text, (size_t)n - (text[n - 1] == '\n')) : "";
}

static void offer_folder_numbers(struct completion *c, const char *folder, bool threads, bool names)
{
	DIR *dir = opendir(folder);

	if (!dir)
		return;
	for (struct dirent *entry; (entry = readdir(dir)); ) {
		const char *path = arena_printf(c->arena, "%s/%s", folder, entry->d_name);

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		if (threads)
			offer_folder_numbers(c, arena_printf(c->arena, "%s/task", path), false, names);
		else if (names)
			offer(c, comm_of(c, path), "");
		else if (!strncmp(entry->d_name, c->begun, strlen(c->begun)))
			offer(c, entry->d_name, comm_of(c, path));
	}
	closedir(dir);
}

static void processes(struct completion *c)
{
	offer_folder_numbers(c, "/proc", false, false);
}

static void threads(struct completion *c)
{
	offer_folder_numbers(c, "/proc", true, false);
}

static void users(struct completion *c)
{
	setpwent();
	for (struct passwd *user; (user = getpwent()); )
		offer(c, user->pw_name, user->pw_gecos ? user->pw_gecos : "");
	endpwent();
}

static void events(struct completion *c)
{
	for (unsigned i = 0; i < EVENT_MAX; i++)
		if (event_infos[i].name)
			offer(c, event_infos[i].name, event_infos[i].doc);
}

static void help_topics(struct completion *c)
{
	for (size_t i = 0; commands[i]; i++)
		offer(c, commands[i]->name, commands[i]->summary);
	for (size_t i = 0; *c->begun && commands[i]; i++)
		for (const struct option_spec *o = commands[i]->options; o->name; o++)
			offer(c, o->name, o->help);
	for (const struct help_term *term = help_terms; *c->begun && term->name; term++)
		offer(c, term->name, term->meaning);
	if (*c->begun)
		events(c);
}

static void hangs(struct completion *c)
{
	struct hangs_options options = { 0 };
	struct session session;
	const struct hang *list;
	size_t count;

	if (session_open(c->trace, &session, NULL))
		return;
	options.root_pid = session.root_pid;
	if (session_hangs(&session, c->arena, &options, &list, &count, NULL))
		return;
	for (size_t i = 0; i < count; i++) {
		struct buf line;

		buf_init(&line);
		hang_list_line(c->arena, &session, list, i, &line);
		offer(c, arena_printf(c->arena, "%zu", i + 1), buf_str(&line) + 4);
		buf_done(&line);
	}
	/* the index that closing would write is not for a look */
}

static void marks(struct completion *c)
{
	struct trace_filter filter = { 0 };
	struct trace_cursor *cursor;
	struct trace *trace;

	if (trace_open(c->trace, &trace, NULL))
		return;
	trace_filter_add(&filter, EVENT_mark);
	cursor = trace_cursor_new(trace, &filter);
	for (const struct event *e; (e = trace_cursor_next(cursor)); )
		offer(c, e->tail, "");
	trace_cursor_free(cursor);
	trace_close(trace);
}

static void names(struct completion *c)
{
	struct tables *tables;
	struct trace *trace;

	if (trace_open(c->trace, &trace, NULL))
		return;
	if (!tables_build_parts(trace, TABLES_THREADS, &tables, NULL)) {
		for (uint32_t i = 1; i < tables->thread_count; i++)
			offer(c, tables->threads[i].comm, "");
		tables_free(tables);
	}
	trace_close(trace);
}

/* Of FILE:FUNCTION the functions of the file; before the colon files. */
static void probes(struct completion *c)
{
	const char *colon = strrchr(c->begun, ':'), *equals = strchr(c->begun, '='), *file, *path;
	struct symbol_table table = { 0 };
	struct elf_file elf;

	if (!colon) {
		offer(c, "usdt:", "a place that the program's authors marked");
		offer(c, "tracepoint:", "a trace point of the kernel");
		if (!c->offered)
			files(c);
		return;
	}
	file = equals && equals < colon ? equals + 1 : c->begun;
	file = arena_strndup(c->arena, file, (size_t)(colon - file));
	c->before = arena_printf(c->arena, "%s%.*s", c->before, (int)(colon + 1 - c->begun), c->begun);
	c->begun = colon + 1;
	if (probe_points_file(c->arena, file, &path, NULL) || elf_file_open(path, &elf, NULL))
		return;
	arena_init(&table.arena);
	symbol_table_add(&table, &elf);
	debug_file_add_symbols(&(struct debug_places){ NULL, NULL }, &elf, path, &table);
	for (size_t i = 0; i < table.symbols.length; i++)
		if (table.symbols.items[i].kind == SYMBOL_function)
			offer(c, arena_strndup(c->arena, table.symbols.items[i].name, strcspn(table.symbols.items[i].name, "@")), "");
	symbol_table_done(&table);
	elf_file_close(&elf);
}

/* By the option's own name, else by its value's, which arguments have too. What is in
 * neither column is any text. */
static const struct { const char *option, *value; void (*offer)(struct completion *c); } values[] = {
	{ "hang", NULL, hangs },
	{ "mark", NULL, marks },
	{ "comm", NULL, names },
	{ "base-tid", NULL, names },
	{ "base-pid", NULL, names },
	{ "probe", NULL, probes },
	{ "on-command", NULL, NULL },
	{ NULL, "FILE", files },
	{ NULL, "BASE", files },
	{ NULL, "TRACE", files },
	{ NULL, "DIR", folders },
	{ NULL, "PATH", folders },
	{ NULL, "PID", processes },
	{ NULL, "PID|NAME", names },
	{ NULL, "TID", threads },
	{ NULL, "TID|NAME", names },
	{ NULL, "USER", users },
	{ NULL, "EVENT", events },
	{ NULL, "WORD", help_topics },
};

/* "1,2,3" of a list: only the last is being written. */
static void split_list(struct completion *c)
{
	const char *comma = strrchr(c->begun, ',');

	if (!comma)
		return;
	c->before = arena_printf(c->arena, "%s%.*s", c->before, (int)(comma + 1 - c->begun), c->begun);
	c->begun = comma + 1;
}

static void offer_value(struct completion *c, const char *option, const char *value)
{
	size_t length = strcspn(value, " ,]");

	if (value[length] == ',')
		split_list(c);
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		const char *name = values[i].option ? values[i].option : values[i].value;
		bool fits = values[i].option ? !strcmp(option, name) : strlen(name) == length && !strncmp(value, name, length);

		if (!fits)
			continue;
		if (values[i].offer)
			values[i].offer(c);
		return;
	}
}

/* ---- the line ---- */

static const struct option_spec *option_of(const struct command *command, const char *word, size_t length)
{
	for (const struct option_spec *o = command->options; o->name; o++)
		if (word[1] == '-' ? strlen(o->name) == length - 2 && !strncmp(o->name, word + 2, length - 2)
				   : o->letter == word[1] && length == 2)
			return o;
	return NULL;
}

static void offer_option_value(struct completion *c, const struct option_spec *o)
{
	if (o->kind == OPTION_WORDS)
		split_list(c);
	if (o->choices)
		offer_list(c, o->choices);
	else if (o->value)
		offer_value(c, o->name, o->value);
}

static void offer_options(struct completion *c, const struct command *command)
{
	for (const struct option_spec *o = command->options; o->name; o++)
		offer(c, arena_printf(c->arena, "--%s", o->name), o->help);
	offer(c, "--help", "this help");
}

void complete_words(struct arena *arena, int count, char *const *words, struct buf *buf)
{
	struct completion c = { .arena = arena, .buf = buf, .before = "", .trace = COMMAND_TRACE };
	const struct command *command;
	const struct option_spec *waiting = NULL; /* its value comes next */
	bool ended = false;
	const char *last, *equals;

	if (count < 1)
		return;
	last = words[count - 1];
	c.begun = last;
	if (count == 1) {
		for (size_t i = 0; commands[i]; i++)
			offer(&c, commands[i]->name, commands[i]->summary);
		offer(&c, "--help", "all commands");
		offer(&c, "--version", "version, build and licence");
		return;
	}
	command = command_find(words[0]);
	if (!command)
		return;
	for (int i = 1; i < count - 1; i++) {
		size_t length = strlen(words[i]);

		if (waiting) {
			waiting = NULL;
		} else if (!ended && !strcmp(words[i], "--")) {
			ended = true;
		} else if (ended || words[i][0] != '-' || length < 2) {
			if (command->rest_is_command) {
				buf_printf(buf, ":command %d\n", i + 1);
				return;
			}
			c.trace = words[i];
		} else {
			waiting = option_of(command, words[i], length);
			if (waiting && !waiting->value)
				waiting = NULL;
		}
	}
	equals = !ended && !strncmp(last, "--", 2) ? strchr(last, '=') : NULL;
	if (waiting) {
		offer_option_value(&c, waiting);
	} else if (equals && (waiting = option_of(command, last, (size_t)(equals - last)))) {
		c.before = arena_strndup(arena, last, (size_t)(equals + 1 - last));
		c.begun = equals + 1;
		offer_option_value(&c, waiting);
	} else if (!ended && last[0] == '-') {
		offer_options(&c, command);
	} else if (command->rest_is_command) {
		buf_printf(buf, ":command %d\n", count);
	} else if (*command->arguments) {
		offer_value(&c, "", command->arguments + (command->arguments[0] == '['));
	}
}
