/* Two folds beside each other, see path_compared.h. */
#include "session/path_compared.h"

#include "path/report.h"

static const struct fold *fold_of(const struct tails *t, const struct tail_line *line)
{
	return line->slow ? &t->slow : &t->middle;
}

static const struct fold_row *row_of(const struct tail_line *line)
{
	return line->slow ? line->slow : line->middle;
}

void path_compared_text(const struct tails *t, size_t most, struct buf *buf)
{
	for (size_t i = 0; i < t->lines.length && i < most; i++) {
		const struct tail_line *line = &t->lines.items[i];
		const struct fold *fold = fold_of(t, line);

		report_path_time_wide((uint64_t)line->slow_ns, buf);
		buf_text(buf, " ");
		report_path_time_wide((uint64_t)line->middle_ns, buf);
		buf_text(buf, "  ");
		report_path_row_words(fold, row_of(line), buf);
		buf_text(buf, ": ");
		report_path_doings(fold, row_of(line), buf);
		buf_char(buf, '\n');
	}
}

void path_compared_json(const struct tails *t, const char *name, const char *first, const char *second, struct json *json)
{
	json_array(json, name);
	for (size_t i = 0; i < t->lines.length; i++) {
		const struct tail_line *line = &t->lines.items[i];
		const struct fold *fold = fold_of(t, line);
		const struct fold_row *row = row_of(line);

		json_object(json, NULL);
		json_text(json, "lock", row->lock ? texts_get(&fold->texts, row->lock) : NULL);
		json_text(json, "program", texts_get(&fold->texts, row->who.program));
		json_text(json, "thread", texts_get(&fold->texts, row->who.thread));
		json_text(json, "function", row->function ? texts_get(&fold->texts, row->function) : NULL);
		json_text(json, "what", row->doings.length ? texts_get(&fold->texts, row->doings.items[0].what) : NULL);
		json_u64(json, first, (uint64_t)line->slow_ns);
		json_u64(json, second, (uint64_t)line->middle_ns);
		json_end(json);
	}
	json_end(json);
}
