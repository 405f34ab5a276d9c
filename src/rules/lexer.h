/* Words of the rule language, with their places. */
#ifndef RULES_LEXER_H
#define RULES_LEXER_H

#include <stddef.h>
#include <stdint.h>

enum token_kind { TOKEN_end, TOKEN_name, TOKEN_number, TOKEN_text, TOKEN_sign, TOKEN_bad };

struct token {
	enum token_kind kind;
	const char *start;      /* in the source; of texts without the quotes */
	size_t length;
	uint64_t number;
	uint32_t line, column;  /* from 1 */
	const char *problem;    /* of a bad one */
};

struct lexer {
	const char *at, *end;
	uint32_t line;
	const char *line_start;
};

void lexer_init(struct lexer *lexer, const char *text, size_t length);
struct token lexer_next(struct lexer *lexer);

#endif
