/* Segments, waits and threads of the finished graph. */
#include <string.h>

#include "graph/store.h"

#include "base/search.h"

static uint64_t trace_end(const struct graph *graph)
{
	return trace_summary(graph->trace)->end_ns;
}

uint32_t graph_thread_count(const struct graph *graph)
{
	return (uint32_t)graph->threads.length;
}

void graph_thread(const struct graph *graph, uint32_t thread, struct graph_thread *ret_thread)
{
	const struct stored_thread *stored;

	*ret_thread = (struct graph_thread){ .thread = thread, .kind = GRAPH_UNKNOWN, .name = "?" };
	if (thread >= graph->threads.length)
		return;
	stored = &graph->threads.items[thread];
	*ret_thread = (struct graph_thread){ .thread = thread, .kind = (enum graph_thread_kind)stored->kind, .tid = stored->tid,
					     .pid = stored->pid, .cause = stored->cause, .number = stored->number,
					     .stretches = stored->rows, .name = stored->name ? graph->names.items + stored->name : "?" };
	if (stored->kind == GRAPH_THREAD && thread < graph->tables->thread_count) {
		ret_thread->name = graph->tables->threads[thread].comm;
		ret_thread->pid = graph->tables->threads[thread].pid;
	}
}

uint32_t graph_thread_find(const struct graph *graph, uint32_t tid, uint64_t time_ns)
{
	uint32_t entry = tid ? tables_thread(graph->tables, tid, time_ns) : 0;
	const uint64_t *first;

	if (entry && graph->threads.items[entry].rows)
		return entry;
	first = tid ? map_find(&graph->unknown_tids, tid) : NULL;
	if (!first)
		return entry ? entry : GRAPH_NONE;
	/* Of several that had the number, the last one that was there by then. */
	for (uint32_t i = (uint32_t)*first, best = i; ; i++) {
		if (i == graph->threads.length)
			return best;
		if (graph->threads.items[i].kind == GRAPH_UNKNOWN && graph->threads.items[i].tid == tid &&
		    graph->threads.items[i].rows && graph->rows[row_at_place(graph, i, 0)].in_ns <= time_ns)
			best = i;
	}
}

bool graph_segment(const struct graph *graph, uint32_t number, struct graph_segment *ret_segment)
{
	struct graph_segment s = { 0 };
	const struct row *row;
	uint32_t last;

	if (!row_valid(graph, number))
		return false;
	s.segment = last = row_segment(graph, number);
	row = &graph->rows[s.segment];
	s.thread = row_thread(graph, s.segment);
	s.kind = row_kind(row);
	s.rule = graph->row_rules[row->rule];
	s.start_ns = row->in_ns;
	s.first_event = row->in_event;
	s.level = row->level & LEVEL_MOST;
	s.begins_callout = row->level & LEVEL_BEGINS;
	if (graph->threads.items[s.thread].kind == GRAPH_SOURCE)
		s.interrupted = row->hint;
	for (uint32_t at = s.segment; at != GRAPH_NONE; at = row_next(graph, at)) {
		row = &graph->rows[at];
		if (at != s.segment && !(row->flags & ROW_CONTINUES))
			break;
		last = at;
		s.run_ns += row_run_ns(graph, at, trace_end(graph));
		s.stretches++;
	}
	row = &graph->rows[last];
	s.last_stretch = last;
	s.end_ns = row_out_ns(graph, last);
	s.last_event = row->out_event;
	s.wait = row->flags & ROW_WAIT ? last : GRAPH_NONE;
	*ret_segment = s;
	return true;
}

uint32_t graph_segment_next(const struct graph *graph, uint32_t segment)
{
	if (!row_valid(graph, segment))
		return GRAPH_NONE;
	do
		segment = row_next(graph, segment);
	while (segment != GRAPH_NONE && graph->rows[segment].flags & ROW_CONTINUES);
	return segment;
}

uint32_t graph_segment_previous(const struct graph *graph, uint32_t segment)
{
	if (!row_valid(graph, segment))
		return GRAPH_NONE;
	segment = row_previous(graph, row_segment(graph, segment));
	return segment == GRAPH_NONE ? GRAPH_NONE : row_segment(graph, segment);
}

uint32_t graph_segment_at(const struct graph *graph, uint32_t thread, uint64_t time_ns)
{
	uint32_t row = row_at_time(graph, thread, time_ns);

	return row == GRAPH_NONE ? GRAPH_NONE : row_segment(graph, row);
}

