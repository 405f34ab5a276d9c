/* A text in the text form to a trace file. */
#ifndef TRACE_TEXT_IMPORT_H
#define TRACE_TEXT_IMPORT_H

#include <stdio.h>

#include "trace/writer.h"

/* Reads all of `text`; `name` is for messages. Lines need not be in the order
 * of time, as long as none is TEXT_IMPORT_WINDOW lines too late. */
#define TEXT_IMPORT_WINDOW (1u << 20)
/* Processors in a text are below this. */
#define TEXT_IMPORT_CPUS 8192u

int text_import(FILE *text, const char *name, struct writer *writer, struct err *err);

#endif
