/* Statements of the rule language; the grammar is in docs/rules.md. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rules/set.h"

void parser_fail(struct parser *parser, const char *format, ...)
{
	char words[300];
	va_list args;

	if (parser->failed)
		return;
	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	parser->failed = err_set(parser->err, -EBADMSG, "%s:%u:%u: %s", parser->file, parser->token.line,
				 parser->token.column, words);
}

void parser_advance(struct parser *parser)
{
	parser->token = lexer_next(&parser->lexer);
	if (parser->token.kind == TOKEN_bad)
		parser_fail(parser, "%s", parser->token.problem);
}

bool parser_is(const struct parser *parser, const char *word)
{
	return (parser->token.kind == TOKEN_name || parser->token.kind == TOKEN_sign) &&
	       parser->token.length == strlen(word) && !memcmp(parser->token.start, word, parser->token.length);
}

bool parser_take(struct parser *parser, const char *word)
{
	if (!parser_is(parser, word))
		return false;
	parser_advance(parser);
	return true;
}

void parser_expect(struct parser *parser, const char *word)
{
	if (!parser_take(parser, word))
		parser_fail(parser, "'%s' is wanted here", word);
}

static const char *read_name(struct parser *p)
{
	const char *name;

	if (p->token.kind != TOKEN_name) {
		parser_fail(p, "a name is wanted here");
		return "";
	}
	name = arena_strndup(p->arena, p->token.start, p->token.length);
	parser_advance(p);
	return name;
}

static uint64_t read_number(struct parser *p)
{
	uint64_t number = p->token.number;

	if (p->token.kind != TOKEN_number) {
		parser_fail(p, "a number is wanted here");
		return 0;
	}
	parser_advance(p);
	return number;
}

/* An event's type; `probe NAME` is the event `probe` of that probe. */
static const struct event_info *read_event(struct parser *p, uint16_t *ret_event, const char **ret_probe)
{
	const struct token token = p->token;
	const struct event_info *info;
	const char *name = read_name(p);

	if (p->failed)
		return NULL;
	info = event_info_find(name);
	if (!info) {
		p->token = token;
		parser_fail(p, "no event is called '%s'", name);
		return NULL;
	}
	*ret_event = (uint16_t)event_info_number(info);
	*ret_probe = NULL;
	if (*ret_event == EVENT_probe && (p->token.kind == TOKEN_text || (p->token.kind == TOKEN_name && !parser_is(p, "where") &&
									  !parser_is(p, "key") && !parser_is(p, "to") &&
									  !parser_is(p, "called") && !parser_is(p, "meets") &&
									  !parser_is(p, "joins")))) {
		*ret_probe = arena_strndup(p->arena, p->token.start, p->token.length);
		parser_advance(p);
	}
	return info;
}

static void read_where(struct parser *p, enum condition_ground ground, const struct event_info *info, const char *probe,
		       struct condition *condition)
{
	if (!p->failed)
		condition_parse(p, ground, info, probe, condition);
}

static uint16_t read_mechanism(struct parser *p)
{
	const struct token token = p->token;
	const char *name = read_name(p);
	unsigned number = 0;

	if (p->failed)
		return 0;
	if (p->mechanism_find)
		number = p->mechanism_find(name, strlen(name));
	if (!number) {
		p->token = token;
		parser_fail(p, "no kind of edge is called '%s'", name);
	}
	return (uint16_t)number;
}

static void read_confidence(struct parser *p, struct rule *rule)
{
	struct token token;
	uint64_t number;

	if (p->failed || !parser_take(p, "confidence"))
		return;
	token = p->token;
	number = read_number(p);
	if (!p->failed && (number < 1 || number > 99)) {
		p->token = token;
		parser_fail(p, "a confidence is 1 to 99 per cent");
	}
	rule->confidence = (uint8_t)number;
}

static const char *read_text(struct parser *p)
{
	const char *text;

	if (p->token.kind != TOKEN_text) {
		parser_fail(p, "a text in double quotes is wanted here");
		return "";
	}
	text = arena_strndup(p->arena, p->token.start, p->token.length);
	parser_advance(p);
	return text;
}

/* What answers call it: a text with {FIELD}, {function FIELD} and {text}. */
static void read_called(struct parser *p, struct rule *rule)
{
	if (p->failed || !parser_take(p, "called"))
		return;
	/* several texts in a row are one */
	rule->called = read_text(p);
	while (!p->failed && p->token.kind == TOKEN_text)
		rule->called = arena_printf(p->arena, "%s%s", rule->called, read_text(p));
}

/* Which field of the event that it begins with says where threads wait for each other. */
static void read_meeting(struct parser *p, const struct event_info *info, struct rule *rule)
{
	struct operand operand;
	enum field_kind kind;

	rule->meets = !p->failed && parser_take(p, "meets");
	if (p->failed || (!rule->meets && !parser_take(p, "joins")))
		return;
	rule->meeting = arena_strndup(p->arena, p->token.start, p->token.length);
	operand_parse(p, GROUND_event, info, &operand, &kind);
	if (!p->failed && (!operand.bytes || operand.source != OPERAND_event))
		parser_fail(p, "a field of the event with which it begins is wanted here");
}

