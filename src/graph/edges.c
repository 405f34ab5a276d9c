/* Edges of a segment, from four places: rows (wake-ups), the list of edges kept
 * one by one, the corrections, and what is implied (weak edges). */
#include "graph/store.h"

#include "base/search.h"

enum phase { PHASE_wakes, PHASE_stored, PHASE_joins, PHASE_waits, PHASE_next, PHASE_done };

static enum graph_strength strength_of(uint8_t confidence)
{
	return confidence >= 90 ? GRAPH_STRONG : confidence >= 30 ? GRAPH_INFERRED : GRAPH_WEAK;
}

static void fill_ends(const struct graph *graph, struct graph_edge *edge, uint32_t from_row, uint32_t to_row)
{
	edge->from = row_segment(graph, from_row);
	edge->to = row_segment(graph, to_row);
	edge->from_thread = row_thread(graph, from_row);
	edge->to_thread = row_thread(graph, to_row);
	edge->strength = strength_of(edge->confidence);
}

/* Rule that a correction put in the place of an edge's own; 0 none. */
static uint32_t correcting_rule(const struct graph *graph, uint64_t key)
{
	const uint64_t *rule = map_find(&graph->correction.kept, key);

	if (!rule)
		rule = map_find(&graph->correction.cut_edges, key);
	return rule ? (uint32_t)*rule : 0;
}

/* The edge from the wake-up that ended the wait behind the row. */
static bool fill_wake(const struct graph *graph, uint32_t wait, struct graph_edge *edge)
{
	const struct row *row = &graph->rows[wait];
	uint32_t next = row_next(graph, wait);

	if (!(row->flags & ROW_WAIT) || !(row->flags & ROW_WOKEN) || row->wake_row == GRAPH_NONE || next == GRAPH_NONE)
		return false;
	*edge = (struct graph_edge){ .kind = graph->row_mechanisms[row->wake_rule], .confidence = wait_confidence(graph, row),
				     .removed = wait_edge_removed(graph, wait), .rule = graph->row_rules[row->wake_rule],
				     .from_event = row->wake_event, .to_event = graph->rows[next].in_event,
				     .from_ns = row_wake_ns(graph, wait), .to_ns = graph->rows[next].in_ns, .wait = wait };
	if (correcting_rule(graph, wait | 1ull << 63))
		edge->rule = correcting_rule(graph, wait | 1ull << 63);
	fill_ends(graph, edge, row->wake_row, next);
	return true;
}

/* The weak edge from a wait to the wake-up that ended it. */
static bool fill_wait(const struct graph *graph, uint32_t wait, struct graph_edge *edge)
{
	const struct row *row = &graph->rows[wait];
	uint64_t out;

	if (!fill_wake(graph, wait, edge))
		return false;
	/* The wait began before a gap: what woke it is known, what it was by then is not. */
	if (row->flags & ROW_GAP)
		return false;
	out = row_out_ns(graph, wait);
	edge->kind = MECHANISM_wait;
	edge->confidence = mechanism_infos[MECHANISM_wait].confidence;
	edge->to_event = edge->from_event;
	edge->to_ns = edge->from_ns > out ? edge->from_ns : out;
	edge->from_event = row->out_event;
	edge->from_ns = out;
	fill_ends(graph, edge, wait, row->wake_row);
	return true;
}

static void fill_stored(const struct graph *graph, const struct stored_edge *stored, bool removed, struct graph_edge *edge)
{
	*edge = (struct graph_edge){ .kind = stored->kind, .confidence = stored->confidence, .removed = removed,
				     .rule = removed && stored->removed ? stored->removed : stored->rule,
				     .from_event = stored->from_event, .to_event = stored->to_event, .from_ns = stored->from_ns,
				     .to_ns = stored->to_ns, .wait = GRAPH_NONE };
	fill_ends(graph, edge, stored->from_row, stored->to_row);
}

