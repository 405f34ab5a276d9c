/* See text_import.h. Events are kept in a window and written in the order of
 * time, the earlier half of the window at once. */
#include "trace/text_import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "trace/text.h"

struct kept {
	uint64_t time_ns;
	uint64_t place;        /* among all lines: equal times stay in order */
	struct event e;        /* its data and tail are malloc'ed in one piece */
};

struct importer {
	struct text_target target;
	struct writer *writer;
	struct vec(struct kept) window;
	uint64_t places;
	uint64_t written_ns;   /* time of the last event written */
};

static int by_time(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* Writes the first `count` of the sorted window. */
static int write_events(struct importer *importer, size_t count, struct err *err)
{
	int status = 0;
	size_t done;

	for (done = 0; done < count && !status; done++) {
		struct kept *kept = &importer->window.items[done];

		status = writer_add_event(importer->writer, &kept->e, err);
		importer->written_ns = kept->time_ns;
		free((void *)kept->e.data);
	}
	if (!done)
		return status;
	memmove(importer->window.items, importer->window.items + done,
		(importer->window.length - done) * sizeof(importer->window.items[0]));
	importer->window.length -= done;
	return status;
}

static int keep_event(struct text_target *target, const struct event *e, struct err *err)
{
	struct importer *importer = (struct importer *)target;
	size_t bytes = event_infos[e->type].bytes;
	struct kept kept = { e->time, importer->places++, *e };
	char *copy;

	if (e->time < importer->written_ns)
		return err_set(err, -EINVAL, "this line is more than %u lines out of the order of time", TEXT_IMPORT_WINDOW / 2);
	copy = mem_alloc(bytes + e->tail_length + 1);
	if (bytes)
		memcpy(copy, e->data, bytes);
	memcpy(copy + bytes, e->tail, e->tail_length);
	kept.e.data = copy;
	kept.e.tail = copy + bytes;
	vec_push(&importer->window, kept);
	if (importer->window.length < TEXT_IMPORT_WINDOW)
		return 0;
	qsort(importer->window.items, importer->window.length, sizeof(kept), by_time);
	return write_events(importer, importer->window.length / 2, err);
}

static int import_lines(FILE *text, const char *name, struct text_parser *parser, struct err *err)
{
	char *line = NULL;
	size_t room = 0, number = 0;
	ssize_t length;
	int status = 0;

	while (!status && (length = getline(&line, &room, text)) >= 0) {
		number++;
		while (length && (line[length - 1] == '\n' || line[length - 1] == '\r'))
			length--;
		status = text_parser_line(parser, line, (size_t)length, err);
	}
	if (status)
		err_prefix(err, "%s, line %zu", name, number);
	else if (ferror(text))
		status = err_sys(err, -EIO, "reading '%s'", name);
	else
		status = text_parser_end(parser, err);
	free(line);
	return status;
}

int text_import(FILE *text, const char *name, struct writer *writer, struct err *err)
{
	struct importer importer = { .target = { keep_event }, .writer = writer };
	struct text_parser *parser = text_parser_new(&importer.target);
	int status = import_lines(text, name, parser, err);

	if (!status) {
		if (importer.window.length)
			qsort(importer.window.items, importer.window.length, sizeof(struct kept), by_time);
		status = write_events(&importer, importer.window.length, err);
	}
	if (!status && !importer.places)
		status = err_set(err, -ENODATA, "%s holds no events", name);
	for (size_t i = 0; i < importer.window.length; i++)
		free((void *)importer.window.items[i].e.data);
	vec_done(&importer.window);
	text_parser_free(parser);
	return status;
}
