/* Commands: one file each (cmd_<name>.c), one row each in commands.def.
 *
 * A command is a constant `command_<name>`. It reads its options, works on the
 * layers below and hands its result to a sink; it does not know whether a
 * terminal, a pipe, the interactive session or a test is behind that. */
#ifndef SESSION_COMMAND_H
#define SESSION_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/options.h"

/* Where a command's words go. */
struct sink {
	/* 0 or -errno (-EPIPE: the reader has gone; stop quietly). */
	int (*write)(struct sink *sink, const void *data, size_t size);
	bool terminal;      /* a person reads it live */
	bool colour;        /* escape sequences are welcome */
	int width;          /* columns, 0 unknown */
};

int sink_write(struct sink *sink, const void *data, size_t size);
int sink_text(struct sink *sink, const char *text);
int sink_printf(struct sink *sink, const char *format, ...) __attribute__((format(printf, 2, 3)));
int sink_buf(struct sink *sink, const struct buf *buf);

/* Options that mean the same in every command that has them. */
#define OPTION_JSON { "json", 0, OPTION_FLAG, NULL, "one JSON document" }
#define OPTION_SYMFS { "symfs", 0, OPTION_TEXT, "DIR", "look for programs and debug files below DIR first" }
#define OPTION_FROM { "from", 0, OPTION_TEXT, "TIME", \
		      "from here on: 12.5 (seconds since the start, or the trace's own), -1s (before the end), 14:03:59" }
#define OPTION_TO { "to", 0, OPTION_TEXT, "TIME", "up to here" }
#define OPTION_WITHOUT { "without", 0, OPTION_TEXT, "RULE,...", "leave these rules of `argus rules` out" }
#define OPTION_SET { "set", 0, OPTION_TEXT, "LIMIT=VALUE,...", "judge by other limits than `argus rules` lists: wait_ns=300ms" }
#define OPTION_INDEX { "index", 0, OPTION_TEXT, "DIR", "keep the index of a long trace in this folder, not beside the trace" }
#define OPTION_PID_MOST 4194304 /* Linux has no greater number */
#define OPTION_OUTPUT_TRACE { "output", 'o', OPTION_TEXT, "FILE", "the trace to write (argus.trace)" }

struct command_context {
	struct arena *arena;             /* of this run */
	const struct options *options;
	struct sink *out;                /* results */
	struct sink *notes;              /* progress, loss, hints */
	const char *build;               /* what was built, as --version tells it */
	/* Makes a page of a document; -ENOTSUP, with words, where this build has none. */
	int (*page)(const struct buf *document, struct buf *page, struct err *err);
};

#define NARROW_TRACE "A shorter trace takes less: of a ring, `argus snap --last 10m` saves its end."

struct command {
	const char *name;
	const char *arguments;           /* behind the options in usage: "[FILE]"; "" none */
	const char *summary;             /* one line, no full stop */
	const char *help;                /* more for `-h`, may be NULL; ends with a newline */
	const struct option_spec *options; /* ended by a NULL name; -h and --help are added by the dispatcher */
	const struct option_rule *rules; /* what they say to each other, checked by the dispatcher; may be NULL */
	bool many_arguments;             /* not the usual one, or none where usage names none */
	bool rest_is_command;            /* the first argument begins a command line: record -- CMD */
	bool names_options;              /* an option that it does not have is an argument */
	bool pages;                      /* long results: a pager on a terminal */
	const char *narrow;              /* how to ask for less where memory runs out: a sentence; NULL: it takes little */
	/* Exit status (0, or 1..125), or -errno with the words in err. -EINVAL
	 * with words is a usage error (status 2). */
	int (*run)(struct command_context *context, struct err *err);
};

/* What is written and read unless another is named. */
#define COMMAND_TRACE "argus.trace"

/* The trace that a command reads: its first argument, else the usual one. */
const char *command_trace_path(const struct command_context *context);
/* The same; where none is named and the usual one is not there, the folder of the ring of
 * the recorder in the background, which has written all it has, or of the one that ended last. That the usual one is older
 * than the ring is noted. */
const char *command_trace_or_ring(const struct command_context *context);

struct judgement;
/* Takes in what --without and --set say. */
int command_judgement(const struct command_context *context, struct judgement *judgement, struct err *err);

struct trace;
/* Says so when a part of the trace could not be read, and answers are about the rest. */
void command_note_damage(const struct command_context *context, const struct trace *trace);
struct session;
/* Says that the answer is not about the recorded command, or does not come from the beginning on, where that is so. */
void command_note_session(const struct command_context *context, const struct session *session);

/* All, in the order of commands.def; NULL-terminated. */
extern const struct command *const commands[];
const struct command *command_find(const char *name);

#endif
