/* Snapshots: what there is at one moment, between a begin and an end record.
 *
 * Threads with their waits, processes with names, control groups with quotas,
 * descriptors with their queues, poll sets, watches, file locks: what diagnosis
 * needs to know is who holds the other end *then*. */
#ifndef RECORD_SNAPSHOT_H
#define RECORD_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "trace/event.h"

struct programs;
struct snapshots;
struct stacks;
struct state_opening;

/* Where records go. `event` may be called from whatever thread takes a snapshot; `clock` tells
 * what the clocks show, `losses` what the kernel has left out since it was last called. */
struct snapshot_sink {
	int (*event)(struct snapshot_sink *sink, uint32_t tid, enum event_type type, const void *payload,
		     const char *tail, uint32_t tail_length, struct err *err);
	int (*clock)(struct snapshot_sink *sink, struct err *err);
	int (*losses)(struct snapshot_sink *sink, struct err *err);
};

/* What this kernel cannot list is left out. The sink must stay; `stacks` may be NULL:
 * the threads' stacks are not taken. `opening` is ended in any case. */
int snapshots_open(const struct programs *programs, struct stacks *stacks, struct state_opening *opening, struct snapshot_sink *sink,
		   struct snapshots **ret_snapshots, struct err *err);
void snapshots_close(struct snapshots *snapshots);

/* `reason`: SNAPSHOT_REASON_. */
int snapshots_take(struct snapshots *snapshots, uint32_t reason, struct err *err);

/* Threads whose wait, in which others are to end it, began in this stretch of
 * time and still lasts; their number. */
int snapshots_count_waiting(struct snapshots *snapshots, uint64_t from_ns, uint64_t to_ns, size_t *ret_count,
			    struct err *err);

#endif
