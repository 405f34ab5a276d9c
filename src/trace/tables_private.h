/* What tables.c and threads.c share. */
#ifndef TRACE_TABLES_PRIVATE_H
#define TRACE_TABLES_PRIVATE_H

#include "base/vec.h"
#include "trace/tables.h"

const char *tail_text(const struct event *e, unsigned n);

struct thread_builder;

struct thread_builder *thread_builder_new(struct tables *tables, const struct trace *trace);
/* task, fork, exec, exit, rename; others are passed over. */
void thread_builder_take(struct thread_builder *builder, const struct event *e);
void thread_builder_missed(struct thread_builder *builder, uint32_t tid, uint64_t last_ns, uint64_t end_ns);
/* Leaves threads and lookup in the tables; frees the builder. `all`: also those of which
 * nothing but their number is told. */
void thread_builder_finish(struct thread_builder *builder, bool all);
void thread_lookup_free(struct tables *tables);


#endif
