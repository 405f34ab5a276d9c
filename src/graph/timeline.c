/* A thread's time, interval by interval; who had a processor; a thread's events. */
#include <stdlib.h>

#include "graph/store.h"
#include "trace/part.h"

#define STRETCHES_LOOKED_AT 256 /* for the processors that a thread ran on */

enum phase { PHASE_before, PHASE_enter, PHASE_running, PHASE_preempted, PHASE_waiting, PHASE_runnable, PHASE_after };

struct graph_timeline graph_timeline_of(const struct graph *graph, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	struct graph_timeline t = { .graph = graph, .thread = thread, .now_ns = from_ns, .to_ns = to_ns };

	t.at = row_at_time(graph, thread, from_ns);
	t.phase = t.at == GRAPH_NONE ? PHASE_before : PHASE_enter;
	return t;
}

/* Fills an interval that ends at end_ns, if any of it lies ahead. */
static bool reach(struct graph_timeline *t, enum graph_interval_kind kind, uint64_t end_ns, struct graph_interval *interval)
{
	if (end_ns > t->to_ns)
		end_ns = t->to_ns;
	if (end_ns <= t->now_ns)
		return false;
	*interval = (struct graph_interval){ .kind = kind, .start_ns = t->now_ns, .end_ns = end_ns, .segment = GRAPH_NONE,
					     .stretch = GRAPH_NONE, .cpu = UINT16_MAX };
	t->now_ns = end_ns;
	if (t->at != GRAPH_NONE && t->phase != PHASE_before && kind != INTERVAL_absent) {
		interval->stretch = t->at;
		interval->segment = t->plain ? GRAPH_NONE : row_segment(t->graph, t->at);
		interval->cpu = t->cpu;
	}
	return true;
}

/* Since when what a thread did may be among lost events, behind what is known of it; UINT64_MAX: nothing is. */
static uint64_t lost_after(const struct graph *graph, uint64_t last_ns)
{
	for (size_t i = 0; i < graph->gaps.length; i++) {
		const struct trace_gap *gap = &graph->gaps.items[i];

		/* of few events, or behind the last moments, what is there is believed */
		if (gap->to_ns > last_ns && gap->reason != GAP_REASON_nested && gap->reason != GAP_REASON_unwritten)
			return gap->from_ns > last_ns ? gap->from_ns : last_ns;
	}
	return UINT64_MAX;
}

/* Nothing tells that it ever ran. It may have, and have ended, before this part of the trace, of which a part knows no
 * more than that it was created, or while events were lost. */
static bool may_have_run_unseen(const struct graph *graph, uint64_t created)
{
	const struct trace_summary *part = trace_summary(graph->trace);

	if (created < part->start_ns)
		return true;
	return lost_after(graph, created) != UINT64_MAX;
}

static bool before_first(struct graph_timeline *t, struct graph_interval *interval)
{
	const struct graph *graph = t->graph;
	const struct thread *entry = t->thread < graph->tables->thread_count ? &graph->tables->threads[t->thread] : NULL;
	uint64_t created = entry ? entry->start_ns : 0, first = UINT64_MAX;
	bool in_trace = created >= trace_summary(trace_whole(graph->trace))->start_ns && created;

	if (created && reach(t, INTERVAL_absent, created, interval))
		return true;
	if (t->thread < graph->threads.length && graph->threads.items[t->thread].rows) {
		t->at = row_at_place(graph, t->thread, 0);
		first = graph->rows[t->at].in_ns;
	} else if (entry) {
		first = entry->end_ns;
		in_trace &= !may_have_run_unseen(graph, created);
	}
	/* Between creation and first run a new thread is runnable. */
	if (reach(t, in_trace ? INTERVAL_runnable : INTERVAL_unknown, first, interval))
		return true;
	t->phase = t->at == GRAPH_NONE ? PHASE_after : PHASE_enter;
	return false;
}

static bool after_last(struct graph_timeline *t, struct graph_interval *interval)
{
	const struct graph *graph = t->graph;
	const struct thread *entry = t->thread < graph->tables->thread_count ? &graph->tables->threads[t->thread] : NULL;

	if (entry && entry->end_ns != UINT64_MAX && t->now_ns < entry->end_ns)
		return reach(t, INTERVAL_unknown, entry->end_ns, interval);
	return reach(t, entry && entry->end_ns != UINT64_MAX ? INTERVAL_absent : INTERVAL_unknown, t->to_ns, interval);
}