static bool holds_event(const struct graph *graph, uint32_t row, uint64_t event)
{
	const struct row *r = &graph->rows[row];

	return r->in_event <= event && (!(r->flags & ROW_CLOSED) || event <= r->out_event);
}

/* The node of an interrupt or of lost events. */
static uint32_t node_of_event(const struct graph *graph, uint64_t event, uint64_t time_ns)
{
	for (uint32_t i = graph->tables->thread_count; i < graph->threads.length; i++) {
		uint32_t row;

		if (graph->threads.items[i].kind != GRAPH_SOURCE)
			continue;
		row = row_at_time(graph, i, time_ns);
		while (row != GRAPH_NONE && graph->rows[row].in_event > event)
			row = row_previous(graph, row);
		if (row != GRAPH_NONE && holds_event(graph, row, event))
			return row;
	}
	return GRAPH_NONE;
}

/* The thread's stretch at that time, or the one before it that holds the event. */
static uint32_t row_at_event(const struct graph *graph, uint32_t thread, uint64_t time_ns, uint64_t event)
{
	uint32_t row = row_at_time(graph, thread, time_ns);

	while (row != GRAPH_NONE && graph->rows[row].in_event > event)
		row = row_previous(graph, row);
	return row;
}

uint32_t graph_segment_with(const struct graph *graph, uint32_t thread, uint64_t time_ns, uint64_t event)
{
	uint32_t row = row_at_event(graph, thread, time_ns, event);

	return row == GRAPH_NONE ? GRAPH_NONE : row_segment(graph, row);
}

uint32_t graph_stretch_of(const struct graph *graph, const struct event *e)
{
	uint32_t row = GRAPH_NONE, thread;

	if (!e->tid || (e->type == EVENT_wake && event_as(e, wake)->context != CONTEXT_thread) || e->type == EVENT_timer_fire ||
	    e->type == EVENT_interrupt || e->type == EVENT_maintenance || e->type == EVENT_block_complete ||
	    (e->type == EVENT_signal && event_as(e, signal)->context != CONTEXT_thread) ||
	    (e->type == EVENT_work_queue && event_as(e, work_queue)->context != CONTEXT_thread))
		row = node_of_event(graph, e->number, e->time);
	if (row != GRAPH_NONE)
		return row;
	thread = graph_thread_find(graph, e->tid, e->time);
	return thread == GRAPH_NONE ? GRAPH_NONE : row_at_event(graph, thread, e->time, e->number);
}

uint32_t graph_stretch_of_event(const struct graph *graph, uint64_t event)
{
	struct arena arena;
	const struct event *e;
	uint32_t row = GRAPH_NONE;

	if (!event || event >= UINT32_MAX)
		return GRAPH_NONE;
	arena_init(&arena);
	e = trace_event(graph->trace, &arena, event);
	if (e)
		row = graph_stretch_of(graph, e);
	arena_done(&arena);
	return row;
}

uint32_t graph_segment_of_event(const struct graph *graph, uint64_t event)
{
	uint32_t row = graph_stretch_of_event(graph, event);

	return row == GRAPH_NONE ? GRAPH_NONE : row_segment(graph, row);
}

uint32_t graph_segment_walk(const struct graph *graph, uint32_t segment)
{
	uint32_t thread = 0;

	if (segment != GRAPH_NONE) {
		uint32_t next = graph_segment_next(graph, segment);

		if (next != GRAPH_NONE)
			return next;
		thread = row_thread(graph, segment) + 1;
	}
	for (; thread < graph->threads.length; thread++)
		if (graph->threads.items[thread].rows)
			return row_at_place(graph, thread, 0);
	return GRAPH_NONE;
}

/* ---- waits ---- */

/* Whether the correction or a rule has cut the edge from the wake-up. */
bool wait_edge_removed(const struct graph *graph, uint32_t row)
{
	uint64_t key = row | 1ull << 63;

	if (map_find(&graph->correction.kept, key))
		return false;
	return graph->rows[row].flags & ROW_REMOVED || map_find(&graph->correction.cut_edges, key);
}

uint8_t wait_confidence(const struct graph *graph, const struct row *row)
{
	uint8_t confidence = graph->row_confidences[row->wake_rule];

	if (row_result(row) == RESULT_unknown)
		return 20; /* an interrupt of which nothing is known */
	return row->flags & ROW_EARLY && confidence > 90 ? 90 : confidence;
}

