/* Text to events: the grammar of docs/format.md, a line at a time.
 *
 * Lines that begin with @ are conveniences for texts written by hand: @thread
 * names a thread, @object an object; both can then be used as @name. */
#include "trace/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/vec.h"
#include "trace/names.h"
#include "trace/text_words.h"

struct alias {
	const char *name;
	uint64_t value;
	uint32_t pid;
	bool object;
};

struct text_parser {
	struct text_target *target;
	struct arena names;
	struct vec(struct alias) aliases;
	struct vec(struct event) pending;  /* from @ lines, until a line tells the time */
	uint64_t time_ns;                  /* of the last line */
	uint32_t next_tid;
	uint64_t next_object;
	struct buf tail;
	_Alignas(8) unsigned char data[256];
};

struct text_parser *text_parser_new(struct text_target *target)
{
	struct text_parser *parser = mem_zalloc(sizeof(*parser));

	parser->target = target;
	parser->next_tid = 1001;
	parser->next_object = 1;
	return parser;
}

void text_parser_free(struct text_parser *parser)
{
	if (!parser)
		return;
	arena_done(&parser->names);
	vec_done(&parser->aliases);
	vec_done(&parser->pending);
	buf_done(&parser->tail);
	free(parser);
}

static const struct alias *find_alias(const struct text_parser *parser, struct word name, bool object)
{
	for (size_t i = 0; i < parser->aliases.length; i++) {
		const struct alias *alias = &parser->aliases.items[i];

		if (alias->object == object && word_is(name, alias->name))
			return alias;
	}
	return NULL;
}

/* @name or a plain value. */
static int parse_reference(const struct text_parser *parser, enum field_kind kind, struct word word, uint64_t *ret_value)
{
	const struct alias *alias;

	if (!word.length || word.text[0] != '@')
		return text_parse_value(kind, word.text, word.length, ret_value);
	alias = find_alias(parser, (struct word){ word.text + 1, word.length - 1 }, kind == FIELD_OBJECT);
	if (!alias)
		return -ENOENT;
	*ret_value = kind == FIELD_PID ? alias->pid : alias->value;
	return 0;
}

static int fail_word(struct err *err, const char *line, struct word word, const char *what)
{
	return err_set(err, -EINVAL, "column %zu: %s '%.*s'", (size_t)(word.text - line) + 1, what,
		       (int)(word.length < 60 ? word.length : 60), word.text);
}

/* ---- lines of events ---- */

/* "..." with its escapes into the tail; `word` begins at the quote and is moved behind it. */
static int parse_quoted(struct buf *tail, struct word *rest)
{
	const char *at = rest->text + 1, *end = rest->text + rest->length;

	for (; at < end && *at != '"'; at++) {
		uint64_t byte;

		if (*at != '\\') {
			buf_char(tail, *at);
			continue;
		}
		if (++at == end)
			return -EINVAL;
		if (*at == 'x' && end - at > 2 && !word_hex((struct word){ at + 1, 2 }, &byte)) {
			buf_char(tail, (char)byte);
			at += 2;
		} else if (*at == 'n' || *at == 't') {
			buf_char(tail, *at == 'n' ? '\n' : '\t');
		} else if (*at == '\\' || *at == '"') {
			buf_char(tail, *at);
		} else {
			return -EINVAL;
		}
	}
	if (at == end)
		return -EINVAL;
	at++;
	*rest = (struct word){ at, (size_t)(end - at) };
	return 0;
}

static int parse_time_word(uint64_t before, struct word word, uint64_t *ret_time)
{
	uint64_t delta;
	bool plus = word.length && word.text[0] == '+', minus = word.length && word.text[0] == '-';
	int status;

	if (!plus && !minus)
		return word_time(word, ret_time);
	status = word_time((struct word){ word.text + 1, word.length - 1 }, &delta);
	if (status)
		return status;
	return (plus ? __builtin_add_overflow(before, delta, ret_time) : __builtin_sub_overflow(before, delta, ret_time)) ?
		-ERANGE : 0;
}

