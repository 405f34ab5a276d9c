/* Nodes that are no thread's work: interrupts and housekeeping, each a segment
 * of its source, and gaps. */
#include "graph/build.h"

/* Wake-ups of one interrupt follow one another at once. */
#define SAME_INTERRUPT_NS 1000000u

static uint32_t node_begin(struct builder *b, uint32_t thread, uint64_t from_ns, uint64_t to_ns, uint32_t event, uint16_t cpu,
			   unsigned row_rule, enum graph_segment_kind kind, uint32_t interrupted)
{
	struct graph *graph = b->graph;
	struct built_thread *source = &b->threads.items[thread];
	struct row *row;
	uint32_t number;

	/* A source's nodes are kept in the order of time, as a thread's stretches are. */
	if (source->rows && graph->rows[source->last_row].in_ns > from_ns)
		from_ns = graph->rows[source->last_row].in_ns;
	if (to_ns < from_ns)
		to_ns = from_ns;
	number = store_new_row(graph, thread, &source->last_row, source->rows++);
	row = &graph->rows[number];
	row->in_ns = from_ns;
	row->in_event = row->out_event = event;
	row->cpu = cpu;
	row->wake_row = GRAPH_NONE;
	row->syscall = (uint16_t)SYSCALL_NONE;
	row->rule = (uint8_t)row_rule;
	row->result_kind = (uint8_t)(kind << 4);
	row->hint = interrupted;
	row_set_out(graph, number, to_ns);
	graph->rows[number].flags |= ROW_SPLIT;
	graph->stats.stretches++;
	graph->stats.segments++;
	rule_used(b, row_rule_number(b, row_rule));
	return number;
}

static void open_node(struct builder *b, uint16_t cpu, uint32_t row, uint64_t key)
{
	struct cpu_state *state = &b->cpus.items[cpu];

	state->node = row;
	state->node_event = b->event;
	state->node_key = key;
	state->node_sends = false;
	state->woken = 0;
	state->first_target = 0;
}

/* Nothing else happened on the processor since the interrupt's last event. */
static bool still_runs(const struct builder *b, const struct event *e)
{
	const struct cpu_state *cpu = &b->cpus.items[e->cpu];

	return cpu->node != GRAPH_NONE && cpu->last_event == cpu->node_event &&
	       e->time - row_out_ns(b->graph, cpu->node) <= SAME_INTERRUPT_NS;
}

static uint32_t node_extend(struct builder *b, const struct event *e)
{
	struct cpu_state *cpu = &b->cpus.items[e->cpu];

	b->graph->rows[cpu->node].out_event = b->event;
	row_set_out(b->graph, cpu->node, e->time);
	cpu->node_event = b->event;
	return cpu->node;
}

uint32_t node_isolate(struct builder *b, const struct event *e, const struct boundary *boundary)
{
	uint64_t number = 0, duration = 0, key = 0;
	uint8_t cause = WAKE_CAUSE_unknown;
	bool sends = false;
	uint32_t row;

	/* what an interrupt sends or queues is its own doing */
	if ((e->type == EVENT_signal || e->type == EVENT_work_queue) && still_runs(b, e))
		return node_extend(b, e);
	switch (e->type) {
	case EVENT_interrupt:
		cause = WAKE_CAUSE_device;
		duration = event_as(e, interrupt)->duration_ns;
		number = event_as(e, interrupt)->number | (uint64_t)event_as(e, interrupt)->context << 32;
		break;
	case EVENT_maintenance:
		cause = event_as(e, maintenance)->kind == MAINTENANCE_KIND_rcu ? WAKE_CAUSE_rcu : WAKE_CAUSE_balance;
		duration = event_as(e, maintenance)->duration_ns;
		break;
	case EVENT_timer_fire:
		cause = WAKE_CAUSE_timer;
		key = event_as(e, timer_fire)->timer;
		number = event_as(e, timer_fire)->armer;
		sends = event_as(e, timer_fire)->kind == TIMER_KIND_posix || event_as(e, timer_fire)->kind == TIMER_KIND_itimer;
		break;
	case EVENT_signal:
		cause = WAKE_CAUSE_signal;
		break;
	case EVENT_work_queue:
		cause = WAKE_CAUSE_work;
		sends = true;
		break;
	case EVENT_block_complete:
		cause = WAKE_CAUSE_block_io;
		key = event_as(e, block_complete)->request;
		number = event_as(e, block_complete)->device;
		break;
	default:
		number = e->type;
		break;
	}
	row = node_begin(b, source_thread(b, GRAPH_SOURCE, cause, number), e->time - (duration < e->time ? duration : 0), e->time,
			 b->event, e->cpu, boundary->row_rule, (enum graph_segment_kind)boundary->rule->segment, e->tid);
	if (!duration) {
		open_node(b, e->cpu, row, key);
		b->cpus.items[e->cpu].node_sends = sends;
	}
	return row;
}

