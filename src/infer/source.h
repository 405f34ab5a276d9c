/* Frames of a trace for struct contexts: which function holds each, by the
 * names of src/symbols; looked up once for each function's start. */
#ifndef INFER_SOURCE_H
#define INFER_SOURCE_H

#include "infer/contexts.h"
#include "symbols/names.h"
#include "trace/tables.h"

struct source;

struct source *source_new(const struct tables *tables, struct names *names, struct functions *functions);
void source_free(struct source *source);
struct context_source source_contexts(struct source *source);

#endif
