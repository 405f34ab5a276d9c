/* Rings in plain memory, without a kernel, and a trace to hand them over to. */
#ifndef TESTS_RING_FILES_H
#define TESTS_RING_FILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/rings.h"

struct ring_files {
	char folder[64], path[96];
	struct rings rings;
	struct writer *writer;
};

static inline void ring_files_make(struct ring_files *f, uint64_t ring_bytes, const struct writer_options *options)
{
	strcpy(f->folder, "/tmp/argus-rings-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(f->path, sizeof(f->path), "%s/t.trace", f->folder);
	f->rings = (struct rings){ .ring_bytes = ring_bytes, .cpus = options->cpus, .stride = RING_DATA + ring_bytes + RING_SLACK };
	f->rings.base = calloc(options->cpus, f->rings.stride);
	f->rings.seen = calloc(options->cpus, sizeof(*f->rings.seen));
	assert_int_equal(writer_create(f->path, false, options, &f->writer, NULL), 0);
}

static inline void ring_files_remove(struct ring_files *f)
{
	unlink(f->path);
	rmdir(f->folder);
	free(f->rings.base);
	free(f->rings.seen);
}

#endif
