/* Where a composed trace goes: one file, or the files of a ring in a folder, each
 * readable alone. What stands at the head of a file is the caller's to write. */
#ifndef BENCH_COMPOSE_OUTPUT_H
#define BENCH_COMPOSE_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/writer.h"

struct composed {
	const char *path;          /* of the file, or the ring's folder */
	uint64_t file_bytes;       /* of a ring's file; 0: one file */
	struct writer_options options;
	struct writer *writer;
	uint64_t flushed_ns;
	uint64_t bytes, files;     /* closed */
};

int composed_begin(struct composed *out, uint64_t time_ns, struct err *err);
/* Writes chunks that are due; whether the ring's next file is. */
int composed_flush(struct composed *out, uint64_t time_ns, bool *ret_full, struct err *err);
int composed_end(struct composed *out, struct err *err);

#endif
