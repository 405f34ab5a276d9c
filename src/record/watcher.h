/* The watcher: a thread that once a second looks after what the agent has no
 * time for: the clocks, processors that come back, and a snapshot when a thread
 * has begun to wait long. */
#ifndef RECORD_WATCHER_H
#define RECORD_WATCHER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "record/config.h"
#include "record/probes.h"
#include "record/samples.h"
#include "record/snapshot.h"

struct watcher {
	/* given */
	struct snapshots *snapshots;
	struct snapshot_sink *sink;
	struct record_live *live;
	struct samples *samples;        /* NULL none */
	struct probes *probes;          /* NULL none */
	double pack_budget;             /* share of a processor that packs' probes may take; 0 all */
	struct helpers *helpers;

	pthread_t thread;
	int wake_fd;
	atomic_bool stop;
	bool started;
	uint64_t next_ns, gap_ns;       /* snapshots of long waits: not before, and the pause after the next */
	uint64_t wall_offset_ns, boot_offset_ns; /* to the monotonic clock, when last looked at */
	uint64_t seen_ns;               /* waits that began before it are dealt with */
};

int watcher_start(struct watcher *watcher, struct err *err);
void watcher_stop(struct watcher *watcher);

/* Tells the programs which processes are the recorder's helpers: those that were there before
 * the programs, and again later, for another's number may have taken their place. */
void watcher_note_helpers(struct record_live *live, struct helpers *helpers);
/* A clock record at this moment. */

#endif
