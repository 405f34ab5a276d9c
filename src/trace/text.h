/* The text form of a trace: one event a line, lossless both ways, fit to be
 * written by hand. docs/format.md describes it.
 *
 *	12.000000100 [0] 1234 switch next=0 state=sleeping wait=futex object=futex:7f00a0 syscall=futex
 */
#ifndef TRACE_TEXT_H
#define TRACE_TEXT_H

#include "base/buf.h"
#include "base/err.h"
#include "trace/event.h"

/* Appends the event's line, with its newline. */
void text_format(struct buf *buf, const struct event *e);
/* Appends a line to read rather than to import: number, time, processor, name
 * and number of the thread, event, fields. */
void text_format_line(struct buf *buf, const struct event *e, const char *comm);
/* Appends the event's fields that are not at their defaults and its tail, each behind a space. */
void text_format_fields(struct buf *buf, const struct event *e);
/* Appends one value as the text form shows it. */
void text_format_value(struct buf *buf, enum field_kind kind, uint64_t value);
/* Appends "seconds.nanoseconds". */
void text_format_time(struct buf *buf, uint64_t time_ns);

/* The value of a field of an event's payload, widened (I32 keeps its sign in 64 bits). */
uint64_t field_value(const struct field_info *field, const void *data);
void field_set(const struct field_info *field, void *data, uint64_t value);

/* Value that a field has where the text leaves it out: 0, but "no system call" for system calls. */
static inline uint64_t field_default(enum field_kind kind)
{
	return kind == FIELD_SYSCALL ? SYSCALL_NONE : 0;
}

/* Receives each event of a text; the event is valid during the call. */
struct text_target {
	int (*add)(struct text_target *target, const struct event *e, struct err *err);
};

struct text_parser;

struct text_parser *text_parser_new(struct text_target *target);
void text_parser_free(struct text_parser *parser);
/* Reads one line (without its newline); a failure names the place in it. */
int text_parser_line(struct text_parser *parser, const char *line, size_t length, struct err *err);
/* After the last line: hands out what waits for a line with a time. */
int text_parser_end(struct text_parser *parser, struct err *err);

/* Reads one value as a field of the kind has it: all of the text must be it. */
int text_parse_value(enum field_kind kind, const char *text, size_t length, uint64_t *ret_value);

#endif
