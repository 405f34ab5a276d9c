/* Folded stacks: "process;outer;...;inner COUNT", one line for each distinct
 * stack, as flamegraph.pl, speedscope and inferno read them. */
#ifndef EXPORT_FOLDED_H
#define EXPORT_FOLDED_H

#include "base/buf.h"
#include "symbols/names.h"
#include "trace/tables.h"

enum folded_weight {
	FOLDED_SAMPLES,     /* CPU samples, counted */
	FOLDED_WAITS,       /* waits, counted */
	FOLDED_WAIT_US,     /* time in waits, microseconds */
	FOLDED_EVENTS,      /* all events of the types asked for */
};

struct folded_options {
	enum folded_weight weight;
	uint32_t pid;                    /* 0 all */
	bool threads;                    /* a line for each thread of a name, not for all of them */
	const struct trace_filter *filter; /* NULL: all the time; of its types only FOLDED_EVENTS takes notice */
};

struct folded_counts {
	uint64_t stacks;                 /* events with a stack */
	uint64_t without;                /* events that should have one and have none */
};

/* Appends the lines, in the order of their text. */
void folded_export(const struct trace *trace, const struct tables *tables, struct names *names,
		   const struct folded_options *options, struct buf *buf, struct folded_counts *ret_counts);

#endif
