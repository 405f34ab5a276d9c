/* Inside of rules: the set and what the parser's files share. */
#ifndef RULES_SET_H
#define RULES_SET_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "rules/lexer.h"
#include "rules/rules.h"
#include "trace/event.h"

struct rules {
	struct arena arena;             /* owns texts and conditions */
	struct vec(struct rule) list;
	uint64_t hash;
};

struct parser {
	struct lexer lexer;
	struct token token;             /* the next one, not yet taken */
	struct arena *arena;
	const char *file;
	rules_mechanism_find *mechanism_find;
	struct err *err;
	int failed;                     /* 0, or the first failure's code */
};

/* Moves on to the next token; a bad one is a failure. */
void parser_advance(struct parser *parser);
/* Records the first failure, at the current token. */
void parser_fail(struct parser *parser, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool parser_is(const struct parser *parser, const char *word);
/* Takes the word when it is next. */
bool parser_take(struct parser *parser, const char *word);
void parser_expect(struct parser *parser, const char *word);

/* What bare names in a condition stand for. */
enum condition_ground {
	GROUND_event,   /* fields of the event */
	GROUND_edge,    /* kind, confidence; from. and to. are threads */
	GROUND_wait     /* wait, state, object, ... of the wait */
};

/* Parses `where` and what follows it, if it is there. `info` is the event
 * of GROUND_event; of a probe named with it, `probe` is the name, else NULL. */
void condition_parse(struct parser *parser, enum condition_ground ground, const struct event_info *info, const char *probe,
		     struct condition *ret_condition);
/* Parses one operand that is not a literal: a field's name. */
void operand_parse(struct parser *parser, enum condition_ground ground, const struct event_info *info,
		   struct operand *ret_operand, enum field_kind *ret_kind);

#endif
