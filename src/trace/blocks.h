/* A trace in blocks of time, each of which can be read alone.
 *
 * A block is some 65,536 events, of system calls sixteen times as many. Where the blocks begin follows from the heads of the
 * chunks; what stands at the beginning of each (standing.h) is found in a pass over the
 * events, and kept in an index file beside each of the trace's files, so that a later
 * question reads only the blocks that it is about. An index holds notes besides, for
 * whoever has found out about a stretch of time what takes long to find.
 *
 * An index is believed as far as its sums are right and its blocks are those of the
 * trace as it is now; a trace that has grown keeps what was known of it. It must belong
 * to the user, and is never followed through a link.
 *
 * Several threads may ask for what stands, for parts and notes at once: one that needs
 * what another is about to come by waits for it. */
#ifndef TRACE_BLOCKS_H
#define TRACE_BLOCKS_H

#include "base/err.h"
#include "base/map.h"
#include "trace/part.h"

struct blocks;

struct block {
	uint64_t from_ns;         /* to the next one's, or the trace's end */
	uint64_t before;          /* events of the trace that come before it, about */
	uint64_t weight_before;   /* theirs */
	uint32_t file;            /* in which its first chunk lies */
	bool known;               /* what stands at its beginning is */
};

struct blocks_options {
	uint64_t weight;          /* of a block (as the trace's summary tells it); 0: the usual one */
	const char *folder;       /* of the index files; NULL: where the trace's files are */
	bool no_index;            /* neither read nor write them */
};

int blocks_open(const struct trace *trace, const struct blocks_options *options, struct blocks **ret_blocks, struct err *err);
/* Writes what was found out since; a failure to write is no failure of the question. */
void blocks_close(struct blocks *blocks);
int blocks_save(struct blocks *blocks, struct err *err);
/* Nothing is written from now on. */
void blocks_keep_to_itself(struct blocks *blocks);
/* One question after the other about one place after the other: less is kept for the next ones. */
void blocks_be_frugal(struct blocks *blocks);
/* Nothing is asked for a while: what is large and is found again is given back. */
void blocks_rest(struct blocks *blocks);
/* For one question about that block: where much would have to be read to know what stands there, that begins at the head of
 * the file instead, where the recorder told it again, and nothing is written from now on. Returns whether it is so. */
bool blocks_begin_at_head(struct blocks *blocks, size_t i);
/* Never 0. */
size_t blocks_count(const struct blocks *blocks);
const struct block *blocks_at(const struct blocks *blocks, size_t i);
/* The block in which the moment lies. */
size_t blocks_find(const struct blocks *blocks, uint64_t time_ns);
/* End of the block: the last moment that belongs to it. */
uint64_t blocks_end_ns(const struct blocks *blocks, size_t i);

/* What stands at the beginning of a block; read through the trace from the last block
 * before it of which that is known. */
int blocks_standing(struct blocks *blocks, size_t i, struct arena *arena, struct standing_events *ret_events, struct err *err);
/* Beforehand, for who goes back from that block, so many at a time: what stands at those alone is found, in one pass. */
int blocks_find_standing(struct blocks *blocks, size_t i, size_t step, struct err *err);
/* The blocks from the one to the other, as a trace of their own; the arena holds what
 * it stands on. */
int blocks_part(struct blocks *blocks, size_t first, size_t last, uint64_t to_ns, struct arena *arena, struct trace **ret_part,
		struct err *err);
/* The same, with what these threads, those that they made, and whoever ran one of the programs, did since an earlier block (past.h); it takes the map
 * of threads. */
int blocks_part_since(struct blocks *blocks, size_t since, struct map *threads, const struct map *programs, size_t first, size_t last, uint64_t to_ns,
		      struct arena *arena, struct trace **ret_part, struct err *err);

/* For who walks a part of the blocks `first` to `last` anyway: given all its events, in
 * order, with all fields, it notes what stands at the blocks behind. */
struct blocks_watch *blocks_watch(struct blocks *blocks, size_t first, size_t last);
void blocks_watch_see(struct blocks_watch *watch, const struct event *e);
void blocks_watch_end(struct blocks_watch *watch);

/* Notes: bytes about the stretch that begins with a block, by kind. The newest counts. */
void blocks_note(struct blocks *blocks, size_t block, uint32_t kind, const void *bytes, size_t size);
const void *blocks_noted(struct blocks *blocks, size_t block, uint32_t kind, size_t *ret_size);

/* The index file of a trace's file, in the arena. */
const char *blocks_index_path(struct arena *arena, const char *file, const char *folder);
/* The folder in which the index files of the trace's first file, mostly of all, lie. */
const char *blocks_folder(const struct blocks *blocks, struct arena *arena);
/* Where the index is: a file; of a trace of several files the folder. */
const char *blocks_where(const struct blocks *blocks, struct arena *arena);

#endif
