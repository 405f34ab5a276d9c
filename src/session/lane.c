#include "session/lane.h"

struct mixing {
	uint64_t ns[SPAN_ABSENT + 1];
	uint64_t start_ns, total_ns;
	struct lane_cell only;   /* while one span alone is in it */
	unsigned spans;
};

static struct lane_cell cell_of(const struct span *span, uint64_t start_ns)
{
	struct lane_cell cell = { .start_ns = start_ns, .wait = span->wait, .state = span->state };

	if (span->state == SPAN_RUNNABLE && span->throttled)
		cell.state = LANE_THROTTLED;
	return cell;
}

static uint8_t percent(uint64_t part, uint64_t whole)
{
	return (uint8_t)((double)part * 100 / (double)whole + 0.5);
}

static void flush(struct mixing *m, struct lane_cells *cells)
{
	if (!m->spans)
		return;
	if (m->spans == 1) {
		vec_push(cells, m->only);
	} else {
		vec_push(cells, ((struct lane_cell){ .start_ns = m->start_ns, .state = LANE_MIXED,
						     .running = percent(m->ns[SPAN_RUNNING], m->total_ns),
						     .runnable = percent(m->ns[SPAN_RUNNABLE], m->total_ns),
						     .unknown = percent(m->ns[SPAN_UNKNOWN] + m->ns[SPAN_ABSENT], m->total_ns) }));
	}
	*m = (struct mixing){ 0 };
}

void lane_add(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, unsigned most, struct lane_cells *cells)
{
	const struct scene_thread *t = &scene->threads[thread];
	uint64_t from = from_ns > scene->start_ns ? from_ns : scene->start_ns, to = to_ns < scene->end_ns ? to_ns : scene->end_ns;
	uint64_t least = 0;
	struct mixing mixing = { 0 };
	uint32_t first, end;

	if (!thread)
		return;
	if (t->span_count && from < t->spans[0].start_ns)
		from = t->spans[0].start_ns;
	if (from >= to || !t->span_count)
		return;
	first = scene_span_index(scene, thread, from);
	for (end = first; end < t->span_count && t->spans[end].start_ns < to; end++)
		;
	if (end - first > most)
		least = (to - from) / (most / 2 + 1) + 1;
	for (uint32_t i = first; i < end; i++) {
		const struct span *span = &t->spans[i];
		uint64_t start = span->start_ns > from ? span->start_ns : from, stop = span_end(span) < to ? span_end(span) : to;

		if (start >= stop)
			continue;
		if (stop - start >= least) {
			flush(&mixing, cells);
			vec_push(cells, cell_of(span, start));
			continue;
		}
		if (!mixing.spans++) {
			mixing.start_ns = start;
			mixing.only = cell_of(span, start);
		}
		mixing.ns[span->state] += stop - start;
		mixing.total_ns += stop - start;
		if (mixing.total_ns >= least)
			flush(&mixing, cells);
	}
	flush(&mixing, cells);
}
