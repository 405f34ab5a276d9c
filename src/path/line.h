/* The path as a line: in which row of the fold it was when, as far as a picture can show. */
#ifndef PATH_LINE_H
#define PATH_LINE_H

#include <stddef.h>
#include <stdint.h>

#define LINE_ROWS 6            /* of a cell that are counted */
#define LINE_NOWHERE UINT32_MAX

struct line_cell {
	uint32_t rows[LINE_ROWS];
	uint64_t ns[LINE_ROWS];   /* 0: unused */
};

struct path_line {
	struct line_cell *cells;  /* stretches of equal length; NULL: no picture is asked for */
	size_t cell_count;
	uint64_t from_ns, cell_ns;
};

void line_begin(struct path_line *line, uint64_t from_ns, uint64_t to_ns, size_t cells);
void line_done(struct path_line *line);
void line_add(struct path_line *line, uint32_t row, uint64_t start_ns, uint64_t end_ns);
/* The same stretch of time with no row in it yet. */
void line_like(struct path_line *line, const struct path_line *other);
/* What a part of the path has in the same cells; rows[its number] here. */
void line_join(struct path_line *line, const struct path_line *part, const uint32_t *rows);
/* Rows have other numbers now: numbers[old]. */
void line_renumber(struct path_line *line, const uint32_t *numbers);
/* The row that had most of the cell, LINE_NOWHERE none. */
uint32_t line_row(const struct path_line *line, size_t cell);

#endif
