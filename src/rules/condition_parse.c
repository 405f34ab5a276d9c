/* Conditions from text to jump code. A tree is built in the arena and then
 * written out from its end, so that each step knows where to go. */
#include <string.h>

#include "rules/set.h"
#include "trace/text.h"

#define MAX_DEPTH 40

enum node_kind { NODE_test, NODE_and, NODE_or };

struct node {
	enum node_kind kind;
	const struct node *left, *right;
	struct condition_step test;
	bool negated;   /* of a test */
};

struct context {
	struct parser *parser;
	enum condition_ground ground;
	const struct event_info *info;
	unsigned depth, steps;
	bool uses_names;
};

struct fact {
	const char *name;
	uint8_t offset, bytes;
	enum field_kind kind;
};

#define FACT(field, kind) { #field, offsetof(struct rule_facts, field), sizeof(((struct rule_facts *)0)->field), kind }
static const struct fact thread_facts[] = {
	{ "comm", offsetof(struct rule_facts, comm), 0, FIELD_TEXT },
	FACT(object, FIELD_OBJECT),
	FACT(timeout, FIELD_DURATION),
	FACT(tid, FIELD_TID),
	FACT(pid, FIELD_PID),
	FACT(argument, FIELD_I32),
	FACT(syscall, FIELD_SYSCALL),
	FACT(callout, FIELD_U16),
	FACT(wait, FIELD_WAIT_KIND),
	FACT(state, FIELD_TASK_STATE),
	FACT(hint_kind, FIELD_HINT_KIND),
	FACT(kernel, FIELD_U8),
	{ NULL, 0, 0, FIELD_U8 }
};
#undef FACT

#define SCENE(name, field, kind) { name, offsetof(struct rule_scene, field), sizeof(((struct rule_scene *)0)->field), kind }
static const struct fact interrupt_facts[] = { SCENE("woken", woken, FIELD_U32), { NULL, 0, 0, FIELD_U8 } };
static const struct fact armer_facts[] = { SCENE("pid", armer_pid, FIELD_PID), { NULL, 0, 0, FIELD_U8 } };
static const struct fact event_facts[] = {
	SCENE("cpu", cpu, FIELD_CPU32),
	{ "text", offsetof(struct rule_scene, tail), 0, FIELD_TEXT },
	{ NULL, 0, 0, FIELD_U8 }
};
static const struct fact probe_facts[] = {
	{ "name", offsetof(struct rule_scene, probe), 0, FIELD_TEXT }, { NULL, 0, 0, FIELD_U8 }
};
static const struct fact edge_facts[] = {
	SCENE("confidence", confidence, FIELD_U32), SCENE("kind", mechanism, FIELD_U32), { NULL, 0, 0, FIELD_U8 }
};
static const struct fact wait_facts[] = { SCENE("length", length_ns, FIELD_DURATION), { NULL, 0, 0, FIELD_U8 } };
#undef SCENE

static bool is_word(const struct token *token, const char *word)
{
	return token->length == strlen(word) && !memcmp(token->start, word, token->length);
}

static bool find_fact(const struct fact *facts, const struct token *token, enum operand_source source,
		      struct operand *operand, enum field_kind *kind)
{
	for (; facts->name; facts++) {
		if (!is_word(token, facts->name))
			continue;
		*operand = (struct operand){ .source = source, .bytes = facts->bytes, .offset = facts->offset,
					     .is_signed = facts->kind == FIELD_I32 };
		*kind = facts->kind;
		return true;
	}
	return false;
}

static bool find_field(const struct event_info *info, const struct token *token, struct operand *operand,
		       enum field_kind *kind)
{
	for (unsigned i = 0; info && i < info->field_count; i++) {
		const struct field_info *field = &info->fields[i];

		if (!is_word(token, field->name))
			continue;
		*operand = (struct operand){ .source = OPERAND_event, .bytes = field->bytes, .offset = field->offset,
					     .is_signed = field->kind == FIELD_I32 || field->kind == FIELD_I64 };
		*kind = field->kind;
		return true;
	}
	return false;
}

static bool find_bare(const struct context *c, const struct token *token, struct operand *operand, enum field_kind *kind)
{
	switch (c->ground) {
	case GROUND_event:
		return find_field(c->info, token, operand, kind) || find_fact(event_facts, token, OPERAND_scene, operand, kind) ||
		       (event_info_number(c->info) == EVENT_probe && find_fact(probe_facts, token, OPERAND_scene, operand, kind));
	case GROUND_edge:
		return find_fact(edge_facts, token, OPERAND_scene, operand, kind);
	case GROUND_wait:
		return find_fact(wait_facts, token, OPERAND_scene, operand, kind) ||
		       find_fact(thread_facts, token, OPERAND_thread, operand, kind);
	}
	return false;
}