static bool step(struct graph_timeline *t, struct graph_interval *interval)
{
	const struct graph *graph = t->graph;
	const struct row *row = t->at == GRAPH_NONE ? NULL : &graph->rows[t->at];
	uint32_t next = t->next;
	uint64_t end = t->end_ns, out, wake;

	switch ((enum phase)t->phase) {
	case PHASE_before:
		return before_first(t, interval);
	case PHASE_enter:
		t->next = row_next(graph, t->at);
		t->end_ns = t->next == GRAPH_NONE ? UINT64_MAX : graph->rows[t->next].in_ns;
		t->preemption = row->preemption;
		t->cpu = row->cpu;
		t->phase = PHASE_running;
		return false;
	case PHASE_running:
		if (t->preemption) {
			t->phase = PHASE_preempted;
			return reach(t, INTERVAL_running, row->in_ns + graph->preemptions[t->preemption].out_delta, interval);
		}
		t->phase = PHASE_waiting;
		if (!(row->flags & ROW_CLOSED) && next == GRAPH_NONE)
			return reach(t, INTERVAL_running, UINT64_MAX, interval);
		out = row_out_ns(graph, t->at);
		return reach(t, INTERVAL_running, out < end ? out : end, interval);
	case PHASE_preempted: {
		const struct preemption *p = &graph->preemptions[t->preemption];

		t->phase = PHASE_running;
		t->preemption = p->next;
		t->cpu = p->cpu;
		return reach(t, INTERVAL_runnable, row->in_ns + p->out_delta + p->away, interval);
	}
	case PHASE_waiting:
		t->phase = PHASE_runnable;
		if (!(row->flags & ROW_WAIT))
			return false;
		if (row->flags & ROW_GAP && !(row->flags & ROW_WOKEN))
			return reach(t, INTERVAL_lost, end, interval);
		wake = row_wake_ns(graph, t->at);
		return reach(t, INTERVAL_waiting, wake < end ? wake : end, interval);
	case PHASE_runnable:
		if (row->flags & ROW_LAST) {
			t->phase = PHASE_after;
			return reach(t, INTERVAL_absent, UINT64_MAX, interval);
		}
		/* It was never seen to run again: where events were lost it may have, and have ended. */
		if (next == GRAPH_NONE) {
			out = row_out_ns(graph, t->at);
			wake = row->flags & ROW_WOKEN ? row_wake_ns(graph, t->at) : 0;
			out = lost_after(graph, wake > out ? wake : out);
			if (out != UINT64_MAX)
				return reach(t, INTERVAL_runnable, out, interval) || reach(t, INTERVAL_lost, UINT64_MAX, interval);
		}
		if (reach(t, row->flags & ROW_LOST && !(row->flags & ROW_WAIT) ? INTERVAL_lost : INTERVAL_runnable, end, interval)) {
			if (next != GRAPH_NONE && interval->kind == INTERVAL_runnable)
				interval->cpu = graph->rows[next].cpu;
			return true;
		}
		t->at = next;
		t->phase = next == GRAPH_NONE ? PHASE_after : PHASE_enter;
		return false;
	case PHASE_after:
		break;
	}
	return after_last(t, interval);
}

bool graph_timeline_next(struct graph_timeline *timeline, struct graph_interval *ret_interval)
{
	while (timeline->now_ns < timeline->to_ns)
		if (step(timeline, ret_interval))
			return true;
	return false;
}

int graph_cpu_stays(const struct graph *graph, uint32_t cpu, uint64_t from_ns, uint64_t to_ns,
		    bool (*visit)(void *data, uint32_t thread, uint64_t start_ns, uint64_t end_ns), void *data)
{
	struct trace_filter filter = { .from_ns = from_ns };
	struct trace_cursor *cursor;
	const struct event *e;
	uint64_t start = from_ns;

	trace_filter_add(&filter, EVENT_switch);
	cursor = trace_cursor_new(graph->trace, &filter);
	while (start < to_ns && (e = trace_cursor_next(cursor))) {
		uint64_t end = e->time < to_ns ? e->time : to_ns;
		uint32_t thread;

		if (e->cpu != cpu)
			continue;
		thread = e->tid ? graph_thread_find(graph, e->tid, start) : 0;
		if (end > start && !visit(data, thread == GRAPH_NONE ? 0 : thread, start, end))
			break;
		start = end;
	}
	trace_cursor_free(cursor);
	return 0;
}

/* Processors that the thread ran on in the window, as a filter has them; 0 not known. */
static uint64_t cpus_of(const struct graph *graph, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	uint32_t row = row_at_time(graph, thread, from_ns);
	uint64_t cpus = 0;
	unsigned looked = 0;

	if (row == GRAPH_NONE || !row_place(graph, row))
		return 0;
	for (; row != GRAPH_NONE && graph->rows[row].in_ns <= to_ns; row = row_next(graph, row)) {
		const struct row *r = &graph->rows[row];

		if (r->flags & (ROW_LOST | ROW_GAP) || ++looked > STRETCHES_LOOKED_AT)
			return 0;
		cpus |= 1ull << r->cpu % 64;
		for (uint32_t at = r->preemption; at; at = graph->preemptions[at].next) {
			if (++looked > STRETCHES_LOOKED_AT)
				return 0;
			cpus |= 1ull << graph->preemptions[at].cpu % 64;
		}
	}
	return cpus;
}

struct graph_events graph_events_of(const struct graph *graph, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
				    const struct trace_filter *types)
{
	struct trace_filter filter = types ? *types : (struct trace_filter){ 0 };
	struct graph_events walk = { .graph = graph, .thread = thread };

	if (thread < graph->threads.length)
		walk.tid = graph->threads.items[thread].tid;
	if (!walk.tid)
		return walk;
	filter.from_ns = from_ns;
	filter.to_ns = to_ns;
	if (filter.unnumbered)
		filter.cpus = cpus_of(graph, thread, from_ns, to_ns);
	walk.cursor = trace_cursor_new(graph->trace, &filter);
	return walk;
}

const struct event *graph_events_next(struct graph_events *walk)
{
	const struct event *e;

	while (walk->cursor && (e = trace_cursor_next(walk->cursor)))
		if (e->tid == walk->tid && graph_thread_find(walk->graph, e->tid, e->time) == walk->thread)
			return e;
	return NULL;
}

void graph_events_done(struct graph_events *walk)
{
	trace_cursor_free(walk->cursor);
	walk->cursor = NULL;
}
