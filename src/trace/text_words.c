/* See text_words.h; and the values of fields. */
#include "trace/text_words.h"

#include <errno.h>
#include <string.h>

#include "trace/names.h"
#include "trace/text.h"

bool word_is(struct word word, const char *text)
{
	return strlen(text) == word.length && !memcmp(word.text, text, word.length);
}

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

void word_skip_blanks(struct word *rest)
{
	while (rest->length && blank(rest->text[0])) {
		rest->text++;
		rest->length--;
	}
}

struct word word_take(struct word *rest)
{
	struct word word;

	word_skip_blanks(rest);
	word = (struct word){ rest->text, 0 };
	if (rest->length && rest->text[0] == '#')
		return word;
	while (word.length < rest->length && !blank(rest->text[word.length]))
		word.length++;
	rest->text += word.length;
	rest->length -= word.length;
	return word;
}

int word_hex(struct word word, uint64_t *ret_number)
{
	uint64_t number = 0;

	if (!word.length)
		return -EINVAL;
	for (size_t i = 0; i < word.length; i++) {
		char c = word.text[i];
		unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0') : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 :
				 c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10 : 16;

		if (digit == 16)
			return -EINVAL;
		if (number >> 60)
			return -ERANGE;
		number = number << 4 | digit;
	}
	*ret_number = number;
	return 0;
}

static int word_decimal(struct word word, uint64_t *ret_number)
{
	uint64_t number = 0;

	if (!word.length)
		return -EINVAL;
	for (size_t i = 0; i < word.length; i++) {
		if (word.text[i] < '0' || word.text[i] > '9')
			return -EINVAL;
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(word.text[i] - '0'), &number))
			return -ERANGE;
	}
	*ret_number = number;
	return 0;
}

int word_number(struct word word, uint64_t *ret_number)
{
	if (word.length > 2 && word.text[0] == '0' && word.text[1] == 'x')
		return word_hex((struct word){ word.text + 2, word.length - 2 }, ret_number);
	return word_decimal(word, ret_number);
}

int word_time(struct word word, uint64_t *ret_ns)
{
	static const struct { const char *name; uint64_t ns; } units[] = {
		{ "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 }, { "", 1000000000 }
	};
	size_t digits = 0, whole;
	uint64_t unit = 0, ns = 0;
	int status;

	while (digits < word.length && ((word.text[digits] >= '0' && word.text[digits] <= '9') || word.text[digits] == '.'))
		digits++;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]) && !unit; i++)
		if (word_is((struct word){ word.text + digits, word.length - digits }, units[i].name))
			unit = units[i].ns;
	if (!unit || !digits)
		return -EINVAL;
	for (whole = 0; whole < digits && word.text[whole] != '.'; whole++)
		;
	status = word_decimal((struct word){ word.text, whole }, &ns);
	if (status)
		return status;
	if (__builtin_mul_overflow(ns, unit, &ns))
		return -ERANGE;
	if (whole < digits && whole + 1 == digits)
		return -EINVAL;
	for (size_t i = whole + 1; i < digits; i++) {
		if (word.text[i] == '.')
			return -EINVAL;
		if (unit == 1 && word.text[i] != '0')
			return -EINVAL; /* below a nanosecond */
		unit /= unit > 1 ? 10 : 1;
		if (__builtin_add_overflow(ns, (uint64_t)(word.text[i] - '0') * unit, &ns))
			return -ERANGE;
	}
	*ret_ns = ns;
	return 0;
}

static int parse_signed(struct word word, uint64_t *ret_value)
{
	bool negative = word.length && word.text[0] == '-';
	uint64_t number;
	int status = word_number((struct word){ word.text + negative, word.length - negative }, &number);

	if (status)
		return status;
	if (number > (uint64_t)INT64_MAX + negative)
		return -ERANGE;
	*ret_value = negative ? 0 - number : number;
	return 0;
}

static int parse_flags(enum field_kind kind, struct word word, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (;;) {
		const char *bar = memchr(word.text, '|', word.length);
		struct word one = { word.text, bar ? (size_t)(bar - word.text) : word.length };
		uint64_t bit;

		if (kind_value_find(kind, one.text, one.length, &bit) && word_number(one, &bit))
			return -ENOENT;
		value |= bit;
		if (!bar)
			break;
		word = (struct word){ bar + 1, word.length - one.length - 1 };
	}
	*ret_value = value;
	return 0;
}

static int parse_object_value(struct word word, uint64_t *ret_value)
{
	const char *colon = memchr(word.text, ':', word.length);
	uint64_t kind, number;

	if (!colon)
		return word_number(word, ret_value);
	if (kind_value_find(FIELD_OBJECT_KIND, word.text, (size_t)(colon - word.text), &kind))
		return -ENOENT;
	if (word_hex((struct word){ colon + 1, word.length - (size_t)(colon + 1 - word.text) }, &number) ||
	    number >> OBJECT_KIND_SHIFT)
		return -EINVAL;
	*ret_value = kind << OBJECT_KIND_SHIFT | number;
	return 0;
}

static int parse_device(struct word word, uint64_t *ret_value)
{
	const char *colon = memchr(word.text, ':', word.length);
	uint64_t major, minor;

	if (!colon)
		return word_number(word, ret_value);
	if (word_decimal((struct word){ word.text, (size_t)(colon - word.text) }, &major) ||
	    word_decimal((struct word){ colon + 1, word.length - (size_t)(colon + 1 - word.text) }, &minor))
		return -EINVAL;
	if (major > 0xfff || minor > 0xfffff)
		return -ERANGE;
	*ret_value = major << 20 | minor;
	return 0;
}

static int parse_syscall(struct word word, uint64_t *ret_value)
{
	int number = syscall_find(word.text, word.length);

	if (word_is(word, "none"))
		*ret_value = SYSCALL_NONE;
	else if (number >= 0)
		*ret_value = (uint64_t)number;
	else
		return word_number(word, ret_value) ? -ENOENT : 0;
	return 0;
}

static int parse_signal(struct word word, uint64_t *ret_value)
{
	int number = signal_find(word.text, word.length);

	if (number < 0)
		return word_number(word, ret_value) ? -ENOENT : 0;
	*ret_value = (uint64_t)number;
	return 0;
}

int text_parse_value(enum field_kind kind, const char *text, size_t length, uint64_t *ret_value)
{
	struct word word = { text, length };

	/* What the switch leaves is a plain number or a list of names. */
	switch ((int)kind) {
	case FIELD_I32:
	case FIELD_I64:
		return parse_signed(word, ret_value);
	case FIELD_TIME:
	case FIELD_DURATION:
		return word_time(word, ret_value);
	case FIELD_OBJECT:
		return parse_object_value(word, ret_value);
	case FIELD_SYSCALL:
		return parse_syscall(word, ret_value);
	case FIELD_SIGNAL:
		return parse_signal(word, ret_value);
	case FIELD_DEVICE:
		return parse_device(word, ret_value);
	}
	if (kind < FIELD_TEXT)
		return word_number(word, ret_value);
	if (kind_is_flags(kind))
		return parse_flags(kind, word, ret_value);
	if (!kind_value_find(kind, text, length, ret_value))
		return 0;
	return word_number(word, ret_value) ? -ENOENT : 0;
}