/* What the person joined to the end of the wait takes the place of its wake-up:
 * to its begin, to its wake-up, or to what the thread did when it was back. */
static void take_join(const struct graph *graph, uint32_t next, struct graph_wait *wait)
{
	for (size_t i = 0; i < graph->correction.joins.length; i++) {
		const struct stored_edge *join = &graph->correction.joins.items[i];

		if (join->to_row != next && join->to_event != wait->out_event && join->to_event != wait->wake_event)
			continue;
		wait->waker = row_thread(graph, join->from_row);
		wait->wake_event = join->from_event;
		wait->armer = GRAPH_NONE;
		wait->mechanism = MECHANISM_join;
		wait->confidence = join->confidence;
		wait->wake_rule = join->rule;
		wait->removed = false;
		if (wait->result != RESULT_open)
			wait->result = RESULT_woken;
	}
}

/* Of a row that is one, and the row behind it. */
static bool wait_of_row(const struct graph *graph, uint32_t number, uint32_t next, struct graph_wait *ret_wait)
{
	const struct row *row = &graph->rows[number];
	bool known = row->flags & ROW_WOKEN;

	if (!(row->flags & ROW_WAIT))
		return false;
	*ret_wait = (struct graph_wait){
		.wait = number,
		.thread = row_thread(graph, number),
		.segment = GRAPH_NONE,
		.next_segment = GRAPH_NONE,
		.out_ns = row_out_ns(graph, number),
		.in_ns = next == GRAPH_NONE ? UINT64_MAX : graph->rows[next].in_ns,
		.wake_ns = row_wake_ns(graph, number),
		.out_event = row->out_event,
		.in_event = next == GRAPH_NONE ? 0 : graph->rows[next].in_event,
		.wake_event = known ? row->wake_event : 0,
		.waker = known && row->wake_row != GRAPH_NONE ? row_thread(graph, row->wake_row) : GRAPH_NONE,
		.wake_segment = GRAPH_NONE,
		.result = next == GRAPH_NONE && row_result(row) != RESULT_gone ? RESULT_open : row_result(row),
		.kind = row->wait,
		.state = row->state_cause & 15,
		.cause = row->state_cause >> 4,
		.mechanism = known ? graph->row_mechanisms[row->wake_rule] : 0,
		.confidence = known ? wait_confidence(graph, row) : 0,
		.wake_rule = known ? graph->row_rules[row->wake_rule] : 0,
		.removed = known && wait_edge_removed(graph, number),
		.early = row->flags & ROW_EARLY,
		.idle = row->flags & ROW_IDLE || map_find(&graph->correction.idle, number),
		.syscall = row->syscall,
		.cpu = row->cpu,
		.object = row->object,
		.timeout_ns = short_time_ns(row->timeout),
		.hint = GRAPH_NONE,
		.armer = GRAPH_NONE,
		.hint_kind = row->flags & ROW_HINT_KIND,
	};
	if (row->hint)
		ret_wait->hint = graph_thread_find(graph, tables_hint_tid(graph->tables, ret_wait->thread, row->hint, ret_wait->hint_kind,
									  ret_wait->out_ns), ret_wait->out_ns);
	if (ret_wait->waker != GRAPH_NONE && graph->threads.items[ret_wait->waker].kind == GRAPH_SOURCE &&
	    graph->threads.items[ret_wait->waker].cause == WAKE_CAUSE_timer && graph->threads.items[ret_wait->waker].number)
		ret_wait->armer = graph_thread_find(graph, (uint32_t)graph->threads.items[ret_wait->waker].number, ret_wait->wake_ns);
	if (graph->correction.joins.length)
		take_join(graph, next, ret_wait);
	return true;
}

bool graph_wait_plain(const struct graph *graph, uint32_t number, struct graph_wait *ret_wait)
{
	return row_valid(graph, number) && wait_of_row(graph, number, row_next(graph, number), ret_wait);
}

bool graph_wait(const struct graph *graph, uint32_t number, struct graph_wait *ret_wait)
{
	const struct row *row;
	uint32_t next;

	if (!graph_wait_plain(graph, number, ret_wait))
		return false;
	row = &graph->rows[number];
	next = row_next(graph, number);
	ret_wait->segment = row_segment(graph, number);
	ret_wait->next_segment = next == GRAPH_NONE ? GRAPH_NONE : row_segment(graph, next);
	if (row->flags & ROW_WOKEN && row->wake_row != GRAPH_NONE)
		ret_wait->wake_segment = row_segment(graph, row->wake_row);
	return true;
}

