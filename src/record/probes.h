/* Probes of a recording, attached to their places. */
#ifndef RECORD_PROBES_H
#define RECORD_PROBES_H

#include "base/err.h"
#include "record/kernel.h"
#include "record/probe_points.h"
#include "record/programs.h"

struct probes;

/* Whether probes can take stacks here: not where their threads may be preempted
 * in the midst of it. */
bool probes_take_stacks(const struct kernel *kernel);
int probes_attach(const struct programs *programs, const struct probe_points *points, struct probes **ret_probes, struct err *err);
void probes_detach(struct probes *probes);

#endif
