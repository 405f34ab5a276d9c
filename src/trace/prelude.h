/* What the state stream of the file told until a part of the trace begins, for who reads that part.
 *
 * Each snapshot tells all descriptors and poll sets anew. Of what was told several times in the same words
 * the last is handed out: a busy machine's file tells more of these, long before its end, than a part has
 * events of its own. */
#ifndef TRACE_PRELUDE_H
#define TRACE_PRELUDE_H

#include "trace/trace.h"

struct prelude;

/* Of the types that the filter asks for, and of mappings only where it asks for their fields, from that time on; NULL when none of them is told. */
struct prelude *prelude_open(const struct trace *part, const struct trace_filter *filter, uint64_t from_ns);
void prelude_free(struct prelude *prelude);
/* In the order of time; NULL behind the last. It stays until the next one is asked for. */
const struct event *prelude_next(struct prelude *prelude);

#endif
