/* Writing a trace: records in, chunks out.
 *
 * The recorder hands over raw records as they lie in the rings, a stretch of
 * one processor at a time; the text importer and the generators hand over
 * events. Nothing is allocated after writer_create. Chunks of a processor are
 * in the order of time; the writer sorts records that are slightly out of it.
 *
 * With several packers as many threads may add at once, each for its own
 * processors: those whose number leaves the same rest, divided by `packers`. */
#ifndef TRACE_WRITER_H
#define TRACE_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "trace/event.h"
#include "trace/output.h"

/* A record in a ring: this head, the payload struct, the tail's bytes, padding
 * to 8. `size` counts all of it. */
struct record {
	uint64_t time_ns;   /* CLOCK_MONOTONIC */
	uint32_t tid;
	uint16_t type;
	uint16_t size;
};

struct writer;

struct writer_options {
	uint32_t cpus;             /* streams; records come with cpu below it */
	uint32_t processors;       /* streams of processors that were there, from 0 on; 0 not told */
	uint32_t packers;          /* threads that add at once; 0: 1 */
	int compression;           /* zstd level; 0 the default */
	uint64_t max_bytes;        /* 0: no limit; beyond it writing returns -EFBIG */
	bool whole;                /* the file comes to its name when it is closed without a failure, else leaves nothing */
	uint32_t flush_ms;         /* a chunk is written at the latest so long after its first event; 0: 500 */
	/* of files of a ring: */
	uint64_t recording;        /* the same in all of them; 0: a random one */
	uint64_t sequence;         /* of this one among them */
	struct output_room room;   /* who makes room on the disk */
	uint64_t floor_ns;         /* all events from here on are in this file or later ones; 0 not told */
};

/* Creates path (0600, never through a link, the previous file kept as
 * path.old when keep_old). */
int writer_create(const char *path, bool keep_old, const struct writer_options *options,
		  struct writer **ret_writer, struct err *err);
/* `records` holds whole records of one processor, `bytes` in all. */
int writer_add(struct writer *writer, uint32_t cpu, const void *records, uint64_t bytes, struct err *err);
/* One event; e->number is ignored. */
int writer_add_event(struct writer *writer, const struct event *e, struct err *err);
/* A loss on one processor. */
int writer_add_gap(struct writer *writer, uint32_t cpu, uint64_t from_ns, uint64_t to_ns, uint64_t lost,
		   uint32_t reason, struct err *err);
/* A whole chunk of another file, which is good and whose events are described
 * as in this one; behind what its processor has so far. Its head is changed. */
int writer_add_chunk(struct writer *writer, unsigned char *bytes, struct err *err);
/* Writes chunks that are due at now_ns, all when now_ns is UINT64_MAX. */
int writer_flush(struct writer *writer, uint64_t now_ns, struct err *err);
uint64_t writer_bytes(const struct writer *writer);
uint64_t writer_events(const struct writer *writer);
/* Frees a writer whose file is not wanted any more; a whole one leaves nothing. Accepts NULL. */
void writer_drop(struct writer *writer);
/* Writes the index and closes; frees the writer also on failure. */
int writer_close(struct writer *writer, struct err *err);

#endif
