/* A recording under way: programs, rings, the agent's thread, the trace's
 * writer.
 *
 * recorder_start returns when the programs are attached and the state found at
 * the start is in the trace; from then on the agent empties the rings by
 * itself, until recorder_stop or a failure (recorder_status tells). */
#ifndef RECORD_RECORDER_H
#define RECORD_RECORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "record/filter.h"
#include "record/probe_points.h"
#include "record/steps.h"
#include "record/watchpoints.h"
#include "trace/output.h"

struct recorder;

/* Bounds of a ring's memory. */
#define RECORDER_RING_LEAST (1u << 20)
#define RECORDER_RING_MOST (64u << 20)

struct recorder_options {
	const char *path;             /* of the trace */
	bool keep_old;                /* a file that is there is kept as PATH.old */
	bool full;                    /* the full level */
	bool look;                    /* only what tells who moves and where, for a moment: quickly begun and ended */
	bool names;                   /* at the full level: what calls that fail name, too: paths, addresses */
	bool narrow;                  /* switches and wake-ups only to and from threads that the filter lets pass */
	uint64_t max_bytes;           /* of the trace, 0 no limit */
	struct output_room room;      /* who makes room on the trace's disk; its data must outlive the recorder */
	uint64_t ring_bytes;          /* per processor, 0: by the machine; rounded to a power of two */
	uint32_t sample_hz;           /* CPU samples a second and processor, 0 none */
	uint32_t stacks;              /* STACKS_ */
	const struct filter *filter;  /* NULL: all threads */
	const struct probe_points *probes; /* must outlive the recorder; NULL none */
	const struct step_wishes *steps; /* must outlive the recorder; NULL none */
	const struct watch_wishes *watches; /* must outlive the recorder; NULL none */
	const char *command;          /* what is recorded, for the machine record; NULL none */
	const char *options;          /* the command line's options, for the machine record */
};

struct recorder_status {
	uint64_t events;              /* handed to the writer, state records too */
	uint64_t bytes;               /* of the trace, all its files */
	uint64_t file_bytes;          /* of the file that is written now */
	bool file_is_full;            /* of what it may hold besides: stacks that are new would not be told in it */
	uint64_t lost;                /* events */
	uint64_t start_ns, now_ns;    /* CLOCK_MONOTONIC */
	uint64_t seen_from_ns;        /* from then on what happens is seen: before the state found at the start is in the trace */
	bool ended;                   /* the agent has stopped by itself: `err` says why */
	struct err err;               /* code 0: none; -EFBIG: the size limit was reached */
	uint64_t program_ns, program_runs; /* of BPF, when the kernel counts them */
	bool real_time;               /* the agent got a real-time priority */
	uint32_t unreached;           /* file systems that did not answer; known at the end */
	char unreached_example[256];  /* path of a file of one of them */
};

int recorder_start(const struct recorder_options *options, struct recorder **ret_recorder, struct err *err);
void recorder_status(struct recorder *recorder, struct recorder_status *ret_status);
/* Whether all steps that were asked for were recorded. */
bool recorder_has_stepped(const struct recorder *recorder);
/* The command of the watches has been started and is stopped before its first instruction. */
int recorder_command_started(struct recorder *recorder, struct err *err);
/* A remark by the person at this moment. */
int recorder_mark(struct recorder *recorder, const char *text, struct err *err);
/* What there is at this moment. `reason`: SNAPSHOT_REASON_. */
int recorder_snapshot(struct recorder *recorder, uint32_t reason, struct err *err);
/* Goes on in another file, which begins with the state found now; the file so
 * far is closed. On failure it goes on in the old one. */
int recorder_rotate(struct recorder *recorder, const char *path, struct err *err);
/* Writes what the rings hold and all chunks, so that the file shows everything up to now. */
int recorder_flush(struct recorder *recorder, struct err *err);
/* Readable when the agent has stopped by itself. */
int recorder_fd(const struct recorder *recorder);
/* Ends the recording and frees it, also on failure; the trace keeps what it has.
 * ret_status may be NULL. */
int recorder_stop(struct recorder *recorder, struct recorder_status *ret_status, struct err *err);

#endif
