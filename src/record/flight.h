/* The flight recorder: records on and on into the files of a ring, answers the
 * commands that ask it, and saves what it has when it sees a hang.
 *
 * It outlives what goes wrong around it: where recording ends by itself (a full
 * disk, a folder that vanished) it makes room and begins again. */
#ifndef RECORD_FLIGHT_H
#define RECORD_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "record/control.h"
#include "record/probe_points.h"
#include "record/trigger.h"
#include "record/watchpoints.h"

#define FLIGHT_BYTES_LEAST (4u << 20) /* of a ring */

struct flight_options {
	const char *folder;      /* of the ring, absolute */
	uint64_t bytes;          /* of the ring */
	bool full;               /* the full level */
	uint32_t sample_hz;
	uint32_t stacks;         /* STACKS_ */
	const struct probe_points *probes; /* must outlive the flight; NULL none */
	const struct watch_wishes *watches; /* must outlive the flight; NULL none */
	uint64_t ring_bytes;     /* of memory, per processor; 0 by the machine */
	struct triggers_options triggers;
	uint64_t save_last_ns;   /* how much a trigger saves */
	const char *options;     /* the command line's, for the trace */
	bool group_reads;        /* the ring, where its folder has a group */
	bool no_index;           /* hangs are not looked for while it records */
};

/* Called once, when it records. */
typedef void flight_ready(void *data);

/* Runs until it is told to stop, by a request or SIGINT or SIGTERM. Fails only
 * when recording cannot begin at all. */
int flight_run(const struct flight_options *options, struct control *control, flight_ready *ready, void *data,
	       struct err *err);

#endif