static int parse_field(struct text_parser *parser, const struct event_info *info, struct word word, struct err *err,
		       const char *line)
{
	const char *equals = memchr(word.text, '=', word.length);
	const struct field_info *field = NULL;
	struct word name, value;
	uint64_t number;
	int status;

	if (!equals)
		return fail_word(err, line, word, "expected name=value, found");
	name = (struct word){ word.text, (size_t)(equals - word.text) };
	value = (struct word){ equals + 1, word.length - name.length - 1 };
	for (unsigned i = 0; i < info->field_count && !field; i++)
		if (word_is(name, info->fields[i].name))
			field = &info->fields[i];
	if (!field)
		return err_set(err, -EINVAL, "column %zu: '%s' has no field '%.*s'", (size_t)(name.text - line) + 1,
			       info->name, (int)(name.length < 60 ? name.length : 60), name.text);
	if (field->kind == FIELD_TIME)
		status = parse_time_word(parser->time_ns, value, &number);
	else
		status = parse_reference(parser, field->kind, value, &number);
	if (status == -ENOENT)
		return fail_word(err, line, value, "unknown name");
	if (status)
		return fail_word(err, line, value, "not a value of its kind:");
	if (field->bytes < 8 && field->kind != FIELD_I32 && number >> (8 * field->bytes))
		return fail_word(err, line, value, "too large:");
	if (field->kind == FIELD_I32 && (int64_t)number != (int32_t)number)
		return fail_word(err, line, value, "too large:");
	field_set(field, parser->data, number);
	return 0;
}

/* What follows the event's name. */
static int parse_rest(struct text_parser *parser, const struct event_info *info, struct word rest, struct err *err,
		      const char *line)
{
	while (word_skip_blanks(&rest), rest.length && rest.text[0] != '#') {
		struct word at = rest;
		bool raw = rest.length > 6 && !memcmp(rest.text, "tail=\"", 6);

		if (raw)
			rest = (struct word){ rest.text + 5, rest.length - 5 };
		if (rest.text[0] == '"') {
			if (!raw && info->tail == FIELD_KINDS)
				return err_set(err, -EINVAL, "column %zu: '%s' takes no text", (size_t)(at.text - line) + 1,
					       info->name);
			if (!raw && info->tail == FIELD_TEXT && parser->tail.length)
				return fail_word(err, line, at, "a second text:");
			if (parse_quoted(&parser->tail, &rest))
				return fail_word(err, line, at, "a text that does not end or has an unknown escape:");
			if (!raw && info->tail == FIELD_TEXTS)
				buf_char(&parser->tail, 0);
			continue;
		}
		at = word_take(&rest);
		if (parse_field(parser, info, at, err, line))
			return -EINVAL;
	}
	return 0;
}

static int hand_out_pending(struct text_parser *parser, uint64_t time_ns, struct err *err)
{
	int status = 0;

	for (size_t i = 0; i < parser->pending.length && !status; i++) {
		parser->pending.items[i].time = time_ns;
		status = parser->target->add(parser->target, &parser->pending.items[i], err);
	}
	vec_clear(&parser->pending);
	return status;
}

static int parse_event(struct text_parser *parser, struct word rest, struct err *err, const char *line)
{
	const struct event_info *info = NULL;
	struct event e = { 0 };
	struct word word = word_take(&rest);
	uint64_t number;
	int status;

	if (parse_time_word(parser->time_ns, word, &e.time))
		return fail_word(err, line, word, "expected a time (12.5, 300us, +2ms), found");
	parser->time_ns = e.time;
	word = word_take(&rest);
	if (word.length > 2 && word.text[0] == '[' && word.text[word.length - 1] == ']') {
		if (word_number((struct word){ word.text + 1, word.length - 2 }, &number) || number > UINT16_MAX)
			return fail_word(err, line, word, "not a processor:");
		e.cpu = (uint16_t)number;
		word = word_take(&rest);
	}
	if (parse_reference(parser, FIELD_TID, word, &number) || number > UINT32_MAX)
		return fail_word(err, line, word, word.length && word.text[0] == '@' ? "unknown name" :
				 "expected a thread's number or @name, found");
	e.tid = (uint32_t)number;
	word = word_take(&rest);
	for (unsigned i = 0; i < EVENT_MAX && !info; i++)
		if (event_infos[i].name && word_is(word, event_infos[i].name))
			info = &event_infos[i];
	if (!info)
		return fail_word(err, line, word, word.length ? "unknown event" : "expected an event's name, found");
	e.type = (uint16_t)event_info_number(info);
	memset(parser->data, 0, sizeof(parser->data));
	for (unsigned i = 0; i < info->field_count; i++)
		field_set(&info->fields[i], parser->data, field_default(info->fields[i].kind));
	buf_clear(&parser->tail);
	status = parse_rest(parser, info, rest, err, line);
	if (!status)
		status = hand_out_pending(parser, e.time, err);
	if (status)
		return status;
	e.data = info->bytes ? parser->data : NULL;
	e.tail = buf_str(&parser->tail);
	e.tail_length = (uint32_t)parser->tail.length;
	return parser->target->add(parser->target, &e, err);
}

