/* Command-line options from a table.
 *
 * A command lists its options once; parsing, checking and help derive from the
 * list. Options may stand before or after the other arguments; `--` ends them,
 * and so does the first other argument where the command asks for that (a
 * command line follows). Long options may be written --name=value or --name
 * value; short ones -n value, -nvalue. */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum option_kind {
	OPTION_FLAG,      /* no value */
	OPTION_TEXT,      /* any text */
	OPTION_NUMBER,    /* unsigned, decimal or 0x */
	OPTION_BYTES,     /* number with k, M, G (powers of 1024) */
	OPTION_DURATION,  /* number with ns, us, ms, s (default), m, h; kept in ns */
	OPTION_WORD,      /* one of the choices */
	OPTION_WORDS,     /* some of the choices, commas between */
};

struct option_spec {
	const char *name;        /* long name, without the dashes; NULL ends a list */
	char letter;             /* short name, 0 none */
	enum option_kind kind;
	const char *value;       /* name of the value in help: "FILE"; NULL for flags */
	const char *help;        /* one line, no full stop */
	uint64_t least, most;    /* of numbers, bytes, durations; most 0: no bound */
	const char *choices;     /* of words: names with spaces between */
};

/* What options say to each other. A list is long names with spaces between. */
struct option_rule {
	const char *one_of;      /* at most one of these; NULL in rules of the other form */
	const char *option;      /* this one means nothing ... */
	const char *without;     /* ... without one of these; both NULL end a list */
};

struct option_value {
	const struct option_spec *spec;
	const char *text;        /* as written */
	uint64_t number;         /* of numbers, bytes, durations */
};

struct options {
	const struct option_value *values;  /* in the order given */
	size_t value_count;
	const char *const *arguments;       /* the other arguments, NULL-terminated */
	size_t argument_count;
};

/* A failure is -EINVAL with the word that is wrong. `rest_is_command`: the first
 * other argument and all behind it are taken as they are. */
int options_parse(struct arena *arena, const struct option_spec *specs, bool rest_is_command, int count,
		  char *const *words, struct options *ret_options, struct err *err);

/* -EINVAL with a sentence when the options given contradict a rule; NULL: no rules. */
int options_check(const struct options *options, const struct option_rule *rules, struct err *err);

bool options_has(const struct options *options, const char *name);
/* Text of the last one given, else `otherwise`. */
const char *options_text(const struct options *options, const char *name, const char *otherwise);
uint64_t options_number(const struct options *options, const char *name, uint64_t otherwise);
/* The nth text given of an option that may be repeated; NULL behind the last. */
const char *options_nth(const struct options *options, const char *name, size_t n);

/* Lines for help, at most so many columns wide (within reason); 0: as wide as they read well. */
void options_describe(struct buf *buf, const struct option_spec *specs, int width);

/* The values' own parsers, for use elsewhere; the whole text must fit. */
int parse_number(const char *text, uint64_t *ret_number);
int parse_bytes(const char *text, uint64_t *ret_bytes);
int parse_duration(const char *text, uint64_t *ret_ns);

#endif
