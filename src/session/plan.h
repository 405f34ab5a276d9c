/* What `argus why` says should be recorded next, as `argus record --plan` takes it:
 * the answer's JSON, or the list `plan` in it (docs/json.md). */
#ifndef SESSION_PLAN_H
#define SESSION_PLAN_H

#include "base/options.h"

/* The options of the plan, then those that were given: what is given counts.
 * Who says whom to record is not told otherwise by the plan. `path` "-" is the
 * standard input. An option that a plan may not set is an error. */
int plan_merge(struct arena *arena, const char *path, const struct option_spec *specs, const struct option_rule *rules,
	       const struct options *given, struct options *ret_merged, struct err *err);

#endif
