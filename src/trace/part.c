/* See part.h. A part shares files, chunks and the cache of decoded chunks with the
 * whole; cursor.c hands out what stands and the prelude first. */
#include "trace/part.h"

#include <stdlib.h>

#include "base/search.h"
#include "trace/reader.h"

uint64_t trace_state_from(const struct trace *trace, uint64_t time_ns)
{
	size_t low = 0, high = trace->chunks.length;
	uint64_t start = time_ns;
	uint32_t file;

	SEARCH(low, high, middle, trace->chunks.items[middle].first_ns <= time_ns);
	if (!low)
		return time_ns;
	file = trace->chunks.items[low - 1].file;
	/* files follow one another: its chunks lie together but for a little */
	for (size_t i = low, strange = 0; i-- > 0 && strange < 4096; ) {
		if (trace->chunks.items[i].file != file) {
			strange++;
			continue;
		}
		strange = 0;
		if (trace->chunks.items[i].first_ns < start)
			start = trace->chunks.items[i].first_ns;
	}
	return start;
}

static void find_processes(struct trace *part)
{
	for (uint32_t i = 0; i < part->standing.count; i++) {
		const struct event *e = &part->standing.events[i];

		if (e->type == EVENT_task)
			map_put(&part->processes_there, event_as(e, task)->pid, 1);
		else if (e->type == EVENT_fork)
			map_put(&part->processes_there, event_as(e, fork)->child_pid, 1);
		else if (e->tid)
			map_at(&part->processes_there, e->tid, NULL);
	}
}

struct trace *trace_part(const struct trace *trace, uint64_t from_ns, uint64_t to_ns, const struct standing_events *standing)
{
	struct trace *part = mem_zalloc(sizeof(*part));

	*part = *trace;
	arena_init(&part->arena);
	map_init(&part->processes_there);
	map_init(&part->past_threads);
	part->scratch = NULL;
	part->frames = NULL;
	part->whole = trace_whole(trace);
	part->standing = *standing;
	part->floor_ns = from_ns > trace->floor_ns ? from_ns : trace->floor_ns;
	part->ceiling_ns = to_ns;
	part->prelude_ns = trace_state_from(trace, part->floor_ns);
	if (part->prelude_ns < trace->floor_ns)
		part->prelude_ns = trace->floor_ns;
	part->summary.start_ns = part->floor_ns;
	if (to_ns < part->summary.end_ns)
		part->summary.end_ns = to_ns;
	find_processes(part);
	return part;
}

void trace_part_tells_past(struct trace *part, struct map threads)
{
	part->past_threads = threads;
}

void trace_part_shares_frames(struct trace *part, struct frame_table *frames)
{
	part->frames = frames;
}

struct frame_table *trace_shared_frames(const struct trace *trace)
{
	return trace->frames;
}

uint64_t trace_part_prelude_ns(const struct trace *part)
{
	return part->prelude_ns;
}

uint64_t trace_told_since(const struct trace *trace, uint32_t tid)
{
	const uint64_t *since = trace->past_threads.length ? map_find(&trace->past_threads, tid) : NULL;

	return since ? *since : trace->summary.start_ns;
}

const struct trace *trace_whole(const struct trace *trace)
{
	return trace->whole ? trace->whole : trace;
}

uint64_t trace_events_about(const struct trace *trace)
{
	uint64_t count = 0;
	size_t low = 0, high = trace->chunks.length;

	if (!trace->whole)
		return trace->summary.events + trace->summary.state_events;
	SEARCH(low, high, middle, trace->chunks.items[middle].last_before < trace->floor_ns);
	for (size_t i = low; i < trace->chunks.length && trace->chunks.items[i].first_ns <= trace->ceiling_ns; i++)
		if (!trace->chunks.items[i].gap && trace->chunks.items[i].last_ns >= trace->floor_ns)
			count += trace->chunks.items[i].count;
	return count;
}
