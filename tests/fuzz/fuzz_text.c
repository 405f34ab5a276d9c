/* The text form's parser on arbitrary bytes; what it takes must go round. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "trace/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct check {
	struct text_target target;
	const struct event *want;  /* NULL: the first time round */
};

static int look(struct text_target *target, const struct event *e, struct err *err)
{
	struct check *check = (struct check *)target, again = { { look }, e };
	struct text_parser *parser;
	struct buf line;

	(void)err;
	if (check->want) {
		if (e->time != check->want->time || e->tid != check->want->tid || e->cpu != check->want->cpu ||
		    e->type != check->want->type || e->tail_length != check->want->tail_length ||
		    memcmp(e->tail, check->want->tail, e->tail_length) ||
		    (e->data && memcmp(e->data, check->want->data, event_infos[e->type].bytes)))
			abort();
		return 0;
	}
	buf_init(&line);
	text_format(&line, e);
	parser = text_parser_new(&again.target);
	if (text_parser_line(parser, line.data, line.length - 1, NULL))
		abort();
	text_parser_free(parser);
	buf_done(&line);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct check check = { { look }, NULL };
	struct text_parser *parser = text_parser_new(&check.target);
	const char *at = (const char *)data, *end = at + size;
	struct err err;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		text_parser_line(parser, at, (size_t)((newline ? newline : end) - at), &err);
		at = newline ? newline + 1 : end;
	}
	text_parser_end(parser, &err);
	text_parser_free(parser);
	return 0;
}
