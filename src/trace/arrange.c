/* The chunks of all files in one order of time; holes between them; numbers.
 *
 * The cursor merges chunks that overlap in time. Those of different processors
 * do so by nature; those of one processor only by a little. What overlaps more
 * than the writer ever does is damage, as it would cost memory without bound. */
#include <stdlib.h>

#include "base/search.h"
#include "trace/reader.h"

#define OVERLAP_LIMIT 8u  /* chunks of one processor at the same time */

static int by_stream(const void *a, const void *b)
{
	const struct chunk *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static int by_time(const void *a, const void *b)
{
	const struct chunk *x = a, *y = b;

	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int gaps_by_time(const void *a, const void *b)
{
	const struct trace_gap *x = a, *y = b;

	if (x->from_ns != y->from_ns)
		return x->from_ns < y->from_ns ? -1 : 1;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

static int clocks_by_time(const void *a, const void *b)
{
	const struct clock_point *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* A hole stands as a chunk with one event. */
static void add_hole(struct trace *trace, uint16_t cpu, uint32_t file, uint64_t at, struct trace_gap gap)
{
	struct chunk chunk = { .cpu = cpu, .file = file, .at = at, .count = 1, .state_count = 1, .gap = true };

	chunk.first_ns = chunk.last_ns = gap.from_ns;
	chunk.hole = arena_memdup(&trace->arena, &gap, sizeof(gap));
	chunk.types[EVENT_gap / 64] |= 1ull << (EVENT_gap % 64);
	vec_push(&trace->chunks, chunk);
	vec_push(&trace->gaps, gap);
	trace->summary.counts[EVENT_gap]++;
	trace->summary.state_events++;
}

/* Chunks stand by stream: a jump in their counts of events before is a hole. */
static void find_holes(struct trace *trace)
{
	size_t count = trace->chunks.length;

	for (size_t i = 0; i < count; i++) {
		struct chunk chunk = trace->chunks.items[i], before = { 0 };
		bool follows = i && trace->chunks.items[i - 1].cpu == chunk.cpu && trace->chunks.items[i - 1].file == chunk.file;
		uint64_t expected = 0;

		if (follows) {
			before = trace->chunks.items[i - 1];
			expected = before.stream_before + before.count;
		}
		if (chunk.stream_before > expected)
			add_hole(trace, chunk.cpu, chunk.file, chunk.at, (struct trace_gap){
				follows && before.last_ns < chunk.first_ns ? before.last_ns : chunk.first_ns,
				chunk.first_ns, chunk.stream_before - expected, chunk.cpu, GAP_REASON_missing });
	}
}

static void rank_chunks(struct trace *trace)
{
	if (trace->chunks.length)
		qsort(trace->chunks.items, trace->chunks.length, sizeof(struct chunk), by_stream);
	for (size_t i = 0; i < trace->chunks.length; i++)
		trace->chunks.items[i].rank = (uint32_t)i;
}

/* Marks chunks that overlap too many earlier ones of their processor; stand by stream. */
static void refuse_overlaps(struct trace *trace)
{
	uint64_t ends[OVERLAP_LIMIT] = { 0 };

	for (size_t i = 0; i < trace->chunks.length; i++) {
		struct chunk *chunk = &trace->chunks.items[i];
		unsigned slot = 0;

		if (!i || trace->chunks.items[i - 1].cpu != chunk->cpu)
			for (unsigned k = 0; k < OVERLAP_LIMIT; k++)
				ends[k] = 0;
		while (slot < OVERLAP_LIMIT && ends[slot] > chunk->first_ns)
			slot++;
		if (slot < OVERLAP_LIMIT)
			ends[slot] = chunk->last_ns;
		else
			chunk->refused = true;
	}
}

static void number_chunks(struct trace *trace)
{
	uint64_t last = 0;

	trace->total = 0;
	for (size_t i = 0; i < trace->chunks.length; i++) {
		struct chunk *chunk = &trace->chunks.items[i];

		if (chunk->last_ns > last)
			last = chunk->last_ns;
		chunk->before = trace->total;
		chunk->last_before = last;
		trace->total += chunk->count;
	}
}

/* The gaps that are known, by time. */
static void sum_gaps(struct trace *trace)
{
	struct trace_summary *summary = &trace->summary;

	if (trace->gaps.length)
		qsort(trace->gaps.items, trace->gaps.length, sizeof(struct trace_gap), gaps_by_time);
	summary->lost = summary->longest_gap_ns = 0;
	for (size_t i = 0; i < trace->gaps.length; i++) {
		const struct trace_gap *gap = &trace->gaps.items[i];

		summary->lost += gap->lost;
		if (gap->to_ns > gap->from_ns && gap->to_ns - gap->from_ns > summary->longest_gap_ns)
			summary->longest_gap_ns = gap->to_ns - gap->from_ns;
	}
	summary->gaps = trace->gaps.items;
	summary->gap_count = trace->gaps.length;
}

struct trace_losses trace_losses(const struct trace *trace, uint64_t from_ns, uint64_t to_ns)
{
	const struct trace_summary *summary = trace_summary(trace);
	uint64_t reach = from_ns > summary->longest_gap_ns ? from_ns - summary->longest_gap_ns : 0, told = from_ns;
	struct trace_losses losses = { 0 };
	size_t low = 0, high = summary->gap_count;

	SEARCH(low, high, middle, summary->gaps[middle].from_ns < reach);
	for (; low < summary->gap_count && summary->gaps[low].from_ns < to_ns; low++) {
		const struct trace_gap *gap = &summary->gaps[low];
		uint64_t from = gap->from_ns > told ? gap->from_ns : told, to = gap->to_ns < to_ns ? gap->to_ns : to_ns;

		if (gap->to_ns <= from_ns || gap->to_ns < gap->from_ns)
			continue;
		losses.stretches++;
		losses.events += gap->lost;
		if (gap->to_ns - gap->from_ns > losses.longest_ns)
			losses.longest_ns = gap->to_ns - gap->from_ns;
		if (to > from) {
			losses.ns += to - from;
			told = to;
		}
	}
	return losses;
}

void trace_arrange_end(struct trace *trace, const struct trace_gap *gaps, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct chunk *chunk;

		add_hole(trace, (uint16_t)gaps[i].cpu, (uint32_t)trace->files.length - 1, UINT64_MAX, gaps[i]);
		chunk = &trace->chunks.items[trace->chunks.length - 1];
		chunk->first_ns = chunk->last_ns = trace->summary.end_ns;
		chunk->rank = (uint32_t)(trace->chunks.length - 1);
	}
	number_chunks(trace);
	sum_gaps(trace);
}

void trace_arrange(struct trace *trace)
{
	struct trace_summary *summary = &trace->summary;

	rank_chunks(trace);
	find_holes(trace);
	rank_chunks(trace);
	refuse_overlaps(trace);
	if (trace->chunks.length)
		qsort(trace->chunks.items, trace->chunks.length, sizeof(struct chunk), by_time);
	number_chunks(trace);
	sum_gaps(trace);
	if (trace->clocks.length)
		qsort(trace->clocks.items, trace->clocks.length, sizeof(struct clock_point), clocks_by_time);
	if (trace->chunks.length) {
		summary->start_ns = trace->chunks.items[0].first_ns;
		summary->end_ns = trace->chunks.items[trace->chunks.length - 1].last_before;
	}
}
