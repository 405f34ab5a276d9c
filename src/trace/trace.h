/* Reading a trace: one file, or a directory that holds the files of a ring.
 *
 * A trace is mapped, never copied whole. Events come merged by time over all
 * processors and are numbered from 1 in that order; a number names the same
 * event each time the same trace is opened. Damaged stretches are passed over,
 * counted and listed as gaps; an unknown event is passed over and counted, and
 * so is a chunk written in a way that this version does not know.
 * A `struct trace` may be read by several threads at once, each with its own
 * cursor. */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "trace/event.h"

struct trace;

struct trace_gap {
	uint64_t from_ns, to_ns;  /* events between are missing */
	uint64_t lost;            /* how many, 0 not known */
	uint32_t cpu;             /* UINT32_MAX all */
	uint32_t reason;          /* GAP_REASON_ */
};

/* What is known without decoding events. */
struct trace_summary {
	uint64_t start_ns, end_ns;           /* CLOCK_MONOTONIC of the first and last event */
	uint64_t start_wall_ns;              /* CLOCK_REALTIME at start_ns */
	uint64_t events;                     /* all but STATE and META */
	uint64_t state_events;               /* STATE and META */
	uint64_t weight;                     /* of all of them, in events: what laying them out takes. A system call is no row of
					      * the graph: what it waited for and sent are events of their own */
	uint64_t bytes;                      /* of the files on disk */
	uint64_t lost;                       /* events, all gaps */
	uint64_t unknown_events;             /* of types this version does not know */
	uint64_t damaged_chunks;
	uint64_t unknown_chunks;             /* whole, but written in a way that this version does not know */
	uint64_t truncated_bytes;            /* at the ends of files, not recovered */
	uint64_t damaged_stretches;          /* places in files where no chunk could be found, ... */
	uint64_t damaged_bytes;              /* ... and their lengths together */
	uint64_t damaged_heads;              /* files whose event table is damaged: read with this version's own */
	uint64_t foreign_files;              /* in the directory, not of this recording */
	uint64_t counts[EVENT_MAX];          /* by type */
	uint64_t unreadable_files;           /* of this recording, in the directory */
	uint32_t cpus, files;                /* processors are numbered below cpus */
	uint32_t busy_cpus;                  /* processors with events, state aside */
	uint64_t *reach_ns;                  /* by processor: its last event, state aside, or where a recording that
						was broken off began; 0 none */
	uint32_t threads, processes;         /* that appear */
	bool complete;                       /* was closed properly; else cut off or still being written */
	const struct trace_gap *gaps;        /* by when they begin */
	size_t gap_count;
	uint64_t longest_gap_ns;
	const char *const *machine;          /* key=value, NULL-terminated */
};

int trace_open(const char *path, struct trace **ret_trace, struct err *err);
/* Reads and checks all of it first, so that the summary knows of all damage;
 * trace_open does that only to files that are not large. */
int trace_open_checked(const char *path, struct trace **ret_trace, struct err *err);
void trace_close(struct trace *trace);
const struct trace_summary *trace_summary(const struct trace *trace);

/* What was lost between two moments. */
struct trace_losses {
	uint64_t events;          /* 0: how many is not known */
	uint64_t ns;              /* in how much of the time, 0 none: of several processors at once it counts once */
	uint64_t longest_ns;      /* of the stretches, whole */
	unsigned stretches;
};
struct trace_losses trace_losses(const struct trace *trace, uint64_t from_ns, uint64_t to_ns);

const char *trace_path(const struct trace *trace);
/* Threads of which the heads of chunks tell, each tid once; pid 0 where that is not told. */
void trace_each_tid(const struct trace *trace, void (*call)(void *context, uint32_t tid, uint32_t pid), void *context);
/* Value of a machine key, NULL when it is not there. */
const char *trace_machine(const struct trace *trace, const char *key);
/* CLOCK_MONOTONIC of the trace to CLOCK_REALTIME, by its clock records. */
uint64_t trace_wall_ns(const struct trace *trace, uint64_t time_ns);
/* The first moment of the trace at which the wall clock showed so much or,
 * where it was set past it, more. */
uint64_t trace_time_of_wall(const struct trace *trace, uint64_t wall_ns);

/* The last bit stands for all fields from there on: few events are so large. */
#define FIELD_BIT(offset) ((offset) < 63 ? (offset) : 63)

/* Which events a cursor hands out. Zeroed: all. */
struct trace_filter {
	uint64_t from_ns, to_ns;         /* to_ns 0: to the end; both inclusive */
	uint64_t types[(EVENT_MAX + 63) / 64]; /* bit per type; all zero: all types */
	bool whole;                      /* it will be read to its end: decoding ahead is worth its start */
	bool unnumbered;                 /* numbers are not needed (they are 0): whole chunks may be passed over */
	uint64_t cpus;                   /* events of these processors (a bit for each number % 64); 0: of all */
	/* Fields that are needed, of each type (EVENT_MAX) a bit per offset, FIELD_BIT(); the
	 * others may be left 0. NULL: all. Must outlive the cursor. */
	const uint64_t *fields;
};

static inline void trace_filter_add(struct trace_filter *filter, unsigned type)
{
	filter->types[type / 64] |= 1ull << (type % 64);
}

struct trace_cursor;

/* for (const struct event *e; (e = trace_cursor_next(c)); ) ...
 * An event is valid until the next call. `filter` may be NULL. */
struct trace_cursor *trace_cursor_new(const struct trace *trace, const struct trace_filter *filter);
void trace_cursor_free(struct trace_cursor *cursor);
const struct event *trace_cursor_next(struct trace_cursor *cursor);

/* Places a cursor so that the next event is the one of this number (or, in a
 * filtered cursor, the first one behind it that passes). */
void trace_cursor_seek(struct trace_cursor *cursor, uint64_t number);

/* Moments between which all events of these numbers lie, as far as heads of chunks tell. */
void trace_number_times(const struct trace *trace, uint64_t first, uint64_t last, uint64_t *ret_from_ns, uint64_t *ret_to_ns);

/* Chunks that the cursor found damaged, or written in a way that this version
 * does not know, so far: each came out as one gap event. */
uint64_t trace_cursor_damaged(const struct trace_cursor *cursor);
uint64_t trace_cursor_unknown(const struct trace_cursor *cursor);

/* Copies one event into the arena; NULL when there is no such number. */
const struct event *trace_event(const struct trace *trace, struct arena *arena, uint64_t number);

#endif
