/* The file that a writer writes: created safely, written in whole pieces. */
#ifndef TRACE_OUTPUT_H
#define TRACE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct stat;

/* Makes room on the disk: asked for `bytes` before a piece of the file is written, and once more when
 * the disk was `full`. Whether there is room now. By the thread that writes. */
struct output_room {
	bool (*make)(void *data, uint64_t bytes, bool full); /* NULL: nobody makes room */
	void *data;
};

struct output {
	int fd;              /* -1 none */
	uint64_t bytes;      /* written, whole pieces only */
	char path[4096];
	bool keep_old, hidden; /* it has no name yet, or a passing one */
	char passing[4096 + 16]; /* "" none */
	struct output_room room; /* set by who created it */
};

/* How a file comes to its name. */
enum output_way {
	OUTPUT_AT_ONCE,      /* readers see it grow */
	OUTPUT_WHOLE,        /* by output_publish; one that is not published leaves nothing */
};

/* Creates the file anew: mode 0600, never through a link. What is there must be
 * a trace of this user's own; it becomes path.old (keep_old), in whose place nothing but
 * a trace may be, or is removed. */
int output_create(struct output *out, const char *path, bool keep_old, enum output_way way, struct err *err);
/* Gives a whole file its name; nothing for one that has it. */
int output_publish(struct output *out, struct err *err);
/* Writes behind what is there. When it fails, the file is cut back to the last whole piece. */
int output_write(struct output *out, const void *data, size_t size, struct err *err);
int output_read(const struct output *out, uint64_t at, void *to, size_t size, struct err *err);
/* Removes the file when nothing was written to it. */
void output_remove_empty(const struct output *out);
void output_close(struct output *out);
/* Whether somebody is writing the file, OUTPUT_AT_ONCE, that is open for reading. */
bool output_is_written(int fd);
/* Whether it is empty or begins as a trace does, and is the file known. */
bool output_is_trace(const char *path, const struct stat *known);

#endif
