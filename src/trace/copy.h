/* Copying from a trace into another file. */
#ifndef TRACE_COPY_H
#define TRACE_COPY_H

#include "trace/trace.h"
#include "trace/writer.h"

/* All from from_ns on. Chunks go as they lie in the file, neither unpacked nor
 * packed: a ring of gigabytes takes as long as its bytes take. Only those that
 * hold the moment itself, and those of files with another event table, are
 * written event by event. What was damaged or missing is a gap in the copy. */
int trace_copy(const struct trace *trace, uint64_t from_ns, struct writer *writer, struct err *err);

/* The moment behind which no more than so many events lie, as far as whole chunks tell. */
uint64_t trace_copy_begin(const struct trace *trace, uint64_t events);

#endif
