/* What an open trace is made of; for the reader's own files. */
#ifndef TRACE_READER_H
#define TRACE_READER_H

#include <errno.h>
#include <stdatomic.h>

#include "base/map.h"
#include "base/vec.h"
#include "trace/describe.h"
#include "trace/format.h"
#include "trace/standing.h"
#include "trace/tid_table.h"
#include "trace/trace.h"

struct trace_file {
	int fd;
	const char *path;
	uint64_t bytes;               /* when it was opened: what is written later is not looked at */
	struct file_head head;
	struct event_plan *plans;     /* DESCRIBE_NUMBERS */
	bool complete;                /* closed with an index */
};

/* One chunk; or, with gap set, a hole in the file that stands as one event. */
struct chunk {
	uint64_t at;                  /* in the file */
	uint64_t first_ns, last_ns;
	uint64_t before;              /* events in chunks that stand before it by first_ns */
	uint64_t last_before;         /* greatest last_ns of it and all before it */
	uint64_t types[(EVENT_MAX + 63) / 64]; /* of known types that it holds */
	uint32_t head_bytes, payload_bytes, raw_bytes, payload_crc;
	uint32_t count, state_count;
	uint32_t weight;              /* as the summary's */
	uint32_t sequence;
	uint64_t stream_before;
	uint32_t rank;                /* order of chunks whose times are equal: processor, file, place */
	uint32_t file;
	uint16_t cpu, flags;
	bool gap;                     /* not in the file: `hole` is all */
	bool refused;                 /* overlaps others in a way that the writer never makes */
	atomic_uint bad;              /* GAP_REASON_ damaged or unknown, when its payload cannot be read; 0 */
	const struct trace_gap *hole; /* in the trace's arena */
};

struct clock_point {
	uint64_t time_ns, wall_ns;
};

struct trace {
	struct arena arena;
	const char *path;
	struct trace_summary summary;
	struct vec(struct trace_file) files;
	struct vec(struct chunk) chunks;   /* by first_ns, rank */
	struct vec(struct trace_gap) gaps;
	struct vec(struct clock_point) clocks;  /* by time */
	struct tid_table threads;          /* their processes (0 not known), as far as heads of chunks tell */
	struct tid_table processes;
	uint64_t reused_threads;
	bool verify;                       /* check all payloads' sums while opening, ... */
	bool decode;                       /* ... and decode them */
	struct decoded *scratch;           /* for that; NULL until it is needed */
	uint64_t floor_ns;                 /* events before it are not handed out */
	uint64_t total;                    /* numbers that events have: 1..total */
	struct chunk_cache *cache;
	/* of a part (part.c): */
	const struct trace *whole;         /* whose files and chunks these are; NULL: it is one itself */
	uint64_t ceiling_ns;               /* events behind it are not handed out */
	uint64_t prelude_ns;               /* from here on, up to the floor, the state stream is read */
	struct standing_events standing;   /* events that still stand at the floor */
	struct map processes_there;        /* at the floor */
	struct frame_table *frames;             /* of its file, which other parts use, too; NULL: it tells them itself */
	struct map past_threads;           /* since when all that they did is handed out, with what stands */
};

/* file.c: reads a file's head and finds its chunks, by the index or by their marks. */
int trace_file_load(struct trace *trace, const char *path, int fd, struct err *err);
/* Reads exactly so many bytes; false at the file's end or on an error. */
bool trace_file_read(const struct trace_file *file, uint64_t at, void *to, size_t size);

/* chunk.c: a chunk's head, `bytes` of it at hand (all of it, where it is to be good). */
bool chunk_head_fixed(const unsigned char *head, size_t bytes, struct chunk_head *ret_head);
bool chunk_head_good(const unsigned char *head, size_t bytes, struct chunk_head *ret_head);

/* The types of a chunk in the order of their codes. */
struct chunk_types {
	unsigned count;
	uint16_t numbers[DESCRIBE_NUMBERS]; /* the file's */
	uint32_t counts[DESCRIBE_NUMBERS];
};
/* Returns the place behind them, NULL when they are malformed or do not add up. */
const unsigned char *chunk_types_get(const unsigned char *at, const unsigned char *end, uint32_t events,
				     struct chunk_types *ret_types);
/* Takes a good head into the trace: the chunk, its counts, threads, gaps and
 * clocks. False when its rest is malformed. */
bool chunk_take(struct trace *trace, uint32_t file, uint64_t at, const unsigned char *head);

/* arrange.c: sorts the chunks, finds holes, numbers events. */
void trace_arrange(struct trace *trace);
/* Holes at the trace's end, behind which no event's number changes. */
void trace_arrange_end(struct trace *trace, const struct trace_gap *gaps, size_t count);

/* decode.c: the events of one chunk in memory, used again for the next one. */
struct decoded {
	uint32_t count;
	uint64_t *times;
	uint32_t *tids;
	uint16_t *types;              /* this version's numbers; EVENT_MAX where unknown */
	uint32_t *places;             /* of the payload in `data`; PLACE_NONE: there is none */
	uint32_t *tails, *tail_lengths; /* in `texts`; NULL when no event has one */
	uint64_t *data;
	char *texts;
	void *room[11];               /* private: what the above lie in */
	size_t room_bytes[11];
	void *decompressor;
};
#define PLACE_NONE UINT32_MAX

/* Whether what the state stream tells of that type outside of a part is wanted. Of mappings and frames nothing but their
 * fields is ever looked at. */
static inline bool filter_wants_told(const struct trace_filter *filter, unsigned type)
{
	bool fields = !filter->fields || filter->fields[type];

	return filter->types[type / 64] >> (type % 64) & 1 && (fields || (type != EVENT_mapping && type != EVENT_frame));
}

/* Whether a chunk need not be looked at: without numbers to keep, one with none of what is wanted. */
static inline bool chunk_passed_over(const struct chunk *chunk, const struct trace_filter *filter)
{
	uint64_t some = 0;

	if (!filter->unnumbered)
		return false;
	for (unsigned i = 0; i < sizeof(chunk->types) / sizeof(chunk->types[0]); i++)
		some |= chunk->types[i] & filter->types[i];
	return !some || (filter->cpus && !(filter->cpus >> chunk->cpu % 64 & 1));
}

/* The reason of the gap that stands for a chunk which chunk_decode refused. */
static inline unsigned chunk_gap_reason(int status)
{
	return status == -EPROTONOSUPPORT ? GAP_REASON_unknown : GAP_REASON_damaged;
}

void decoded_done(struct decoded *decoded);
/* Types that are not wanted may be left without payloads and tails, fields that
 * are not without values. -EBADMSG when the chunk is damaged, -EPROTONOSUPPORT
 * when it is whole but written in a way that this version does not know. */
int chunk_decode(const struct trace *trace, const struct chunk *chunk, const struct trace_filter *wanted, struct decoded *decoded);

/* chunk_cache.c: some chunks stay decoded. Several threads may ask. */
struct chunk_cache *chunk_cache_new(void);
void chunk_cache_free(struct chunk_cache *cache);
/* The chunk's events, with all types and fields, until they are given back; NULL when it
 * is not there. `fresh`: decode it if need be; NULL then when it cannot be decoded, or kept. */
struct kept_chunk *chunk_cache_take(const struct trace *trace, size_t number, bool fresh, const struct decoded **ret_decoded);
void chunk_cache_give(const struct trace *trace, struct kept_chunk *kept);

#endif