static void read_operand(struct context *c, struct operand *operand, enum field_kind *kind)
{
	static const struct { const char *name; const struct fact *facts; enum operand_source source; } spaces[] = {
		{ "thread", thread_facts, OPERAND_thread }, { "from", thread_facts, OPERAND_thread },
		{ "target", thread_facts, OPERAND_target }, { "to", thread_facts, OPERAND_target },
		{ "interrupt", interrupt_facts, OPERAND_scene }, { "armer", armer_facts, OPERAND_scene },
	};
	struct parser *p = c->parser;
	struct token first = p->token;

	if (first.kind != TOKEN_name) {
		parser_fail(p, "a field's name is wanted here");
		return;
	}
	for (size_t i = 0; i < sizeof(spaces) / sizeof(*spaces); i++) {
		struct lexer ahead = p->lexer;
		struct token dot;

		if (!is_word(&first, spaces[i].name))
			continue;
		dot = lexer_next(&ahead);
		if (dot.kind != TOKEN_sign || !is_word(&dot, "."))
			break;
		parser_advance(p);
		parser_advance(p);
		if (!find_fact(spaces[i].facts, &p->token, spaces[i].source, operand, kind)) {
			parser_fail(p, "%s has no '%.*s'", spaces[i].name, (int)p->token.length, p->token.start);
			return;
		}
		if (spaces[i].facts == thread_facts && (*kind == FIELD_TEXT || *kind == FIELD_PID))
			c->uses_names = true;
		parser_advance(p);
		return;
	}
	if (!find_bare(c, &first, operand, kind)) {
		if (c->ground == GROUND_event && c->info)
			parser_fail(p, "event %s has no field '%.*s'", c->info->name, (int)first.length, first.start);
		else
			parser_fail(p, "nothing here is called '%.*s'", (int)first.length, first.start);
		return;
	}
	if (c->ground == GROUND_wait && (*kind == FIELD_TEXT || *kind == FIELD_PID))
		c->uses_names = true;
	parser_advance(p);
}

void operand_parse(struct parser *parser, enum condition_ground ground, const struct event_info *info,
		   struct operand *ret_operand, enum field_kind *ret_kind)
{
	struct context c = { .parser = parser, .ground = ground, .info = info };

	read_operand(&c, ret_operand, ret_kind);
}

static bool is_edge_kind(const struct operand *left)
{
	return left->source == OPERAND_scene && left->offset == offsetof(struct rule_scene, mechanism);
}

/* The right side: a literal of the left side's kind, or another field. */
static void read_right(struct context *c, const struct operand *left, enum field_kind left_kind, struct operand *right)
{
	struct parser *p = c->parser;
	const struct token token = p->token;
	bool negative = parser_take(p, "-");
	enum field_kind kind = left_kind;

	*right = (struct operand){ .source = OPERAND_literal, .bytes = 8 };
	if (p->token.kind == TOKEN_number) {
		right->value = negative ? 0 - p->token.number : p->token.number;
	} else if (negative) {
		parser_fail(p, "a number is wanted behind '-'");
		return;
	} else if (p->token.kind == TOKEN_text) {
		right->bytes = 0;
		right->text = arena_strndup(p->arena, p->token.start, p->token.length);
	} else if (p->token.kind == TOKEN_name && is_edge_kind(left)) {
		right->value = p->mechanism_find ? p->mechanism_find(token.start, token.length) : 0;
		if (!right->value)
			parser_fail(p, "no kind of edge is called '%.*s'", (int)token.length, token.start);
	} else if (p->token.kind == TOKEN_name && !text_parse_value(left_kind, token.start, token.length, &right->value)) {
		;
	} else {
		read_operand(c, right, &kind);
		if (!p->failed && (right->bytes == 0) != (left->bytes == 0))
			parser_fail(p, "a text cannot be compared with a number");
		return;
	}
	if (!p->failed && (right->bytes == 0) != (left->bytes == 0)) {
		parser_fail(p, left->bytes ? "a number or a name of its values is wanted here" : "a \"text\" is wanted here");
		return;
	}
	parser_advance(p);
}

static const struct node *read_or(struct context *c, bool negated);

