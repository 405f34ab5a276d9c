/* A part of a trace, read as a trace: the events of a stretch of time, and before them
 * those that still stand at its beginning (standing.h) and what the state stream of the
 * file told until then (stacks, modules, mappings, descriptors); behind them stacks that it
 * told in the second after, for they are told a little later than they came up. So whatever reads a
 * trace reads a part, at a cost that goes with the part. Numbers are those of the whole.
 * The trace must stay open as long as the part. */
#ifndef TRACE_PART_H
#define TRACE_PART_H

#include "base/map.h"
#include "trace/frame_table.h"
#include "trace/standing.h"
#include "trace/trace.h"

/* What the state stream tells of a moment (stacks, modules, mappings) may come so much behind it. */
#define TRACE_LATE_NS 1000000000ull

/* Events from from_ns on, up to and with to_ns; `standing` (at from_ns) must stay, too.
 * Free with trace_close. */
struct trace *trace_part(const struct trace *trace, uint64_t from_ns, uint64_t to_ns, const struct standing_events *standing);
/* What stands tells of these threads all since earlier moments (past.h), by number; the part takes the map. */
void trace_part_tells_past(struct trace *part, struct map threads);
/* It shares the frames of its file (one user of them goes to it): whoever needs them takes them from there. */
void trace_part_shares_frames(struct trace *part, struct frame_table *frames);
/* NULL: its events tell them. */
struct frame_table *trace_shared_frames(const struct trace *trace);
/* The moment from which on the state stream is read before it. */
uint64_t trace_part_prelude_ns(const struct trace *part);
/* Since when a thread's events are told. */
uint64_t trace_told_since(const struct trace *trace, uint32_t tid);
/* The trace that it is a part of; a trace that is none, itself. */
const struct trace *trace_whole(const struct trace *trace);
/* Where the file begins in which events of that time stand: there the state is told whole. */
uint64_t trace_state_from(const struct trace *trace, uint64_t time_ns);
/* How many events it has, about: of a part those of its chunks. */
uint64_t trace_events_about(const struct trace *trace);

#endif
