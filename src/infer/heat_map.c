/* See heat_map.h. */
#include "infer/heat_map.h"

#include <math.h>
#include <string.h>

#include "infer/svg.h"

#define CELL 22
#define MAX_COLUMNS 160
#define LABEL_COLUMNS 48

struct rows {
	struct arena arena;
	uint32_t **nodes, *counts, columns;
	double low, high;    /* powers of ten of the least and the most time */
};

static double power(int64_t ns)
{
	return ns > 0 ? log10((double)ns) : 0;
}

static void rows_make(struct rows *rows, const struct report *report)
{
	bool any = false;

	*rows = (struct rows){ 0 };
	arena_init(&rows->arena);
	rows->nodes = arena_array(&rows->arena, uint32_t *, report->path_count + 1);
	rows->counts = arena_array(&rows->arena, uint32_t, report->path_count + 1);
	for (size_t r = 0; r < report->path_count; r++) {
		rows->nodes[r] = profile_path(&rows->arena, report->profile, report->paths[r].node, &rows->counts[r]);
		if (rows->counts[r] > rows->columns)
			rows->columns = rows->counts[r];
		for (uint32_t i = 0; i < rows->counts[r]; i++) {
			double p = power(report->weights[rows->nodes[r][i]]);

			if (p <= 0)
				continue;
			if (!any || p < rows->low)
				rows->low = p;
			if (!any || p > rows->high)
				rows->high = p;
			any = true;
		}
	}
	/* Five powers of ten are what colours can tell apart. */
	if (rows->low < rows->high - 5)
		rows->low = rows->high - 5;
}

/* 0 cold to 1 hot; below 0: no time at all. */
static double heat(const struct rows *rows, int64_t ns)
{
	double p = power(ns);

	if (p <= 0)
		return -1;
	if (rows->high <= rows->low)
		return 1;
	p = (p - rows->low) / (rows->high - rows->low);
	return p < 0 ? 0 : p;
}

/* White by yellow to red. */
static void heat_colour(double heat, int rgb[3])
{
	if (heat < 0) {
		rgb[0] = rgb[1] = rgb[2] = 245;
		return;
	}
	rgb[0] = heat < .5 ? 255 : (int)(255 - (heat - .5) * 90);
	rgb[1] = (int)(heat < .5 ? 250 - heat * 180 : 160 - (heat - .5) * 300);
	rgb[2] = (int)(heat < .5 ? 200 - heat * 340 : 30 - (heat - .5) * 40);
	if (rgb[1] < 0)
		rgb[1] = 0;
	if (rgb[2] < 0)
		rgb[2] = 0;
}

static uint32_t depth_of(const struct report *report, uint32_t node)
{
	return report->profile->contexts.nodes.items[node].depth;
}

/* Long paths show their inner end: the outermost frames differ the least. */
static uint32_t first_column(const struct rows *rows, size_t row, uint32_t max)
{
	return rows->counts[row] > max ? rows->counts[row] - max : 0;
}

static void svg_cell(struct buf *buf, const struct report *report, const struct rows *rows, size_t r, uint32_t i,
		     uint32_t look_at, double x, double y)
{
	uint32_t node = rows->nodes[r][i];
	const struct function *f = profile_function(report->profile, node);
	int far = (int)depth_of(report, node) - (int)depth_of(report, report->paths[r].hot), rgb[3];

	heat_colour(heat(rows, report->weights[node]), rgb);
	buf_printf(buf, "<g><title>");
	svg_text(buf, f->name);
	buf_text(buf, " (");
	svg_text(buf, report_module(f));
	buf_text(buf, ") ");
	report_duration(buf, report->weights[node]);
	buf_printf(buf, "</title><rect x=\"%.0f\" y=\"%.0f\" width=\"%d\" height=\"%d\" fill=\"#%02x%02x%02x\" stroke=\"#ccc\"/>",
		   x, y, CELL, CELL, rgb[0], rgb[1], rgb[2]);
	if (node == look_at)
		buf_printf(buf, "<circle cx=\"%.0f\" cy=\"%.0f\" r=\"%.1f\" fill=\"none\" stroke=\"#036\" stroke-width=\"2\"/>",
			   x + CELL / 2., y + CELL / 2., CELL / 2. - 1.5);
	buf_printf(buf, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\" font-size=\"9\">%d</text></g>\n", x + CELL / 2.,
		   y + CELL / 2. + 3, far < 0 ? -far : far);
}

