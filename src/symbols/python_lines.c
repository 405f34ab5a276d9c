#include "symbols/python_lines.h"

#include <stdbool.h>

#define LINES_MOST INT32_MAX
#define NO_LINE_STEP (-128)        /* in the table of 3.10 */
#define CODE_UNIT 2u               /* bytes of an instruction */

struct lines_reader {
	const uint8_t *at, *end;
	bool failed;
};

static uint8_t next_byte(struct lines_reader *r)
{
	if (r->at == r->end) {
		r->failed = true;
		return 0;
	}
	return *r->at++;
}

/* Six bits a byte, the lowest first. */
static uint32_t next_number(struct lines_reader *r)
{
	uint32_t value = 0;
	for (unsigned shift = 0; shift < 32; shift += 6) {
		uint8_t byte = next_byte(r);
		value |= (uint32_t)(byte & 63) << shift;
		if (!(byte & 64))
			return value;
	}
	r->failed = true;
	return 0;
}

static int64_t next_signed(struct lines_reader *r)
{
	uint32_t value = next_number(r);
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static uint32_t line_of(int64_t line)
{
	return line > 0 && line <= LINES_MOST ? (uint32_t)line : 0;
}

/* What an entry says of the line; false: there is none. */
static bool location_line(struct lines_reader *r, unsigned kind, int64_t *line)
{
	enum { ONE_LINE = 10, NO_COLUMNS = 13, LONG = 14, NONE = 15 };

	if (kind < ONE_LINE) {
		next_byte(r);
	} else if (kind < NO_COLUMNS) {
		*line += kind - ONE_LINE;
		next_byte(r);
		next_byte(r);
	} else if (kind == NO_COLUMNS) {
		*line += next_signed(r);
	} else if (kind == LONG) {
		*line += next_signed(r);
		for (int i = 0; i < 3; i++)
			next_number(r);
	}
	return kind != NONE;
}

static uint32_t find_location(struct lines_reader *r, int64_t line, uint64_t offset)
{
	for (uint64_t at = 0; r->at < r->end && !r->failed;) {
		uint8_t head = next_byte(r);
		bool has_line = location_line(r, head >> 3 & 15, &line);
		at += ((head & 7) + 1u) * CODE_UNIT;
		if (offset < at)
			return has_line && !r->failed && head & 128 ? line_of(line) : 0;
	}
	return 0;
}

static uint32_t find_range(struct lines_reader *r, int64_t line, uint64_t offset)
{
	for (uint64_t at = 0; r->end - r->at >= 2;) {
		uint8_t bytes = next_byte(r);
		int8_t step = (int8_t)next_byte(r);
		at += bytes;
		if (step != NO_LINE_STEP)
			line += step;
		if (offset < at)
			return step == NO_LINE_STEP ? 0 : line_of(line);
	}
	return 0;
}

static uint32_t find_step(struct lines_reader *r, int64_t line, uint64_t offset)
{
	for (uint64_t at = 0; r->end - r->at >= 2;) {
		at += next_byte(r);
		int8_t step = (int8_t)next_byte(r);
		if (at > offset)
			break;
		line += step;
	}
	return line_of(line);
}

uint32_t python_lines_find(enum python_lines_form form, const void *table, size_t bytes, uint32_t first_line, uint64_t offset)
{
	struct lines_reader r = { .at = table, .end = (const uint8_t *)table + bytes };

	switch (form) {
	case PYTHON_LINES_STEPS:
		return find_step(&r, first_line, offset);
	case PYTHON_LINES_RANGES:
		return find_range(&r, first_line, offset);
	case PYTHON_LINES_LOCATIONS:
		return find_location(&r, first_line, offset);
	case PYTHON_LINES_FIRST:
		return line_of(first_line);
	case PYTHON_LINES_NONE:
		return offset <= LINES_MOST ? (uint32_t)offset : 0;
	}
	return 0;
}