static size_t lower_wake(const struct graph *graph, const uint32_t *order, uint32_t count, uint32_t row)
{
	size_t low = 0, high = count;

	SEARCH(low, high, middle, graph->rows[order[middle]].wake_row < row);
	return low;
}

static struct graph_edges edges_of(const struct graph *graph, uint32_t segment, unsigned choice, bool into)
{
	struct graph_edges walk = { .graph = graph, .segment = GRAPH_NONE, .stretch = GRAPH_NONE, .choice = choice, .into = into,
				    .phase = PHASE_done };

	if (!row_valid(graph, segment))
		return walk;
	walk.segment = walk.stretch = row_segment(graph, segment);
	walk.phase = choice & EDGES_STRONG ? PHASE_wakes : PHASE_waits;
	return walk;
}

struct graph_edges graph_edges_into(const struct graph *graph, uint32_t segment, unsigned choice)
{
	return edges_of(graph, segment, choice, true);
}

struct graph_edges graph_edges_from(const struct graph *graph, uint32_t segment, unsigned choice)
{
	return edges_of(graph, segment, choice, false);
}

static void next_stretch(struct graph_edges *walk)
{
	walk->stretch = row_next(walk->graph, walk->stretch);
	if (walk->stretch != GRAPH_NONE && !(walk->graph->rows[walk->stretch].flags & ROW_CONTINUES))
		walk->stretch = GRAPH_NONE;
	walk->entered = false;
}

static void next_phase(struct graph_edges *walk)
{
	walk->phase++;
	walk->stretch = walk->segment;
	walk->entered = false;
	walk->at = 0;
	if (walk->phase == PHASE_waits && !(walk->choice & EDGES_WEAK))
		walk->phase = PHASE_done;
}

/* Wake-ups that this stretch made, one by one. */
static bool woken_by(struct graph_edges *walk, bool weak, struct graph_edge *edge)
{
	const struct graph *graph = walk->graph;
	uint32_t count;
	const uint32_t *order = store_wakes_by_row(graph, &count);

	if (!walk->entered)
		walk->at = lower_wake(graph, order, count, walk->stretch);
	walk->entered = true;
	while (walk->at < count && graph->rows[order[walk->at]].wake_row == walk->stretch) {
		uint32_t wait = order[walk->at++];

		if (weak ? fill_wait(graph, wait, edge) : fill_wake(graph, wait, edge))
			return true;
	}
	next_stretch(walk);
	return false;
}

static bool stored_of(struct graph_edges *walk, struct graph_edge *edge)
{
	const struct graph *graph = walk->graph;
	size_t index;

	if (!walk->entered)
		walk->at = 0;
	walk->entered = true;
	index = edge_order_next(graph, !walk->into, walk->stretch, &walk->at);
	if (index != SIZE_MAX) {
		const struct stored_edge stored = edge_unpack(&graph->edges.items[index]);
		bool removed = !map_find(&graph->correction.kept, index) &&
			       (stored.removed || map_find(&graph->correction.cut_edges, index));

		fill_stored(graph, &stored, removed, edge);
		if (correcting_rule(graph, index))
			edge->rule = correcting_rule(graph, index);
		return true;
	}
	next_stretch(walk);
	return false;
}

