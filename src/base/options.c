/* See options.h. */
#include "base/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "base/vec.h"

int parse_number(const char *text, uint64_t *ret_number)
{
	char *end;
	unsigned long long number;

	if (text[0] < '0' || text[0] > '9')
		return -EINVAL;
	errno = 0;
	number = strtoull(text, &end, text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10);
	if (errno || *end)
		return -EINVAL;
	*ret_number = number;
	return 0;
}

struct unit {
	const char *name;
	uint64_t factor;
};

/* A decimal number, perhaps with a fraction, and a unit of the list. */
static int parse_with_unit(const char *text, const struct unit *units, uint64_t *ret_value)
{
	char *end;
	double number;

	if ((text[0] < '0' || text[0] > '9') && text[0] != '.')
		return -EINVAL;
	errno = 0;
	number = strtod(text, &end);
	if (errno || end == text)
		return -EINVAL;
	for (; units->name; units++) {
		if (strcmp(units->name, end))
			continue;
		number *= (double)units->factor;
		if (!(number < 1.8e19))
			return -ERANGE;
		*ret_value = (uint64_t)number;
		return 0;
	}
	return -EINVAL;
}

int parse_bytes(const char *text, uint64_t *ret_bytes)
{
	static const struct unit units[] = {
		{ "", 1 }, { "k", 1u << 10 }, { "K", 1u << 10 }, { "M", 1u << 20 }, { "G", 1u << 30 },
		{ "T", 1ull << 40 }, { "kB", 1u << 10 }, { "MB", 1u << 20 }, { "GB", 1u << 30 }, { NULL, 0 }
	};

	return parse_with_unit(text, units, ret_bytes);
}

int parse_duration(const char *text, uint64_t *ret_ns)
{
	static const struct unit units[] = {
		{ "", 1000000000 }, { "s", 1000000000 }, { "ms", 1000000 }, { "us", 1000 }, { "ns", 1 },
		{ "m", 60000000000 }, { "min", 60000000000 }, { "h", 3600000000000 }, { NULL, 0 }
	};

	return parse_with_unit(text, units, ret_ns);
}

static const struct option_spec *find_long(const struct option_spec *specs, const char *name, size_t length)
{
	for (; specs->name; specs++)
		if (strlen(specs->name) == length && !memcmp(specs->name, name, length))
			return specs;
	return NULL;
}

static const struct option_spec *find_letter(const struct option_spec *specs, char letter)
{
	for (; specs->name; specs++)
		if (specs->letter == letter)
			return specs;
	return NULL;
}

static void describe_bound(struct buf *buf, enum option_kind kind, uint64_t value)
{
	static const struct unit bytes[] = { { "G", 1u << 30 }, { "M", 1u << 20 }, { "k", 1u << 10 }, { "", 1 } };
	static const struct unit durations[] = {
		{ "h", 3600000000000 }, { "m", 60000000000 }, { "s", 1000000000 }, { "ms", 1000000 }, { "us", 1000 }, { "ns", 1 }
	};
	const struct unit *unit = kind == OPTION_BYTES ? bytes : durations;

	if (kind != OPTION_BYTES && kind != OPTION_DURATION) {
		buf_printf(buf, "%" PRIu64, value);
		return;
	}
	while (value % unit->factor || (!value && unit->factor > 1))
		unit++;
	buf_printf(buf, "%" PRIu64 "%s", value / unit->factor, unit->name);
}

/* A value that would mean something else than it says is refused. */
static int check_bounds(const struct option_spec *spec, const struct option_value *value, struct err *err)
{
	struct buf buf;
	int r;

	if (value->number >= spec->least && (!spec->most || value->number <= spec->most))
		return 0;
	buf_init(&buf);
	if (spec->most) {
		buf_text(&buf, "from ");
		describe_bound(&buf, spec->kind, spec->least);
		buf_text(&buf, " to ");
		describe_bound(&buf, spec->kind, spec->most);
	} else {
		buf_text(&buf, "at least ");
		describe_bound(&buf, spec->kind, spec->least);
	}
	r = err_set(err, -EINVAL, "--%s takes %s, not '%s'", spec->name, buf_str(&buf), value->text);
	buf_done(&buf);
	return r;
}

/* The next name of a list, NULL behind the last; *at moves on. */
static const char *next_name(const char **at, char separator, size_t *ret_length)
{
	const char *name = *at, *end = strchrnul(name, separator);

	if (!*name)
		return NULL;
	*ret_length = (size_t)(end - name);
	*at = end + (*end != 0);
	return name;
}

static bool is_choice(const char *choices, const char *word, size_t length)
{
	const char *choice;
	size_t n;

	while ((choice = next_name(&choices, ' ', &n)))
		if (n == length && !memcmp(choice, word, length))
			return true;
	return false;
}