static const struct node *read_test(struct context *c, bool negated)
{
	static const struct { const char *sign; enum comparison comparison; bool negated; } signs[] = {
		{ "==", COMPARE_equal, false },   { "!=", COMPARE_differs, false },
		{ "<", COMPARE_less, false },     { "<=", COMPARE_at_most, false },
		{ ">", COMPARE_at_most, true },   { ">=", COMPARE_less, true },
		{ "has", COMPARE_has, false },    { "~", COMPARE_like, false },
	};
	struct parser *p = c->parser;
	struct node *node = arena_new(p->arena, struct node);
	enum field_kind kind = FIELD_U64;

	if (++c->steps > CONDITION_MAX_STEPS)
		parser_fail(p, "condition too long");
	read_operand(c, &node->test.left, &kind);
	if (p->failed)
		return node;
	node->negated = negated;
	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		if (!parser_is(p, signs[i].sign))
			continue;
		node->test.comparison = signs[i].comparison;
		node->negated ^= signs[i].negated;
		if (node->test.left.bytes ? signs[i].comparison == COMPARE_like
					  : signs[i].comparison != COMPARE_like && signs[i].comparison != COMPARE_equal &&
						    signs[i].comparison != COMPARE_differs) {
			parser_fail(p, "'%s' does not fit a %s", signs[i].sign, node->test.left.bytes ? "number" : "text");
			return node;
		}
		parser_advance(p);
		read_right(c, &node->test.left, kind, &node->test.right);
		node->test.is_signed = node->test.left.is_signed;
		return node;
	}
	parser_fail(p, "a comparison is wanted here (==, !=, <, <=, >, >=, has, ~)");
	return node;
}

static const struct node *read_not(struct context *c, bool negated)
{
	struct parser *p = c->parser;
	const struct node *node;

	if (++c->depth > MAX_DEPTH) {
		parser_fail(p, "condition nested too deep");
		return arena_new(p->arena, struct node);
	}
	if (parser_take(p, "not")) {
		node = read_not(c, !negated);
	} else if (parser_take(p, "(")) {
		node = read_or(c, negated);
		parser_expect(p, ")");
	} else {
		node = read_test(c, negated);
	}
	c->depth--;
	return node;
}

static const struct node *join(struct context *c, bool is_and, bool negated, const struct node *left, const struct node *right)
{
	struct node *node = arena_new(c->parser->arena, struct node);

	/* De Morgan: under a negation, and becomes or. */
	node->kind = is_and != negated ? NODE_and : NODE_or;
	node->left = left;
	node->right = right;
	return node;
}

static const struct node *read_and(struct context *c, bool negated)
{
	const struct node *node = read_not(c, negated);

	while (!c->parser->failed && parser_take(c->parser, "and"))
		node = join(c, true, negated, node, read_not(c, negated));
	return node;
}

static const struct node *read_or(struct context *c, bool negated)
{
	const struct node *node = read_and(c, negated);

	while (!c->parser->failed && parser_take(c->parser, "or"))
		node = join(c, false, negated, node, read_and(c, negated));
	return node;
}

/* Writes a node's steps before `steps[*first]`; returns where to enter it. */
static uint16_t emit(struct condition_step *steps, unsigned *first, const struct node *node, uint16_t yes, uint16_t no)
{
	uint16_t right;

	if (node->kind == NODE_test) {
		steps[--*first] = node->test;
		steps[*first].yes = node->negated ? no : yes;
		steps[*first].no = node->negated ? yes : no;
		return (uint16_t)*first;
	}
	right = emit(steps, first, node->right, yes, no);
	return node->kind == NODE_and ? emit(steps, first, node->left, right, no) : emit(steps, first, node->left, yes, right);
}

/* That the probe is the one named with the event. */
static const struct node *probe_test(struct context *c, const char *probe)
{
	struct node *node = arena_new(c->parser->arena, struct node);

	c->steps++;
	node->test.left = (struct operand){ .source = OPERAND_scene, .offset = offsetof(struct rule_scene, probe) };
	node->test.right = (struct operand){ .source = OPERAND_literal, .text = probe };
	node->test.comparison = COMPARE_equal;
	return node;
}

void condition_parse(struct parser *parser, enum condition_ground ground, const struct event_info *info, const char *probe,
		     struct condition *ret_condition)
{
	struct context c = { .parser = parser, .ground = ground, .info = info };
	struct condition_step *steps;
	const struct node *root = probe ? probe_test(&c, probe) : NULL;
	unsigned first;

	if (parser_take(parser, "where")) {
		const struct node *asked = read_or(&c, false);

		root = root ? join(&c, true, false, root, asked) : asked;
	}
	if (parser->failed || !root)
		return;
	first = c.steps;
	steps = arena_array(parser->arena, struct condition_step, c.steps);
	emit(steps, &first, root, CONDITION_TRUE, CONDITION_FALSE);
	*ret_condition = (struct condition){ .steps = steps, .count = c.steps, .uses_names = c.uses_names };
}
