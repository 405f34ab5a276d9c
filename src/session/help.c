/* See help.h. */
#include "session/help.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/suggest.h"
#include "graph/graph.h"
#include "session/rule_text.h"
#include "trace/event.h"

#define HELP_JSON_VERSION 1

const struct help_term help_terms[] = {
#define NAMES(...) __VA_ARGS__
#define WORD(name, others, meaning) { name, { others }, meaning },
#include "session/words.def"
	{ 0 },
};

/* Every command has it. */
static const struct option_spec help_option[] = { { "help", 'h', OPTION_FLAG, NULL, "this help" }, { 0 } };

void help_commands(struct buf *buf)
{
	buf_text(buf, "argus: why was it stuck?\n\n"
		      "usage: argus COMMAND [OPTIONS] [ARGUMENTS]\n\n");
	for (size_t i = 0; commands[i]; i++)
		buf_printf(buf, "  %-12s %s\n", commands[i]->name, commands[i]->summary);
	buf_text(buf, "\n`argus COMMAND -h` describes one, `argus help WORD` a word of an answer, an option,\n"
		      "an event, an edge or a rule.\n"
		      "The default file is " COMMAND_TRACE ".\n");
}

void help_command(struct buf *buf, const struct command *command, int width)
{
	buf_printf(buf, "argus %s: %s\n\nusage: argus %s [OPTIONS]%s%s\n\n", command->name, command->summary,
		   command->name, *command->arguments ? " " : "", command->arguments);
	options_describe(buf, command->options, width);
	options_describe(buf, help_option, width);
	if (command->help)
		buf_printf(buf, "\n%s", command->help);
}

/* ---- a word ---- */

/* Commands whose lines for the option are the same stand together. */
static void describe_option(struct buf *buf, const char *name, int width)
{
	struct buf lines, seen;

	buf_init(&seen);
	for (size_t i = 0; commands[i]; i++)
		for (const struct option_spec *o = commands[i]->options; o->name; o++) {
			struct option_spec alone[2] = { *o };
			bool first = true;

			if (strcmp(o->name, name))
				continue;
			buf_init(&lines);
			options_describe(&lines, alone, width);
			if (!strstr(buf_str(&seen), buf_str(&lines))) {
				buf_text(&seen, buf_str(&lines));
				buf_text(buf, "option of ");
				for (size_t k = i; commands[k]; k++)
					for (const struct option_spec *p = commands[k]->options; p->name; p++)
						if (!strcmp(p->name, name) && !strcmp(p->help, o->help)) {
							buf_printf(buf, "%s%s", first ? "" : ", ", commands[k]->name);
							first = false;
						}
				buf_printf(buf, ":\n%s", buf_str(&lines));
			}
			buf_done(&lines);
		}
	buf_done(&seen);
}

static void describe_event(struct buf *buf, const struct event_info *info)
{
	buf_printf(buf, "event %s: %s (from %s)\n", info->name, info->doc, info->source);
	for (unsigned i = 0; i < info->field_count; i++)
		if (strncmp(info->fields[i].name, "reserved", 8))
			buf_printf(buf, "  %-28s%s\n", info->fields[i].name, info->fields[i].doc);
	if (info->tail != FIELD_KINDS)
		buf_printf(buf, "  %-28s%s\n", "text", info->tail_doc);
}

static bool describe_mechanism(struct buf *buf, const char *word)
{
	for (unsigned i = 0; i < MECHANISM_COUNT; i++)
		if (mechanism_infos[i].name && !strcmp(mechanism_infos[i].name, word)) {
			buf_printf(buf, "edge %s: %s (confidence %u %%)\n", word, mechanism_infos[i].doc, mechanism_infos[i].confidence);
			return true;
		}
	return false;
}

/* A rule by which the diagnosis judges, as answers name them; or the one that a limit belongs to. */
static void describe_rule(struct buf *buf, const char *word)
{
	enum rule_id rule = rule_named(word);

	if (!rule)
		return;
	buf_printf(buf, "rule of the stage `%s`, and its limits (`argus rules` lists all):\n", rule_stage_name(rule_infos[rule].stage));
	rule_text(buf, rule);
	if (*rule_infos[rule].says)
		buf_printf(buf, "  An answer says of it: %s.\n", rule_infos[rule].says);
}

static bool describe_term(struct buf *buf, const char *word)
{
	for (const struct help_term *term = help_terms; term->name; term++) {
		bool same = !strcasecmp(term->name, word);

		for (unsigned i = 0; i < sizeof(term->others) / sizeof(term->others[0]) && term->others[i]; i++)
			same = same || !strcasecmp(term->others[i], word);
		if (same)
			buf_printf(buf, "%s: %s\n", term->name, term->meaning);
		if (same)
			return true;
	}
	return false;
}

/* The word stands in the text, whatever its case. */
static bool mentions(const char *text, const char *word)
{
	return text && strcasestr(text, word);
}

