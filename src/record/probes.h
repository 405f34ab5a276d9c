/* Probes of a recording, attached to their places. */
#ifndef RECORD_PROBES_H
#define RECORD_PROBES_H

#include "base/err.h"
#include "record/kernel.h"
#include "record/probe_points.h"
#include "record/programs.h"
#include "record/snapshot.h"

struct probes;

/* Whether probes can take stacks here: not where their threads may be preempted
 * in the midst of it. */
bool probes_take_stacks(const struct kernel *kernel);
/* Places what can be placed of those that are optional, and all others. `points` must stay. */
int probes_attach(const struct programs *programs, const struct probe_points *points, struct probes **ret_probes, struct err *err);
/* Once a second: turns off what was hit most of packs' probes, with those of its callback, while all of
 * them took more than the share of a processor; each for a while, longer each time. The trace is told. */
void probes_keep_budget(struct probes *probes, double share, uint64_t now_ns, struct snapshot_sink *sink);
void probes_detach(struct probes *probes);

#endif
