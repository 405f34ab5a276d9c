/* Points in time as a person writes them. */
#ifndef TRACE_WHEN_H
#define TRACE_WHEN_H

#include "trace/trace.h"

/* The trace's own time ("1234.5", as dump prints it; what is before the trace
 * counts from its start), "+1.5" from its start, "-1.5" from its end (both with
 * units: 300ms), "@1234500000000", or the wall clock's "14:03:59.25" (local
 * time; the first such moment in the trace). */
int trace_time_parse(const struct trace *trace, const char *text, uint64_t *ret_ns, struct err *err);
/* Appends the local wall clock's time, "2026-01-31 14:03:59.250000"; nothing for 0. */
struct buf;
void trace_wall_format(struct buf *buf, uint64_t wall_ns);
/* Appends only the time of day, "14:03:59". */
void trace_clock_format(struct buf *buf, uint64_t wall_ns);

#endif