/* Commands, options and events whose texts hold the word. */
static void list_mentions(struct buf *buf, const char *word)
{
	for (size_t i = 0; commands[i]; i++) {
		if (mentions(commands[i]->summary, word) || mentions(commands[i]->help, word))
			buf_printf(buf, "  argus %-22s %s\n", commands[i]->name, commands[i]->summary);
		for (const struct option_spec *o = commands[i]->options; o->name; o++)
			if (mentions(o->name, word) || mentions(o->help, word)) {
				struct buf name;

				buf_init(&name);
				buf_printf(&name, "%s --%s", commands[i]->name, o->name);
				buf_printf(buf, "  argus %-22s %s\n", buf_str(&name), o->help);
				buf_done(&name);
			}
	}
	for (unsigned i = 0; i < EVENT_MAX; i++)
		if (event_infos[i].name && (mentions(event_infos[i].name, word) || mentions(event_infos[i].doc, word)))
			buf_printf(buf, "  event %-22s %s\n", event_infos[i].name, event_infos[i].doc);
}

static int refuse_word(const char *word, struct err *err)
{
	const char *name = word + strspn(word, "-");
	struct suggestion near = suggest_begin(name, strlen(name));

	for (size_t i = 0; commands[i]; i++) {
		suggest_offer(&near, commands[i]->name);
		for (const struct option_spec *o = commands[i]->options; o->name; o++)
			suggest_offer(&near, o->name);
	}
	for (unsigned i = 0; i < EVENT_MAX; i++)
		if (event_infos[i].name)
			suggest_offer(&near, event_infos[i].name);
	for (const struct help_term *term = help_terms; term->name; term++)
		suggest_offer(&near, term->name);
	for (unsigned i = 1; i < RULE_COUNT; i++)
		suggest_offer(&near, rule_infos[i].name);
	if (near.nearest)
		return err_set(err, -ENOENT, "nothing is called '%s'; did you mean %s?", word, near.nearest);
	return err_set(err, -ENOENT, "nothing is called '%s', and no help mentions it; `argus -h` lists the commands", word);
}

int help_word(struct buf *buf, const char *word, int width, struct err *err)
{
	const char *name = word + strspn(word, "-");
	const struct command *command = name == word ? command_find(word) : NULL;
	const struct event_info *event = event_info_find(word);

	if (command) {
		help_command(buf, command, width);
		return 0;
	}
	if (name == word)
		describe_term(buf, word);
	describe_option(buf, name, width);
	if (event)
		describe_event(buf, event);
	describe_mechanism(buf, word);
	describe_rule(buf, name);
	if (!buf->length && strlen(word) > 2) {
		list_mentions(buf, word);
		if (buf->length) {
			struct buf list = *buf;

			buf_init(buf);
			buf_printf(buf, "'%s' is mentioned with\n%s", word, buf_str(&list));
			buf_done(&list);
		}
	}
	return buf->length ? 0 : refuse_word(word, err);
}

/* ---- the tables themselves ---- */

static const char *kind_word(enum option_kind kind)
{
	switch (kind) {
	case OPTION_FLAG: return "flag";
	case OPTION_TEXT: return "text";
	case OPTION_NUMBER: return "number";
	case OPTION_BYTES: return "bytes";
	case OPTION_DURATION: return "duration";
	case OPTION_WORD: return "word";
	case OPTION_WORDS: return "words";
	}
	return "";
}

static void put_list(struct json *json, const char *key, const char *list)
{
	json_array(json, key);
	for (const char *at = list; at && *at;) {
		size_t length = strcspn(at, " ");

		json_text_length(json, NULL, at, length);
		at += length + (at[length] == ' ');
	}
	json_end(json);
}

static void put_option(struct json *json, const struct option_spec *o)
{
	json_object(json, NULL);
	json_text(json, "name", o->name);
	if (o->letter)
		json_text_length(json, "letter", &o->letter, 1);
	json_text(json, "kind", kind_word(o->kind));
	if (o->value)
		json_text(json, "value", o->value);
	if (o->choices)
		put_list(json, "choices", o->choices);
	json_text(json, "help", o->help);
	json_end(json);
}

static void put_rules(struct json *json, const struct option_rule *rules)
{
	json_array(json, "rules");
	for (const struct option_rule *rule = rules; rule && (rule->one_of || rule->option); rule++) {
		json_object(json, NULL);
		if (rule->one_of) {
			put_list(json, "one_of", rule->one_of);
		} else {
			json_text(json, "option", rule->option);
			put_list(json, "without", rule->without);
		}
		json_end(json);
	}
	json_end(json);
}

void help_json(struct buf *buf)
{
	struct json json;

	json_init(&json, buf);
	json.pretty = true;
	json_object(&json, NULL);
	json_u64(&json, "version", HELP_JSON_VERSION);
	json_text(&json, "argus", ARGUS_VERSION);
	json_array(&json, "commands");
	for (size_t i = 0; commands[i]; i++) {
		json_object(&json, NULL);
		json_text(&json, "name", commands[i]->name);
		json_text(&json, "arguments", commands[i]->arguments);
		json_text(&json, "summary", commands[i]->summary);
		if (commands[i]->help)
			json_text(&json, "help", commands[i]->help);
		json_array(&json, "options");
		for (const struct option_spec *o = commands[i]->options; o->name; o++)
			put_option(&json, o);
		put_option(&json, help_option);
		json_end(&json);
		put_rules(&json, commands[i]->rules);
		json_end(&json);
	}
	json_end(&json);
	json_array(&json, "words");
	for (const struct help_term *term = help_terms; term->name; term++) {
		json_object(&json, NULL);
		json_text(&json, "name", term->name);
		json_text(&json, "meaning", term->meaning);
		json_end(&json);
	}
	json_end(&json);
	json_end(&json);
	buf_char(buf, '\n');
}
