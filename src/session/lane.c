#include "session/lane.h"

static struct lane_cell cell_of(const struct span *span, uint64_t start_ns)
{
	struct lane_cell cell = { .start_ns = start_ns, .wait = span_wait(span), .state = span->state };

	if (span->state == SPAN_RUNNABLE && span->throttled)
		cell.state = LANE_THROTTLED;
	return cell;
}

static uint8_t percent(double part, uint64_t whole)
{
	return (uint8_t)(part * 100 / (double)whole + 0.5);
}

void lane_mix_end(struct lane_mixing *m)
{
	if (m->pieces == 1)
		vec_push(m->cells, m->only);
	else if (m->pieces)
		vec_push(m->cells, ((struct lane_cell){ .start_ns = m->only.start_ns, .state = LANE_MIXED, .running = percent(m->running_ns, m->total_ns),
							.runnable = percent(m->runnable_ns, m->total_ns), .unknown = percent(m->unknown_ns, m->total_ns) }));
	*m = (struct lane_mixing){ .cells = m->cells, .least_ns = m->least_ns };
}

static double part_of(const struct lane_cell *cell, uint8_t share, bool whole, uint64_t ns)
{
	return cell->state == LANE_MIXED ? (double)ns * share / 100 : whole ? (double)ns : 0;
}

void lane_mix(struct lane_mixing *m, const struct lane_cell *cell, uint64_t end_ns)
{
	uint64_t ns = end_ns - cell->start_ns;

	if (ns >= m->least_ns) {
		lane_mix_end(m);
		vec_push(m->cells, *cell);
		return;
	}
	if (!m->pieces++)
		m->only = *cell;
	m->running_ns += part_of(cell, cell->running, cell->state == LANE_RUNNING, ns);
	m->runnable_ns += part_of(cell, cell->runnable, cell->state == LANE_RUNNABLE || cell->state == LANE_THROTTLED, ns);
	m->unknown_ns += part_of(cell, cell->unknown, cell->state == LANE_UNKNOWN || cell->state == LANE_ABSENT, ns);
	m->total_ns += ns;
	if (m->total_ns >= m->least_ns)
		lane_mix_end(m);
}

uint64_t lane_least(uint64_t from_ns, uint64_t to_ns, size_t pieces, unsigned most)
{
	return pieces > most ? (to_ns - from_ns) / (most / 2 + 1) + 1 : 0;
}

void lane_add(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, unsigned most, struct lane_cells *cells)
{
	const struct scene_thread *t = &scene->threads[thread];
	uint64_t from = from_ns > scene->start_ns ? from_ns : scene->start_ns, to = to_ns < scene->end_ns ? to_ns : scene->end_ns;
	struct lane_mixing mixing = { .cells = cells };
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
	mixing.least_ns = lane_least(from, to, end - first, most);
	for (uint32_t i = first; i < end; i++) {
		const struct span *span = &t->spans[i];
		uint64_t start = span->start_ns > from ? span->start_ns : from, stop = span_end(span) < to ? span_end(span) : to;
		struct lane_cell cell = cell_of(span, start);

		if (start < stop)
			lane_mix(&mixing, &cell, stop);
	}
	lane_mix_end(&mixing);
}