static enum rule_segment read_segment(struct parser *p)
{
	static const char *const names[] = { "plain", "callout", "work", "interrupt", "maintenance" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (parser_take(p, names[i]))
			return (enum rule_segment)i;
	parser_fail(p, "a kind of segment is wanted here (plain, callout, work, interrupt, maintenance)");
	return RULE_SEGMENT_plain;
}

static void read_boundary(struct parser *p, struct rule *rule)
{
	const struct event_info *info;
	const char *probe = NULL;

	if (parser_take(p, "at")) {
		rule->kind = RULE_boundary_at;
		rule->from_event = read_number(p);
		rule->name = arena_printf(p->arena, "boundary at %llu", (unsigned long long)rule->from_event);
		return;
	}
	rule->kind = RULE_boundary;
	rule->name = read_name(p);
	if (parser_take(p, "as"))
		rule->segment = read_segment(p);
	if (parser_take(p, "before")) {
		rule->place = PLACE_before;
	} else if (parser_take(p, "after")) {
		rule->place = PLACE_after;
	} else if (parser_take(p, "isolate")) {
		rule->place = PLACE_isolate;
	} else if (parser_take(p, "from")) {
		rule->place = PLACE_callout;
	} else {
		parser_fail(p, "'before', 'after', 'isolate', 'from' or 'as' is wanted here");
		return;
	}
	info = read_event(p, &rule->event, &probe);
	read_where(p, GROUND_event, info, probe, &rule->where);
	if (rule->place == PLACE_callout) {
		const struct event_info *end;

		parser_expect(p, "to");
		rule->probe = probe;
		end = read_event(p, &rule->end_event, &probe);
		rule->end_probe = probe;
		read_where(p, GROUND_event, end, probe, &rule->end_where);
		read_called(p, rule);
		read_meeting(p, info, rule);
	}
}

static void read_peers(struct parser *p, struct rule *rule)
{
	rule->kind = RULE_peers;
	rule->name = read_name(p);
	rule->event = EVENT_message;
	if (parser_take(p, "receive"))
		rule->peers = PEERS_receive;
	else if (parser_take(p, "any"))
		rule->peers = PEERS_any;
	else if (parser_take(p, "both"))
		rule->peers = PEERS_both;
	else if (parser_take(p, "none"))
		rule->peers = PEERS_none;
	else
		parser_fail(p, "'receive', 'both', 'any' or 'none' is wanted here");
	read_where(p, GROUND_event, &event_infos[EVENT_message], NULL, &rule->where);
}

static void read_end(struct parser *p, struct rule_end *end)
{
	const char *probe;
	const struct event_info *info = read_event(p, &end->event, &probe);

	read_where(p, GROUND_event, info, probe, &end->where);
	parser_expect(p, "key");
	do {
		const struct token token = p->token;
		enum field_kind kind;

		if (p->failed)
			return;
		if (end->keys == RULE_KEYS) {
			parser_fail(p, "at most %d keys", RULE_KEYS);
			return;
		}
		operand_parse(p, GROUND_event, info, &end->key[end->keys], &kind);
		if (!p->failed && !end->key[end->keys].bytes) {
			p->token = token;
			parser_fail(p, "a text cannot be a key");
			return;
		}
		end->keys++;
	} while (parser_take(p, ","));
}

static void read_edge(struct parser *p, struct rule *rule)
{
	rule->kind = RULE_edge;
	rule->name = read_name(p);
	parser_expect(p, "as");
	rule->mechanism = read_mechanism(p);
	parser_expect(p, "from");
	read_end(p, &rule->from);
	parser_expect(p, "to");
	read_end(p, &rule->to);
	if (!p->failed && rule->from.keys != rule->to.keys)
		parser_fail(p, "both ends need the same number of keys");
	if (parser_take(p, "fifo"))
		rule->take = TAKE_fifo;
	else if (parser_take(p, "last"))
		rule->take = TAKE_last;
	else if (parser_take(p, "all"))
		rule->take = TAKE_all;
	else
		(void)parser_take(p, "once");
	read_confidence(p, rule);
	read_called(p, rule);
}

static void read_wake(struct parser *p, struct rule *rule)
{
	rule->kind = RULE_wake;
	rule->event = EVENT_wake;
	rule->name = read_name(p);
	if (parser_take(p, "as"))
		rule->mechanism = read_mechanism(p);
	if (parser_take(p, "drop")) {
		rule->drop = true;
	} else if (parser_take(p, "charge")) {
		if (parser_take(p, "source"))
			rule->charge_source = true;
		else
			parser_expect(p, "thread");
	}
	read_confidence(p, rule);
	read_where(p, GROUND_event, &event_infos[EVENT_wake], NULL, &rule->where);
}

static void read_two_events(struct parser *p, struct rule *rule, enum rule_kind kind, const char *word)
{
	rule->kind = kind;
	rule->from_event = read_number(p);
	parser_expect(p, "->");
	rule->to_event = read_number(p);
	if (!p->failed && (!rule->from_event || !rule->to_event))
		parser_fail(p, "events are numbered from 1");
	rule->name = arena_printf(p->arena, "%s %llu->%llu", word, (unsigned long long)rule->from_event,
				  (unsigned long long)rule->to_event);
}

static void read_cut(struct parser *p, struct rule *rule)
{
	if (parser_take(p, "edge")) {
		read_two_events(p, rule, RULE_cut_edge, "cut edge");
		return;
	}
	rule->kind = RULE_cut;
	rule->name = read_name(p);
	if (!p->failed && !parser_is(p, "where") && !parser_is(p, ";"))
		rule->mechanism = read_mechanism(p);
	read_where(p, GROUND_edge, NULL, NULL, &rule->where);
}

static void read_idle(struct parser *p, struct rule *rule)
{
	if (parser_take(p, "wait")) {
		rule->kind = RULE_idle_wait;
		rule->from_event = read_number(p);
		rule->name = arena_printf(p->arena, "idle wait %llu", (unsigned long long)rule->from_event);
		return;
	}
	rule->kind = RULE_idle;
	rule->name = read_name(p);
	read_where(p, GROUND_wait, NULL, NULL, &rule->where);
}

static void read_join(struct parser *p, struct rule *rule)
{
	read_two_events(p, rule, RULE_join, "join");
	if (parser_take(p, "as"))
		rule->mechanism = read_mechanism(p);
}

static void read_flag(struct parser *p, struct rule *rule)
{
	rule->kind = RULE_flag;
	rule->name = read_name(p);
	parser_expect(p, "at");
	rule->address = read_number(p);
}

static void read_probe(struct parser *p, struct rule *rule)
{
	rule->kind = RULE_probe;
	rule->name = read_name(p);
	parser_expect(p, "at");
	rule->target = read_text(p);
	rule->build = parser_take(p, "build") ? read_text(p) : "";
	rule->behind = parser_is(p, "behind");
	if (parser_take(p, "before") || parser_take(p, "behind")) {
		rule->around = read_text(p);
		parser_expect(p, "reads");
		rule->reads = read_text(p);
		rule->reads_class = parser_is(p, "class");
		rule->reads_text = parser_take(p, "text") || parser_take(p, "class") ? read_text(p) : "";
	}
}

static void read_keep(struct parser *p, struct rule *rule)
{
	parser_expect(p, "edge");
	read_two_events(p, rule, RULE_keep_edge, "keep edge");
}

static const struct statement {
	const char *word;
	void (*read)(struct parser *parser, struct rule *rule);
} statements[] = {
	{ "boundary", read_boundary }, { "peers", read_peers }, { "edge", read_edge }, { "wake", read_wake },
	{ "cut", read_cut },           { "keep", read_keep },   { "join", read_join }, { "idle", read_idle },
	{ "flag", read_flag },         { "probe", read_probe },
};

static void read_statement(struct parser *p, struct rules *rules)
{
	struct rule rule = { .file = p->file, .line = p->token.line, .column = p->token.column, .name = "", .called = "" };
	const char *start = p->token.start, *end;
	bool known = false;

	for (size_t i = 0; i < sizeof(statements) / sizeof(*statements) && !known; i++)
		if (parser_take(p, statements[i].word)) {
			statements[i].read(p, &rule);
			known = true;
		}
	if (!known)
		parser_fail(p, "a statement is wanted here (boundary, peers, edge, wake, cut, keep, join, idle, flag, probe)");
	end = p->token.start;
	parser_expect(p, ";");
	if (p->failed)
		return;
	rule.text = arena_strndup(p->arena, start, (size_t)(end - start));
	vec_push(&rules->list, rule);
}

int rules_add_text(struct rules *rules, const char *name, const char *text, size_t length,
		   rules_mechanism_find *mechanism_find, struct err *err)
{
	struct arena_mark mark = arena_mark(&rules->arena);
	size_t before = rules->list.length;
	struct parser parser = { .arena = &rules->arena, .mechanism_find = mechanism_find, .err = err };

	parser.file = arena_strdup(&rules->arena, name);
	lexer_init(&parser.lexer, text, length);
	parser_advance(&parser);
	while (!parser.failed && parser.token.kind != TOKEN_end)
		read_statement(&parser, rules);
	if (parser.failed) {
		rules->list.length = before;
		arena_rewind(&rules->arena, mark);
		return parser.failed;
	}
	rules->hash = hash_u64(rules->hash ^ hash_bytes(text, length));
	return 0;
}