static int refuse_choice(const struct option_spec *spec, const char *text, struct err *err)
{
	const char *at = spec->choices, *choice;
	struct buf list;
	size_t n;
	int r;

	buf_init(&list);
	while ((choice = next_name(&at, ' ', &n)))
		buf_printf(&list, "%s%.*s", !list.length ? "" : *at ? ", " : " or ", (int)n, choice);
	r = err_set(err, -EINVAL, "--%s takes %s%s, not '%s'", spec->name, spec->kind == OPTION_WORDS ? "a list of " : "", buf_str(&list),
		    text);
	buf_done(&list);
	return r;
}

static int check_choice(const struct option_spec *spec, const char *text, struct err *err)
{
	const char *at = text, *word;
	size_t n;

	if (spec->kind == OPTION_WORD)
		return is_choice(spec->choices, text, strlen(text)) ? 0 : refuse_choice(spec, text, err);
	while ((word = next_name(&at, ',', &n)))
		if (!is_choice(spec->choices, word, n))
			return refuse_choice(spec, text, err);
	return 0;
}

static int take_value(const struct option_spec *spec, const char *text, struct option_value *ret_value, struct err *err)
{
	struct option_value value = { .spec = spec, .text = text };
	int r = 0;

	switch (spec->kind) {
	case OPTION_FLAG:
	case OPTION_TEXT:
		break;
	case OPTION_NUMBER:
		r = parse_number(text, &value.number);
		break;
	case OPTION_BYTES:
		r = parse_bytes(text, &value.number);
		break;
	case OPTION_DURATION:
		r = parse_duration(text, &value.number);
		break;
	case OPTION_WORD:
	case OPTION_WORDS:
		r = check_choice(spec, text, err);
		if (!r)
			*ret_value = value;
		return r;
	}
	if (r)
		return err_set(err, -EINVAL, "--%s takes %s, not '%s'", spec->name,
			       spec->kind == OPTION_BYTES      ? "a size such as 64M"
			       : spec->kind == OPTION_DURATION ? "a duration such as 500ms or 2s"
							       : "a number",
			       text);
	if (spec->kind != OPTION_FLAG && spec->kind != OPTION_TEXT)
		r = check_bounds(spec, &value, err);
	if (!r)
		*ret_value = value;
	return r;
}

/* `length`: of the name, without what follows the = */
static int refuse_unknown(const struct option_spec *specs, const char *word, size_t length, struct err *err)
{
	struct suggestion near = suggest_begin(word + 2, length);

	if (word[1] != '-')
		return err_set(err, -EINVAL, "unknown option '%s'", word);
	for (; specs->name; specs++)
		suggest_offer(&near, specs->name);
	return err_set(err, -EINVAL, "unknown option '%s'%s%s%s", word, near.nearest ? "; did you mean --" : "",
		       near.nearest ? near.nearest : "", near.nearest ? "?" : "");
}

int options_parse(struct arena *arena, const struct option_spec *specs, bool rest_is_command, int count,
		  char *const *words, struct options *ret_options, struct err *err)
{
	struct vec(struct option_value) values = { 0 };
	const char **arguments = arena_array(arena, const char *, (size_t)count + 1);
	size_t argument_count = 0;
	bool ended = false;
	int r = 0;

	for (int i = 0; i < count && !r; i++) {
		const char *word = words[i], *text = NULL;
		const struct option_spec *spec;
		struct option_value value;

		if (ended || word[0] != '-' || !word[1]) {
			arguments[argument_count++] = word;
			ended = ended || rest_is_command;
			continue;
		}
		if (!strcmp(word, "--")) {
			ended = true;
			continue;
		}
		/* Letters of flags may share a word: -aq */
		for (const char *letter = word + 1; !r && *letter; letter++) {
			if (word[1] == '-') {
				const char *equals = strchr(word + 2, '=');

				text = equals ? equals + 1 : NULL;
				spec = find_long(specs, word + 2, equals ? (size_t)(equals - word - 2) : strlen(word + 2));
			} else {
				spec = find_letter(specs, *letter);
			}
			if (!spec) {
				r = refuse_unknown(specs, word, word[1] == '-' ? strcspn(word + 2, "=") : 0, err);
				break;
			}
			if (spec->kind == OPTION_FLAG) {
				if (text)
					r = err_set(err, -EINVAL, "--%s takes no value", spec->name);
				else if (!(r = take_value(spec, "", &value, err)))
					vec_push(&values, value);
				if (word[1] == '-')
					break;
				continue;
			}
			if (!text && word[1] != '-' && letter[1])
				text = letter + 1;
			if (!text && i + 1 < count)
				text = words[++i];
			if (!text)
				r = err_set(err, -EINVAL, "--%s needs a value: %s", spec->name, spec->value);
			else if (!(r = take_value(spec, text, &value, err)))
				vec_push(&values, value);
			break;
		}
	}
	if (!r) {
		struct option_value *kept = arena_array(arena, struct option_value, values.length);

		if (values.length)
			memcpy(kept, values.items, values.length * sizeof(*kept));
		*ret_options = (struct options){ kept, values.length, arguments, argument_count };
	}
	vec_done(&values);
	return r;
}