const struct event *graph_wait_event(const struct graph *graph, struct arena *arena, uint32_t wait)
{
	if (!row_valid(graph, wait) || !(graph->rows[wait].flags & ROW_WAIT))
		return NULL;
	return trace_event(graph->trace, arena, graph->rows[wait].out_event);
}

const struct event *graph_wake_event(const struct graph *graph, struct arena *arena, uint32_t wait)
{
	if (!row_valid(graph, wait) || !(graph->rows[wait].flags & ROW_WOKEN))
		return NULL;
	return trace_event(graph->trace, arena, graph->rows[wait].wake_event);
}

struct graph_waits graph_waits_of(const struct graph *graph, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	struct graph_waits walk = { .graph = graph, .at = row_at_time(graph, thread, from_ns), .from_ns = from_ns, .to_ns = to_ns };

	if (walk.at == GRAPH_NONE && thread < graph->threads.length && graph->threads.items[thread].rows)
		walk.at = row_at_place(graph, thread, 0);
	/* A stretch that begins just at from_ns may follow a wait that ends there: not an overlap. */
	return walk;
}

bool graph_waits_next(struct graph_waits *walk, struct graph_wait *ret_wait)
{
	const struct graph *graph = walk->graph;

	while (walk->at != GRAPH_NONE) {
		uint32_t row = walk->at;

		if (graph->rows[row].in_ns > walk->to_ns)
			break;
		walk->at = row_next(graph, row);
		if (walk->plain ? !wait_of_row(graph, row, walk->at, ret_wait) : !graph_wait(graph, row, ret_wait))
			continue;
		if (ret_wait->out_ns <= walk->to_ns && ret_wait->in_ns >= walk->from_ns)
			return true;
	}
	walk->at = GRAPH_NONE;
	return false;
}

bool graph_waits_for(const struct graph *graph, uint32_t thread, uint64_t kinds)
{
	return thread < graph->threads.length && graph->threads.items[thread].waits & kinds;
}

/* Who woke it, GRAPH_NONE nobody. */
static uint32_t waker_of(const struct graph *graph, uint32_t row)
{
	const struct row *r = &graph->rows[row];

	if (!row_valid(graph, row) || !(r->flags & ROW_WAIT) || !(r->flags & ROW_WOKEN) || r->wake_row == GRAPH_NONE)
		return GRAPH_NONE;
	return row_thread(graph, r->wake_row);
}

uint32_t *graph_waits_by_waker(const struct graph *graph, uint32_t **ret_first)
{
	size_t threads = graph->threads.length;
	uint32_t rows = graph->block_count * ROW_BLOCK, total = 0;
	uint32_t *first = mem_zalloc(arena_array_bytes(sizeof(*first), threads + 2)), *waits;

	for (uint32_t row = 0; row < rows; row++) {
		uint32_t waker = waker_of(graph, row);

		if (waker != GRAPH_NONE)
			first[waker + 2]++;
	}
	for (size_t i = 0; i < threads; i++) {
		total += first[i + 2];
		first[i + 2] = total;
	}
	waits = mem_alloc(arena_array_bytes(sizeof(*waits), (size_t)total + 1));
	/* first[i + 1] is where the next of i goes, until all are there. */
	for (uint32_t row = 0; row < rows; row++) {
		uint32_t waker = waker_of(graph, row);

		if (waker != GRAPH_NONE)
			waits[first[waker + 1]++] = row;
	}
	*ret_first = first;
	return waits;
}

bool graph_gap_between(const struct graph *graph, uint64_t from_ns, uint64_t to_ns)
{
	size_t low = 0, high = graph->gaps.length;

	/* Gaps are few; those that begin before to_ns, latest first. */
	SEARCH(low, high, middle, graph->gaps.items[middle].from_ns < to_ns);
	while (low--)
		if (graph->gaps.items[low].to_ns > from_ns)
			return true;
	return false;
}

uint32_t graph_stretch_next(const struct graph *graph, uint32_t stretch)
{
	return row_valid(graph, stretch) ? row_next(graph, stretch) : GRAPH_NONE;
}

const struct graph_unread *graph_unread(const struct graph *graph, size_t *ret_count)
{
	*ret_count = graph->unread.length;
	return graph->unread.items;
}