bool is_recorder(const struct builder *b, const struct slot *slot)
{
	return slot->recorder || (b->recorder_pid && slot->facts.pid == b->recorder_pid);
}

static uint32_t source_of_wake(struct builder *b, uint32_t waker, const struct event_wake *wake)
{
	const struct slot *slot = wake->context == CONTEXT_thread && waker ? slot_find(b, waker) : NULL;
	uint64_t number = 0;

	if (slot && is_recorder(b, slot))
		return source_thread(b, GRAPH_SOURCE, WAKE_CAUSE_thread, slot->facts.pid);
	switch (wake->cause) {
	case WAKE_CAUSE_timer:
	case WAKE_CAUSE_other_cpu:
		number = wake->armer;
		break;
	case WAKE_CAUSE_device:
		number = (wake->source & UINT32_MAX) | (uint64_t)wake->context << 32;
		break;
	case WAKE_CAUSE_unknown:
		number = (uint64_t)wake->vector | (uint64_t)wake->context << 32;
		break;
	default:
		break;
	}
	return source_thread(b, GRAPH_SOURCE, wake->cause & 15, number);
}

bool node_goes_on(struct builder *b, const struct event *e, const struct event_wake *wake)
{
	const struct cpu_state *cpu = &b->cpus.items[e->cpu];

	if (!still_runs(b, e))
		return false;
	if (cpu->node_sends)
		return wake->cause == WAKE_CAUSE_timer || wake->cause == WAKE_CAUSE_signal || wake->cause == WAKE_CAUSE_work;
	return cpu->node_key == wake->source &&
	       (cpu->node_key || b->graph->blocks[cpu->node / ROW_BLOCK].thread == source_of_wake(b, e->tid, wake));
}

uint32_t node_of_wake(struct builder *b, const struct event *e, const struct event_wake *wake, bool goes_on)
{
	struct cpu_state *cpu = &b->cpus.items[e->cpu];
	uint32_t row;

	if (goes_on) {
		cpu->woken++;
		return node_extend(b, e);
	}
	row = node_begin(b, source_of_wake(b, e->tid, wake), e->time, e->time, b->event, e->cpu, BUILTIN_interrupt, SEGMENT_interrupt, e->tid);
	open_node(b, e->cpu, row, wake->source);
	cpu->woken = 1;
	return row;
}

void gaps_until(struct builder *b, uint64_t ns)
{
	struct graph *graph = b->graph;

	while (b->next_gap < graph->gaps.length && graph->gaps.items[b->next_gap].from_ns <= ns) {
		const struct trace_gap *gap = &graph->gaps.items[b->next_gap++];

		node_begin(b, source_thread(b, GRAPH_GAPS, 0, gap->cpu), gap->from_ns, gap->to_ns, b->event,
			   gap->cpu <= UINT16_MAX ? (uint16_t)gap->cpu : UINT16_MAX, BUILTIN_gap, SEGMENT_gap, 0);
		if (gap->reason == GAP_REASON_nested) {
			b->few_to_ns = gap->to_ns > b->few_to_ns ? gap->to_ns : b->few_to_ns;
			continue;
		}
		messages_gap(b, gap->to_ns); /* before the gap, joins still count */
		if (gap->to_ns > b->gap_to_ns)
			b->gap_to_ns = gap->to_ns;
		b->gap_epoch++;
	}
}
