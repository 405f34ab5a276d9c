/* Writing a trace in another program's form: what all exporters share.
 *
 * An exporter is a file and a row of exporters.def. It reads the trace in one pass and
 * writes as it goes; what it keeps grows with the number of threads and of different
 * stacks, not with the trace. The states' times are those of `argus info --threads`. */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include "base/buf.h"
#include "diagnose/diagnosis.h"
#include "symbols/names.h"
#include "trace/states.h"

struct graph;

/* Where the bytes go. */
struct export_out {
	int (*write)(void *data, const void *bytes, size_t count); /* 0 or -errno */
	void *data;
	struct buf buf;          /* what is still to be written */
	int status;              /* of the first write that failed */
};
/* Writes what has gathered, when it is much or `all` is asked for. */
void export_flush(struct export_out *out, bool all);

struct export_source {
	const struct trace *trace;
	const struct tables *tables;
	struct names *names;
	uint32_t pid;                     /* this process only, 0 all */
	uint64_t from_ns, to_ns;          /* this time only */
	const struct graph *graph;        /* of exporters that need it, else NULL */
	const struct diagnosis *answer;   /* the same; NULL: there is no hang */
};

struct exporter {
	const char *name;
	const char *summary;
	bool needs_graph, binary;
	int (*run)(const struct export_source *source, struct export_out *out, struct err *err);
};
/* In the order of exporters.def; NULL-terminated. */
extern const struct exporter *const exporters[];

bool export_has(const struct export_source *source, uint32_t thread);
/* Each interval of the threads and the time asked for, clipped, in the order of ends. */
void export_intervals(const struct export_source *source, void (*interval)(void *data, const struct state_interval *i), void *data);
/* "running", "waiting: futex", ...: one of EXPORT_STATES, by its number. */
#define EXPORT_STATES (THREAD_STATES + 64)
unsigned export_state(const struct state_interval *i);
const char *export_state_text(struct arena *arena, unsigned state);
/* enum thread_state of such a number. */
enum thread_state export_state_of(unsigned state);
/* "name pid/tid", in UTF-8. */
const char *export_thread_text(struct arena *arena, const struct thread *thread);

#endif