static const struct option_value *find_value(const struct options *options, const char *name)
{
	for (size_t i = options->value_count; i-- > 0;)
		if (!strcmp(options->values[i].spec->name, name))
			return &options->values[i];
	return NULL;
}

/* The nth option given that is in the list, counted by name; NULL behind the last. */
static const char *given_of(const struct options *options, const char *list, size_t n)
{
	for (size_t length; *list; list += length + (list[length] == ' ')) {
		length = strcspn(list, " ");
		for (size_t i = 0; i < options->value_count; i++) {
			const char *name = options->values[i].spec->name;

			if (strlen(name) != length || strncmp(name, list, length))
				continue;
			if (!n--)
				return name;
			break;
		}
	}
	return NULL;
}

static int refuse_alone(const struct option_rule *rule, struct err *err)
{
	struct buf list;
	int r;

	buf_init(&list);
	for (const char *at = rule->without; *at; ) {
		size_t length = strcspn(at, " ");

		buf_printf(&list, "%s--%.*s", at == rule->without ? "" : at[length] ? ", " : " or ", (int)length, at);
		at += length + (at[length] == ' ');
	}
	r = err_set(err, -EINVAL, "--%s means nothing without %s", rule->option, buf_str(&list));
	buf_done(&list);
	return r;
}

int options_check(const struct options *options, const struct option_rule *rules, struct err *err)
{
	for (; rules && (rules->one_of || rules->option); rules++) {
		if (rules->one_of && given_of(options, rules->one_of, 1))
			return err_set(err, -EINVAL, "--%s and --%s exclude each other", given_of(options, rules->one_of, 0),
				       given_of(options, rules->one_of, 1));
		if (rules->option && options_has(options, rules->option) && !given_of(options, rules->without, 0))
			return refuse_alone(rules, err);
	}
	return 0;
}

bool options_has(const struct options *options, const char *name)
{
	return find_value(options, name) != NULL;
}

const char *options_text(const struct options *options, const char *name, const char *otherwise)
{
	const struct option_value *value = find_value(options, name);

	return value ? value->text : otherwise;
}

uint64_t options_number(const struct options *options, const char *name, uint64_t otherwise)
{
	const struct option_value *value = find_value(options, name);

	return value ? value->number : otherwise;
}

const char *options_nth(const struct options *options, const char *name, size_t n)
{
	for (size_t i = 0; i < options->value_count; i++)
		if (!strcmp(options->values[i].spec->name, name) && n-- == 0)
			return options->values[i].text;
	return NULL;
}

#define HELP_COLUMN 30
#define HELP_WIDTH 110 /* at most */
#define HELP_WIDTH_LEAST 60

/* Its words behind the column where help begins, in lines that fit. */
static void add_wrapped(struct buf *buf, const char *text, size_t width)
{
	size_t column = HELP_COLUMN;

	while (*text) {
		size_t length = strcspn(text, " ");

		if (column > HELP_COLUMN && column + length > width) {
			buf_printf(buf, "\n%*s", HELP_COLUMN, "");
			column = HELP_COLUMN;
		}
		buf_add(buf, text, length);
		text += length;
		column += length + 1;
		if (*text && column + strcspn(text + 1, " ") <= width)
			buf_char(buf, ' ');
		text += *text == ' ';
	}
	buf_char(buf, '\n');
}

void options_describe(struct buf *buf, const struct option_spec *specs, int width)
{
	if (!width || width > HELP_WIDTH)
		width = HELP_WIDTH;
	if (width < HELP_WIDTH_LEAST)
		width = HELP_WIDTH_LEAST;
	for (; specs->name; specs++) {
		size_t start = buf->length;

		if (specs->letter)
			buf_printf(buf, "  -%c, ", specs->letter);
		else
			buf_text(buf, "      ");
		buf_printf(buf, "--%s", specs->name);
		if (specs->value)
			buf_printf(buf, " %s", specs->value);
		while (buf->length - start < HELP_COLUMN - 2)
			buf_char(buf, ' ');
		buf_text(buf, "  ");
		add_wrapped(buf, specs->help, (size_t)width);
	}
}