static bool step(struct graph_edges *walk, struct graph_edge *edge)
{
	const struct graph *graph = walk->graph;
	uint32_t row = walk->stretch, other;

	if (row == GRAPH_NONE) {
		next_phase(walk);
		return false;
	}
	switch ((enum phase)walk->phase) {
	case PHASE_wakes:
		if (!walk->into)
			return woken_by(walk, false, edge);
		next_stretch(walk);
		other = row_previous(graph, row);
		return other != GRAPH_NONE && fill_wake(graph, other, edge);
	case PHASE_stored:
		return stored_of(walk, edge);
	case PHASE_joins:
		while (walk->at < graph->correction.joins.length) {
			const struct stored_edge *join = &graph->correction.joins.items[walk->at++];

			if (row_segment(graph, walk->into ? join->to_row : join->from_row) == walk->segment) {
				fill_stored(graph, join, false, edge);
				return true;
			}
		}
		walk->stretch = GRAPH_NONE;
		return false;
	case PHASE_waits:
		if (walk->into)
			return woken_by(walk, true, edge);
		next_stretch(walk);
		return fill_wait(graph, row, edge);
	case PHASE_next:
		walk->stretch = GRAPH_NONE;
		other = walk->into ? graph_segment_previous(graph, walk->segment) : graph_segment_next(graph, walk->segment);
		if (other == GRAPH_NONE || graph->threads.items[row_thread(graph, other)].kind >= GRAPH_SOURCE)
			return false;
		{
			struct graph_segment from;

			graph_segment(graph, walk->into ? other : walk->segment, &from);
			if (from.last_stretch != GRAPH_NONE && graph->rows[from.last_stretch].flags & ROW_GAP)
				return false; /* events were lost between the two */
			row = walk->into ? walk->segment : other;
			*edge = (struct graph_edge){ .kind = MECHANISM_next, .confidence = mechanism_infos[MECHANISM_next].confidence,
						     .rule = graph->row_rules[graph->rows[row].rule], .from_event = from.last_event,
						     .to_event = graph->rows[row].in_event, .from_ns = from.end_ns,
						     .to_ns = graph->rows[row].in_ns, .wait = GRAPH_NONE };
			fill_ends(graph, edge, from.segment, row);
		}
		return true;
	case PHASE_done:
		break;
	}
	return false;
}

bool graph_edges_next(struct graph_edges *walk, struct graph_edge *ret_edge)
{
	while (walk->phase < PHASE_done)
		if (step(walk, ret_edge) && (!ret_edge->removed || walk->choice & EDGES_REMOVED))
			return true;
	return false;
}

bool graph_edge_of_event(const struct graph *graph, uint32_t thread, uint64_t time_ns, uint64_t event, enum mechanism kind,
			 struct graph_edge *ret_edge)
{
	uint32_t row = row_at_time(graph, thread, time_ns);
	uint64_t at = 0;

	while (row != GRAPH_NONE && graph->rows[row].in_event > event)
		row = row_previous(graph, row);
	for (size_t index; row != GRAPH_NONE && (index = edge_order_next(graph, true, row, &at)) != SIZE_MAX; ) {
		const struct stored_edge stored = edge_unpack(&graph->edges.items[index]);

		if (stored.from_event != event || stored.kind != kind)
			continue;
		fill_stored(graph, &stored, !map_find(&graph->correction.kept, index) &&
			    (stored.removed || map_find(&graph->correction.cut_edges, index)), ret_edge);
		return true;
	}
	return false;
}

uint32_t *graph_forward(struct arena *arena, const struct graph *graph, uint32_t segment, size_t limit, size_t *ret_count)
{
	struct vec(uint32_t) queue = { 0 };
	struct map seen = { 0 };
	uint32_t *result;

	if (row_valid(graph, segment)) {
		vec_push(&queue, row_segment(graph, segment));
		map_put(&seen, queue.items[0], 1);
	}
	for (size_t i = 0; i < queue.length && queue.length < limit; i++) {
		struct graph_edges walk = graph_edges_from(graph, queue.items[i], EDGES_STRONG);
		struct graph_edge edge;

		while (queue.length < limit && graph_edges_next(&walk, &edge)) {
			bool new;

			map_at(&seen, edge.to, &new);
			if (new)
				vec_push(&queue, edge.to);
		}
	}
	*ret_count = queue.length;
	result = arena_memdup(arena, queue.length ? queue.items : &segment, (queue.length ? queue.length : 1) * sizeof(*result));
	vec_done(&queue);
	map_done(&seen);
	return result;
}