/* ---- lines of conveniences ---- */

static struct alias *add_alias(struct text_parser *parser, struct word name, bool object)
{
	struct alias alias = { arena_strndup(&parser->names, name.text, name.length), .object = object };

	vec_push(&parser->aliases, alias);
	return &parser->aliases.items[parser->aliases.length - 1];
}

/* A number, or the name of a thread in it. */
static int find_process(const struct text_parser *parser, struct word word, uint64_t *ret_pid)
{
	const struct alias *alias;

	if (word.length && word.text[0] == '@')
		word = (struct word){ word.text + 1, word.length - 1 };
	alias = find_alias(parser, word, false);
	if (!alias)
		return word_number(word, ret_pid);
	*ret_pid = alias->pid;
	return 0;
}

/* @thread NAME [TID] [of PROCESS] */
static int parse_thread(struct text_parser *parser, struct word rest, struct err *err, const char *line)
{
	struct word name = word_take(&rest), word = word_take(&rest);
	struct event_task *task = arena_new(&parser->names, struct event_task);
	struct event e = { .type = EVENT_task, .data = task };
	struct alias *alias;
	uint64_t tid = parser->next_tid, pid;
	char *tail;

	if (!name.length)
		return err_set(err, -EINVAL, "@thread wants a name: @thread NAME [TID] [of PROCESS]");
	if (find_alias(parser, name, false))
		return fail_word(err, line, name, "a second thread");
	if (word.length && !word_is(word, "of")) {
		if (word_number(word, &tid) || tid > UINT32_MAX)
			return fail_word(err, line, word, "not a thread's number:");
		word = word_take(&rest);
	}
	pid = tid;
	if (word_is(word, "of")) {
		word = word_take(&rest);
		if (find_process(parser, word, &pid))
			return fail_word(err, line, word, "unknown process");
		word = word_take(&rest);
	}
	if (word.length || pid > UINT32_MAX)
		return fail_word(err, line, word, "@thread NAME [TID] [of PROCESS]; not understood:");
	if (tid >= parser->next_tid)
		parser->next_tid = (uint32_t)tid + 1;
	alias = add_alias(parser, name, false);
	alias->value = tid;
	alias->pid = (uint32_t)pid;
	task->pid = (uint32_t)pid;
	task->ns_tid = (uint32_t)tid;
	task->flags = tid == pid ? TASK_FLAGS_leader : 0;
	task->prio = 120;
	tail = arena_alloc(&parser->names, name.length + 5, 1); /* name and three empty texts */
	memcpy(tail, name.text, name.length);
	e.tid = (uint32_t)tid;
	e.tail = tail;
	e.tail_length = (uint32_t)name.length + 4;
	vec_push(&parser->pending, e);
	return 0;
}

/* @object NAME KIND [NUMBER] */
static int parse_object(struct text_parser *parser, struct word rest, struct err *err, const char *line)
{
	struct word name = word_take(&rest), kind = word_take(&rest), word = word_take(&rest);
	uint64_t number = parser->next_object, kind_value;

	if (!name.length || kind_value_find(FIELD_OBJECT_KIND, kind.text, kind.length, &kind_value))
		return fail_word(err, line, kind, "@object NAME KIND [NUMBER]; unknown kind");
	if (find_alias(parser, name, true))
		return fail_word(err, line, name, "a second object");
	if (word.length && (word_hex(word, &number) || number >> OBJECT_KIND_SHIFT))
		return fail_word(err, line, word, "not an object's number (hexadecimal):");
	if (!word.length)
		parser->next_object++;
	add_alias(parser, name, true)->value = kind_value << OBJECT_KIND_SHIFT | number;
	return 0;
}

int text_parser_line(struct text_parser *parser, const char *line, size_t length, struct err *err)
{
	struct word rest = { line, length }, word;

	word_skip_blanks(&rest);
	if (!rest.length || rest.text[0] == '#')
		return 0;
	if (rest.text[0] != '@')
		return parse_event(parser, rest, err, line);
	word = word_take(&rest);
	if (word_is(word, "@thread"))
		return parse_thread(parser, rest, err, line);
	if (word_is(word, "@object"))
		return parse_object(parser, rest, err, line);
	return fail_word(err, line, word, "unknown convenience (@thread, @object):");
}

int text_parser_end(struct text_parser *parser, struct err *err)
{
	return hand_out_pending(parser, parser->time_ns, err);
}
