/* See lexer.h. Comments run from # to the end of the line. */
#include "rules/lexer.h"

#include <ctype.h>
#include <string.h>

void lexer_init(struct lexer *lexer, const char *text, size_t length)
{
	lexer->at = lexer->line_start = text;
	lexer->end = text + length;
	lexer->line = 1;
}

static int is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static void skip_blank(struct lexer *lexer)
{
	while (lexer->at < lexer->end) {
		if (*lexer->at == '\n') {
			lexer->line++;
			lexer->line_start = ++lexer->at;
		} else if (isspace((unsigned char)*lexer->at)) {
			lexer->at++;
		} else if (*lexer->at == '#') {
			while (lexer->at < lexer->end && *lexer->at != '\n')
				lexer->at++;
		} else {
			break;
		}
	}
}

static struct token bad(struct token token, const char *problem)
{
	token.kind = TOKEN_bad;
	token.problem = problem;
	return token;
}

static struct token read_number(struct lexer *lexer, struct token token)
{
	static const struct { const char *unit; uint64_t factor; } units[] = {
		{ "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 },
	};
	unsigned base = 10;
	const char *at = lexer->at, *unit;

	if (lexer->end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) {
		base = 16;
		at += 2;
	}
	while (at < lexer->end && (base == 16 ? isxdigit((unsigned char)*at) : isdigit((unsigned char)*at))) {
		unsigned digit = isdigit((unsigned char)*at) ? (unsigned)(*at - '0') : (unsigned)(tolower(*at) - 'a' + 10);

		if (token.number > (UINT64_MAX - digit) / base)
			return bad(token, "number too large");
		token.number = token.number * base + digit;
		at++;
	}
	unit = at;
	while (at < lexer->end && is_name(*at))
		at++;
	lexer->at = at;
	token.kind = TOKEN_number;
	token.length = (size_t)(at - token.start);
	if (unit == at)
		return token;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if ((size_t)(at - unit) == strlen(units[i].unit) && !memcmp(unit, units[i].unit, (size_t)(at - unit))) {
			if (token.number > UINT64_MAX / units[i].factor)
				return bad(token, "number too large");
			token.number *= units[i].factor;
			return token;
		}
	return bad(token, "unknown unit of a number (ns, us, ms, s)");
}

static struct token read_text(struct lexer *lexer, struct token token)
{
	const char *at = ++lexer->at;

	while (at < lexer->end && *at != '"' && *at != '\n')
		at++;
	token.start = lexer->at;
	token.length = (size_t)(at - lexer->at);
	token.kind = TOKEN_text;
	if (at == lexer->end || *at == '\n') {
		lexer->at = at;
		return bad(token, "text without closing quote");
	}
	lexer->at = at + 1;
	if (memchr(token.start, 0, token.length))
		return bad(token, "text with a NUL byte");
	return token;
}

struct token lexer_next(struct lexer *lexer)
{
	static const char *const signs[] = { "->", "==", "!=", "<=", ">=", "<", ">", "~", "(", ")", ",", ";", ".", "-" };
	struct token token = { 0 };

	skip_blank(lexer);
	token.start = lexer->at;
	token.line = lexer->line;
	token.column = (uint32_t)(lexer->at - lexer->line_start) + 1;
	if (lexer->at == lexer->end)
		return token;
	if (isdigit((unsigned char)*lexer->at))
		return read_number(lexer, token);
	if (*lexer->at == '"')
		return read_text(lexer, token);
	if (is_name(*lexer->at)) {
		/* A hyphen belongs to a name when another letter follows. */
		while (lexer->at < lexer->end &&
		       (is_name(*lexer->at) ||
			(*lexer->at == '-' && lexer->end - lexer->at > 1 && is_name(lexer->at[1]))))
			lexer->at++;
		token.kind = TOKEN_name;
		token.length = (size_t)(lexer->at - token.start);
		return token;
	}
	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		size_t length = strlen(signs[i]);

		if ((size_t)(lexer->end - lexer->at) >= length && !memcmp(lexer->at, signs[i], length)) {
			lexer->at += length;
			token.kind = TOKEN_sign;
			token.length = length;
			return token;
		}
	}
	token.length = 1;
	lexer->at++;
	return bad(token, "unexpected character");
}
