/* The path as a line, see line.h. */
#include "path/line.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

void line_begin(struct path_line *line, uint64_t from_ns, uint64_t to_ns, size_t cells)
{
	line_done(line);
	if (from_ns >= to_ns || !cells)
		return;
	line->from_ns = from_ns;
	line->cell_ns = (to_ns - from_ns + cells - 1) / cells;
	line->cell_count = (size_t)((to_ns - from_ns + line->cell_ns - 1) / line->cell_ns);
	line->cells = mem_zalloc(arena_array_bytes(sizeof(*line->cells), line->cell_count));
}

void line_done(struct path_line *line)
{
	free(line->cells);
	*line = (struct path_line){ 0 };
}

static void add_to(struct line_cell *cell, uint32_t row, uint64_t ns)
{
	unsigned least = 0;

	for (unsigned i = 0; i < LINE_ROWS; i++) {
		if (!cell->ns[i] || cell->rows[i] == row) {
			cell->rows[i] = row;
			cell->ns[i] += ns;
			return;
		}
		if (cell->ns[i] < cell->ns[least])
			least = i;
	}
	if (ns > cell->ns[least]) {
		cell->rows[least] = row;
		cell->ns[least] = ns;
	}
}

void line_add(struct path_line *line, uint32_t row, uint64_t start_ns, uint64_t end_ns)
{
	uint64_t limit = line->from_ns + line->cell_ns * line->cell_count;

	start_ns = start_ns > line->from_ns ? start_ns : line->from_ns;
	end_ns = end_ns < limit ? end_ns : limit;
	while (start_ns < end_ns) {
		size_t cell = (size_t)((start_ns - line->from_ns) / line->cell_ns);
		uint64_t until = line->from_ns + line->cell_ns * (cell + 1);

		until = until < end_ns ? until : end_ns;
		add_to(&line->cells[cell], row, until - start_ns);
		start_ns = until;
	}
}

void line_like(struct path_line *line, const struct path_line *other)
{
	line_done(line);
	*line = *other;
	if (other->cells)
		line->cells = mem_zalloc(arena_array_bytes(sizeof(*line->cells), line->cell_count));
}

void line_join(struct path_line *line, const struct path_line *part, const uint32_t *rows)
{
	for (size_t i = 0; i < part->cell_count; i++)
		for (unsigned k = 0; k < LINE_ROWS; k++)
			if (part->cells[i].ns[k])
				add_to(&line->cells[i], rows[part->cells[i].rows[k]], part->cells[i].ns[k]);
}

void line_renumber(struct path_line *line, const uint32_t *numbers)
{
	for (size_t i = 0; i < line->cell_count; i++)
		for (unsigned k = 0; k < LINE_ROWS; k++)
			if (line->cells[i].ns[k])
				line->cells[i].rows[k] = numbers[line->cells[i].rows[k]];
}

uint32_t line_row(const struct path_line *line, size_t cell)
{
	const struct line_cell *c = &line->cells[cell];
	unsigned most = 0;

	for (unsigned i = 1; i < LINE_ROWS; i++)
		if (c->ns[i] > c->ns[most])
			most = i;
	return c->ns[most] ? c->rows[most] : LINE_NOWHERE;
}
