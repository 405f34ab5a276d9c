/* The probes of a trace by their numbers: what its probe_point records tell. */
#ifndef TRACE_PROBE_NAMES_H
#define TRACE_PROBE_NAMES_H

#include "base/arena.h"
#include "trace/trace.h"

struct probe_name {
	const char *name;    /* "" when no record tells it */
	const char *file;    /* program or library, "" of trace points */
	const char *place;   /* function, PROVIDER:NAME, CATEGORY:NAME */
	const char *values[3]; /* what arg1 to arg3 are; "": the first arguments, or not told */
	uint64_t offset;
	uint32_t kind;       /* PROBE_KIND_ */
};

struct probe_names {
	const struct probe_name *items; /* by number; item 0 stands for those not known */
	uint32_t count;                 /* at least 1 */
};

/* Reads the records, in the arena. Of several with one number the first counts. */
void probe_names_read(struct arena *arena, const struct trace *trace, struct probe_names *ret_names);

static inline const struct probe_name *probe_name(const struct probe_names *names, uint32_t number)
{
	return &names->items[number < names->count ? number : 0];
}

#endif
