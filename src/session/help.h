/* Help, out of the tables of commands, options, events and edges: for -h, `argus help`
 * and, as JSON, for what is made of the same tables elsewhere (man pages). */
#ifndef SESSION_HELP_H
#define SESSION_HELP_H

#include "session/command.h"

/* All commands, a line each. */
void help_commands(struct buf *buf);
/* In lines of so many columns; 0 not known. */
void help_command(struct buf *buf, const struct command *command, int width);
/* Whatever the word names: a command, an option, an event, a kind of edge; else where it
 * is mentioned. -ENOENT, with what may have been meant, when it is nowhere. */
int help_word(struct buf *buf, const char *word, int width, struct err *err);
/* A word of answers and documents that is no name of the tables. */
struct help_term {
	const char *name, *others[4], *meaning; /* others: names for the same, up to a NULL */
};

extern const struct help_term help_terms[]; /* ended by a NULL name */
/* The commands with their options, and the terms: docs/json.md. */
void help_json(struct buf *buf);

#endif
