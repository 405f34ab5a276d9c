/* Hardware watchpoints of a recording: found in processes, armed in each of their
 * threads, those that come later too, and disarmed where they come too often.
 *
 * A thread of its own waits for what the programs say, and for files that a command
 * has yet to map. */
#ifndef RECORD_WATCHPOINTS_H
#define RECORD_WATCHPOINTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "probe/watch_spec.h"
#include "record/programs.h"
#include "record/snapshot.h"

struct watchpoints;

#define WATCH_LIMIT 5000u        /* hits a second and thread, unless another number is asked for */

struct watch_wishes {
	const struct watch_spec *specs;
	size_t spec_count;
	const pid_t *pids;       /* in these processes; none: in all that have the named file mapped */
	size_t pid_count;
	pid_t command;           /* a process whose program is yet to be started; 0 none */
	uint32_t limit;          /* hits a second and thread at which one is disarmed; 0 none */
};

/* Arms what is there. `wishes` and `sink` must stay. */
int watchpoints_open(const struct programs *programs, const struct watch_wishes *wishes, struct snapshot_sink *sink,
		     struct watchpoints **ret_watchpoints, struct err *err);
void watchpoints_close(struct watchpoints *watchpoints);
/* The command's program has been mapped, and has not run yet: arms what is in it; what
 * is not there yet is looked for again and again. */
int watchpoints_command_started(struct watchpoints *watchpoints, struct err *err);
/* What each file begins with. */
int watchpoints_tell(struct watchpoints *watchpoints, struct err *err);

/* Makes reads and writes of the accesses among the records, by their instructions.
 * May be called by several threads; allocates nothing. NULL watchpoints: nothing to do. */
void watchpoints_settle(struct watchpoints *watchpoints, void *records, uint64_t bytes);

#endif
