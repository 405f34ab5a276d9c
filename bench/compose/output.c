/* See output.h. */
#include "output.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#define FLUSH_NS 250000000u  /* as often as the recorder's agent comes by on an idle machine */
#define FIRST_FILE 17u       /* of a ring that has been going on for long */

int composed_begin(struct composed *out, uint64_t time_ns, struct err *err)
{
	char path[PATH_MAX];

	if (out->file_bytes) {
		out->options.sequence = FIRST_FILE + out->files;
		out->options.floor_ns = time_ns;
		snprintf(path, sizeof(path), "%s/argus-%010" PRIu64 ".trace", out->path, out->options.sequence);
	} else {
		snprintf(path, sizeof(path), "%s", out->path);
	}
	out->flushed_ns = time_ns;
	return writer_create(path, false, &out->options, &out->writer, err);
}

int composed_flush(struct composed *out, uint64_t time_ns, bool *ret_full, struct err *err)
{
	*ret_full = false;
	if (time_ns < out->flushed_ns + FLUSH_NS)
		return 0;
	out->flushed_ns = time_ns;
	*ret_full = out->file_bytes && writer_bytes(out->writer) >= out->file_bytes;
	return writer_flush(out->writer, time_ns, err);
}

int composed_end(struct composed *out, struct err *err)
{
	struct writer *writer = out->writer;
	int code = writer_flush(writer, UINT64_MAX, err), closed;

	out->bytes += writer_bytes(writer);
	out->files++;
	out->writer = NULL;
	closed = writer_close(writer, code ? NULL : err);
	return code ? code : closed;
}
