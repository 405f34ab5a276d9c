/* Traces for tests, written in the text form. */
#ifndef TEXT_TRACE_H
#define TEXT_TRACE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/text_import.h"
#include "trace/trace.h"

/* Writes a trace of the text to the path; a wrong text ends the test program. */
static inline void text_trace_write(const char *text, const char *path)
{
	struct writer_options options = { .cpus = 64 };
	struct writer *writer;
	struct err err = { 0 };
	FILE *file = fmemopen((void *)text, strlen(text), "r");

	if (writer_create(path, false, &options, &writer, &err) || text_import(file, "text", writer, &err) ||
	    writer_close(writer, &err)) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	fclose(file);
}

/* Opens a trace of the text; its file is gone already. */
static inline struct trace *text_trace_open(const char *text)
{
	char directory[] = "/tmp/argus-test-XXXXXX", path[64];
	struct err err = { 0 };
	struct trace *trace;

	if (!mkdtemp(directory))
		abort();
	snprintf(path, sizeof(path), "%s/trace", directory);
	text_trace_write(text, path);
	if (trace_open(path, &trace, &err)) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	unlink(path);
	rmdir(directory);
	return trace;
}

#endif