void heat_map_svg(struct buf *buf, const struct report *report, const char *title)
{
	struct rows rows;
	uint32_t columns;

	rows_make(&rows, report);
	columns = rows.columns < MAX_COLUMNS ? rows.columns : MAX_COLUMNS;
	svg_begin(buf, 90 + columns * CELL + 460, 70 + (double)report->path_count * CELL + 40);
	buf_text(buf, "<text x=\"10\" y=\"22\" font-size=\"15\">");
	svg_text(buf, title);
	buf_text(buf, "</text>\n<text x=\"10\" y=\"42\" fill=\"#555\">one row a path, the costliest on top; outermost frame "
		      "left; 0 the hottest frame, ringed the one to look at</text>\n");
	for (size_t r = 0; r < report->path_count; r++) {
		double y = 60 + (double)r * CELL;
		uint32_t look_at, skip = first_column(&rows, r, columns);
		const struct function *f;

		report_path_internal(report, &report->paths[r], &look_at);
		buf_printf(buf, "<text x=\"80\" y=\"%.0f\" text-anchor=\"end\">", y + 15);
		report_duration(buf, report->paths[r].new_ns);
		buf_text(buf, "</text>\n");
		for (uint32_t i = skip; i < rows.counts[r]; i++)
			svg_cell(buf, report, &rows, r, i, look_at, 90 + (double)(i - skip) * CELL, y);
		f = profile_function(report->profile, look_at);
		buf_printf(buf, "<text x=\"%.0f\" y=\"%.0f\">", 96 + (double)(rows.counts[r] - skip) * CELL, y + 15);
		svg_text(buf, report_brief(&rows.arena, f->name, LABEL_COLUMNS));
		buf_text(buf, ", ");
		svg_text(buf, report_module(f));
		buf_text(buf, "</text>\n");
	}
	/* The scale. */
	for (int i = 0; i <= 10; i++) {
		int rgb[3];

		heat_colour(i / 10., rgb);
		buf_printf(buf, "<rect x=\"%d\" y=\"%.0f\" width=\"24\" height=\"10\" fill=\"#%02x%02x%02x\"/>\n", 90 + i * 24,
			   70 + (double)report->path_count * CELL, rgb[0], rgb[1], rgb[2]);
	}
	buf_printf(buf, "<text x=\"80\" y=\"%.0f\" text-anchor=\"end\">", 80 + (double)report->path_count * CELL);
	report_duration(buf, (int64_t)pow(10, rows.low));
	buf_printf(buf, "</text><text x=\"362\" y=\"%.0f\">", 80 + (double)report->path_count * CELL);
	report_duration(buf, (int64_t)pow(10, rows.high));
	buf_text(buf, "</text>\n");
	svg_end(buf);
	arena_done(&rows.arena);
}

static void text_cell(struct buf *buf, double heat, int64_t ns, char mark, bool colour)
{
	/* From a terminal's 256 colours: grey, then yellow to red. */
	static const int shades[] = { 230, 228, 226, 220, 214, 208, 202, 196, 160 };
	char digit = ns > 0 ? (char)('0' + (int)power(ns) % 10) : '.';

	if (colour)
		buf_printf(buf, "\033[48;5;%dm\033[30m%c\033[0m", heat < 0 ? 255 : shades[(int)(heat * 8)],
			   mark != ' ' ? mark : heat < 0 ? ' ' : digit);
	else
		buf_char(buf, mark != ' ' ? mark : digit);
}

static void put_text(struct buf *buf, const char *text)
{
	buf_escaped(buf, text, strlen(text), NULL);
}

void heat_map_text(struct buf *buf, const struct report *report, bool colour, int width)
{
	uint32_t columns, room = width > 60 ? (uint32_t)width - 50 : 60;
	struct rows rows;

	rows_make(&rows, report);
	columns = rows.columns < room ? rows.columns : room;
	buf_text(buf, "one row a path, one column a frame, outermost left; a digit is the power of ten of its own "
		      "nanoseconds,\n* the hottest frame, @ the one to look at when that is another\n");
	for (size_t r = 0; r < report->path_count; r++) {
		uint32_t look_at, skip = first_column(&rows, r, columns);
		const struct function *f;
		size_t before = buf->length;

		report_path_internal(report, &report->paths[r], &look_at);
		report_duration(buf, report->paths[r].new_ns);
		while (buf->length - before < 12)
			buf_char(buf, ' ');
		for (uint32_t i = skip; i < rows.counts[r]; i++) {
			uint32_t node = rows.nodes[r][i];

			text_cell(buf, heat(&rows, report->weights[node]), report->weights[node],
				  node == report->paths[r].hot ? '*' : node == look_at ? '@' : ' ', colour);
		}
		for (uint32_t i = rows.counts[r] - skip; i < columns; i++)
			buf_char(buf, ' ');
		f = profile_function(report->profile, look_at);
		buf_text(buf, "  ");
		put_text(buf, report_brief(&rows.arena, f->name, 0));
		buf_text(buf, ", ");
		put_text(buf, report_module(f));
		buf_char(buf, '\n');
	}
	arena_done(&rows.arena);
}
