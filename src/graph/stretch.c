/* Stretches: coming in and going out of the processor, waits and their results,
 * splits of segments. */
#include <errno.h>

#include "graph/build.h"

void contradict(struct builder *b, enum graph_contradiction kind)
{
	struct graph_contradictions *c = &b->graph->contradictions;

	if (before_start(b))
		return; /* of what stands there is more that is not told */
	if (!c->count[kind]++)
		c->first_event[kind] = b->event;
	b->graph->stats.contradictions++;
}

/* Of the recorder's threads the switches from and to an idle processor are left
 * out, and their wake-ups: what is missing there contradicts nothing. */
static void contradict_of(struct builder *b, const struct slot *slot, enum graph_contradiction kind)
{
	if (!is_recorder(b, slot))
		contradict(b, kind);
}

struct row *slot_row(struct builder *b, const struct slot *slot)
{
	return &b->graph->rows[slot->row];
}

uint32_t row_begin(struct builder *b, struct slot *slot, uint64_t ns, uint32_t event, uint16_t cpu, unsigned rule, bool continues)
{
	struct graph *graph = b->graph;
	struct built_thread *thread;
	struct row *row;
	uint32_t number;

	if (slot->thread == GRAPH_NONE)
		slot_new_thread(b, slot);
	thread = &b->threads.items[slot->thread];
	number = store_new_row(graph, slot->thread, &thread->last_row, thread->rows++);
	row = &graph->rows[number];
	row->in_ns = ns;
	row->in_event = event;
	row->cpu = cpu;
	row->wake_row = GRAPH_NONE;
	row->syscall = (uint16_t)SYSCALL_NONE;
	row->rule = (uint8_t)rule;
	row->level = row_level(slot->facts.callout);
	row->flags = continues ? ROW_CONTINUES : 0;
	graph->stats.stretches++;
	if (continues)
		row->result_kind = (uint8_t)(row_kind(&graph->rows[slot->row]) << 4);
	else
		graph->stats.segments++;
	slot->row = number;
	slot->last_preemption = 0;
	return number;
}

/* From here on the trace is whole: what contradicts itself is wrong. */
static uint64_t believed_ns(const struct builder *b)
{
	return b->gap_to_ns > b->few_to_ns ? b->gap_to_ns : b->few_to_ns;
}

/* The absence behind the slot's row ends now: what is known of its cause is final. */
static void absence_end(struct builder *b, struct slot *slot)
{
	struct graph *graph = b->graph;
	struct graph_stats *stats = &graph->stats;
	struct row *row = slot_row(b, slot);

	if (b->gap_to_ns && row_out_ns(graph, slot->row) < b->gap_to_ns)
		row->flags |= ROW_GAP;
	if (!(row->flags & ROW_WAIT))
		return;
	stats->waits_ended++;
	slot->facts.wait = slot->facts.state = slot->facts.hint_kind = 0;
	slot->facts.object = 0;
	if (row->flags & ROW_WOKEN && row_wake_ns(graph, slot->row) < b->gap_to_ns) {
		/* Between this wake-up and now other ones may have been lost: it is kept,
		 * for whoever wants the best guess, but no edge. */
		row->flags |= ROW_REMOVED;
		row->wake_rule = BUILTIN_gap;
		row_set_result(row, RESULT_lost);
		stats->waits_in_gap++;
		return;
	}
	if (!(row->flags & ROW_WOKEN)) {
		if (row_out_ns(graph, slot->row) < b->few_to_ns)
			row->flags |= ROW_GAP;
		row_set_result(row, row->flags & ROW_GAP ? RESULT_lost : RESULT_unknown);
		if (row->flags & ROW_GAP) {
			stats->waits_in_gap++;
		} else {
			stats->waits_unexplained++;
			contradict(b, CONTRADICTION_in_without_wake); /* of the recorder's too: leave_out_recorder() */
		}
		return;
	}
	if (row_result(row) == RESULT_unknown)
		stats->waits_unexplained++;
	if (!(row->flags & ROW_REMOVED)) {
		stats->edges[graph->row_mechanisms[row->wake_rule]]++;
		rule_used(b, row_rule_number(b, row->wake_rule));
		stats->edges[MECHANISM_wait]++;
	}
}

/* A stretch goes on when the thread was only preempted; so most runs of a busy
 * thread are one row. */
static bool go_on(struct builder *b, struct slot *slot, uint64_t ns, uint16_t cpu)
{
	struct graph *graph = b->graph;
	struct row *row = slot_row(b, slot);
	uint64_t away, delta = row->length;
	uint32_t number;

	if (row->flags & (ROW_WAIT | ROW_LOST | ROW_SPLIT | ROW_LAST) || slot->split_rule || delta == UINT32_MAX)
		return false;
	away = ns > row->in_ns + delta ? ns - row->in_ns - delta : 0;
	if (away >= UINT32_MAX || row->in_ns + delta < b->gap_to_ns)
		return false;
	number = store_new_preemption(graph, &(struct preemption){ .out_delta = (uint32_t)delta, .away = (uint32_t)away, .cpu = cpu,
								   .yields = row->flags & ROW_YIELD ? 1 : 0 });
	if (slot->last_preemption)
		graph->preemptions[slot->last_preemption].next = number;
	else
		row->preemption = number;
	slot->last_preemption = number;
	row->flags &= (uint16_t)~(ROW_CLOSED | ROW_YIELD);
	row->out_event = 0;
	slot->status = SLOT_running;
	slot->cpu = cpu;
	slot->has_wake = false;
	graph->stats.preemptions++;
	return true;
}

void slot_come_in(struct builder *b, struct slot *slot, uint64_t ns, uint16_t cpu)
{
	unsigned rule = BUILTIN_first;
	bool continues = false, first = slot->row == GRAPH_NONE;
	unsigned kind = SEGMENT_plain;

	if (!first && slot->status == SLOT_runnable && go_on(b, slot, ns, cpu))
		return;
	if (!first) {
		absence_end(b, slot);
		kind = row_kind(slot_row(b, slot));
		rule = BUILTIN_switch;
		continues = !slot->split_rule;
		if (slot->split_rule) {
			rule = slot->split_rule;
			kind = slot->split_kind;
		}
	}
	row_begin(b, slot, ns, b->event, cpu, rule, continues);
	slot_row(b, slot)->result_kind = (uint8_t)(kind << 4);
	if (!continues && !first) {
		rule_used(b, row_rule_number(b, rule));
		b->graph->stats.edges[MECHANISM_next]++;
		if (slot->more)
			slot->more->peer = slot->more->sent_to = 0;
	}
	slot->split_rule = 0;
	/* a preemption, or a lock on the way, may come behind a copy */
	if (slot->status == SLOT_waiting && slot->facts.state == TASK_STATE_sleeping)
		slot->woken_ns = ns;
	slot->status = SLOT_running;
	slot->cpu = cpu;
	slot->has_wake = false;
	if (first && slot->more && slot->more->fork_event) {
		const struct slot_more *more = slot->more;
		struct slot *parent = slot_find(b, more->fork_tid);

		if (more->fork_row != GRAPH_NONE)
			edge_add(b, &(struct stored_edge){ .from_ns = more->fork_ns, .to_ns = ns, .from_row = more->fork_row,
							   .to_row = slot->row, .from_event = more->fork_event,
							   .to_event = b->event, .rule = BUILTIN_fork, .kind = MECHANISM_fork,
							   .confidence = mechanism_infos[MECHANISM_fork].confidence },
				 parent ? parent : &b->nobody, slot);
	}
}

static void leave_unseen(struct builder *b, struct slot *slot, uint64_t ns)
{
	struct row *row = slot_row(b, slot);

	row_set_out(b->graph, slot->row, ns);
	row->out_event = b->event;
	row->flags |= ROW_LOST;
	slot->status = SLOT_runnable;
}

/* Of a part of a trace that tells births and ends alone nothing tells the switches: who was seen on a processor has left
 * it when another is seen there. */
static void seen_on(struct builder *b, uint16_t cpu, uint32_t tid)
{
	struct cpu_state *state = &b->cpus.items[cpu];
	struct slot *before = state->current == UINT32_MAX && state->seen && state->seen != tid ? slot_find(b, state->seen) : NULL;

	if (before && before->status == SLOT_running && before->cpu == cpu) {
		leave_unseen(b, before, b->now_ns);
		state->last_switch_ns = b->now_ns;
	}
	state->seen = tid;
}

void slot_ensure(struct builder *b, struct slot *slot, uint16_t cpu)
{
	const struct cpu_state *state = &b->cpus.items[cpu];
	uint64_t ns = b->now_ns;

	seen_on(b, cpu, slot->facts.tid);
	if (slot->status == SLOT_running)
		return;
	if (slot->status == SLOT_gone) {
		/* Its number is in use again, or an event came late. */
		contradict(b, CONTRADICTION_dead);
		struct rule_facts facts = slot->facts;

		*slot = (struct slot){ .facts = facts, .thread = GRAPH_NONE, .row = GRAPH_NONE, .last_wait = GRAPH_NONE };
	} else if (slot->status != SLOT_new && row_out_ns(b->graph, slot->row) >= believed_ns(b)) {
		contradict_of(b, slot, CONTRADICTION_event_not_running);
	}
	/* It has been here since the processor's last switch, unless that is known otherwise. */
	if (slot->status == SLOT_new && !before_start(b) && (state->current == slot->facts.tid || state->current == UINT32_MAX))
		ns = slot->more && slot->more->fork_ns > state->last_switch_ns ? slot->more->fork_ns : state->last_switch_ns;
	slot_come_in(b, slot, ns, cpu);
}

uint64_t slot_last_ns(struct builder *b, const struct slot *slot)
{
	const struct row *row;
	uint64_t last, wake;

	if (slot->row == GRAPH_NONE)
		return slot->more ? slot->more->fork_ns : 0;
	row = slot_row(b, slot);
	if (slot->status == SLOT_running && !slot->last_preemption)
		return row->in_ns;
	if (slot->status == SLOT_running) {
		const struct preemption *p = &b->graph->preemptions[slot->last_preemption];

		return row->in_ns + p->out_delta + p->away;
	}
	last = row_out_ns(b->graph, slot->row);
	wake = row->flags & ROW_WOKEN ? row_wake_ns(b->graph, slot->row) : 0;
	return wake > last ? wake : last;
}

void slot_end_unseen(struct builder *b, struct slot *slot, uint64_t end_ns)
{
	struct row *row;

	if (slot->row == GRAPH_NONE)
		return;
	row = slot_row(b, slot);
	if (slot->status != SLOT_running) {
		if (row->flags & ROW_WAIT) {
			b->graph->stats.waits_ended++;
			b->graph->stats.waits_in_gap++;
			row_set_result(row, RESULT_lost);
			if (row->flags & ROW_WOKEN) {
				row->flags |= ROW_REMOVED;
				row->wake_rule = BUILTIN_gap;
			}
		}
		row_begin(b, slot, end_ns, b->event, slot->cpu, BUILTIN_lost, true);
		row = slot_row(b, slot);
	}
	row_set_out(b->graph, slot->row, end_ns);
	row->out_event = b->event;
	row->flags |= ROW_LAST;
	row_set_result(row, RESULT_gone);
	slot->status = SLOT_gone;
}

void slot_split(struct builder *b, struct slot *slot, bool before, unsigned row_rule, enum graph_segment_kind kind)
{
	struct row *row;

	if (!before || slot->status != SLOT_running || slot->row == GRAPH_NONE) {
		slot->split_rule = (uint8_t)row_rule;
		slot->split_kind = (uint8_t)kind;
		if (slot->status != SLOT_running || slot->row == GRAPH_NONE)
			return;
	}
	row = slot_row(b, slot);
	/* A segment that holds nothing yet takes the new meaning instead. */
	if (before && row->in_event == b->event) {
		row->rule = (uint8_t)row_rule;
		row->result_kind = (uint8_t)(kind << 4);
		row->flags &= (uint16_t)~ROW_CONTINUES;
		return;
	}
	row_set_out(b->graph, slot->row, b->now_ns);
	row->out_event = before ? b->event - 1 : b->event;
	row->flags |= ROW_SPLIT;
	slot->split_rule = 0;
	row_begin(b, slot, b->now_ns, before ? b->event : b->event + 1, slot->cpu, row_rule, false);
	slot_row(b, slot)->result_kind = (uint8_t)(kind << 4);
	rule_used(b, row_rule_number(b, row_rule));
	b->graph->stats.edges[MECHANISM_next]++;
	if (slot->more)
		slot->more->peer = slot->more->sent_to = 0;
}

static void wait_begin(struct builder *b, struct slot *slot, const struct event_switch *s)
{
	struct row *row = slot_row(b, slot);

	row->flags |= ROW_WAIT | (s->hint_kind & ROW_HINT_KIND);
	row->object = s->object;
	row->hint = s->hint;
	row->timeout = short_time_code(s->timeout_ns);
	row->syscall = s->syscall;
	row->wait = s->wait;
	row->state_cause = (uint8_t)((row->state_cause & 0xf0) | (s->state & 15));
	row_set_result(row, RESULT_open);
	slot->facts.wait = s->wait;
	slot->facts.state = s->state;
	slot->facts.hint_kind = s->hint_kind;
	slot->facts.object = s->object;
	slot->facts.timeout = s->timeout_ns;
	slot->facts.argument = s->argument;
	slot->facts.syscall = s->syscall;
	slot->last_wait = slot->row;
	b->threads.items[slot->thread].waits |= 1ull << (s->wait & 63);
	b->graph->stats.waits++;
}

static void switch_out(struct builder *b, const struct event *e, const struct event_switch *s)
{
	struct slot *slot = slot_at(b, e->tid);
	const struct event_program *program = &b->program.events[EVENT_switch];
	struct row *row;

	if (slot->status != SLOT_running) {
		if (slot->status == SLOT_waiting || slot->status == SLOT_runnable)
			if (row_out_ns(b->graph, slot->row) >= believed_ns(b))
				contradict_of(b, slot, CONTRADICTION_switch_not_running);
		slot_ensure(b, slot, e->cpu);
	} else if (slot->cpu != e->cpu && slot_row(b, slot)->in_ns >= believed_ns(b)) {
		contradict_of(b, slot, CONTRADICTION_switch_not_running);
	}
	row_set_out(b->graph, slot->row, e->time);
	row = slot_row(b, slot);
	row->out_event = b->event;
	if (s->state == TASK_STATE_running) {
		slot->status = SLOT_runnable;
		row->flags |= s->wait == WAIT_KIND_yield ? ROW_YIELD : 0;
		row->syscall = s->syscall;
		if (slot->has_wake)
			wake_spurious(b);
		slot->has_wake = false;
	} else if (s->state == TASK_STATE_dead) {
		slot->status = SLOT_gone;
		row->flags |= ROW_LAST;
		row_set_result(row, RESULT_gone);
	} else {
		slot->status = SLOT_waiting;
		wait_begin(b, slot, s);
		if (slot->has_wake) {
			wake_judge_again(b, slot);
			wake_attach(b, slot, &slot->wake);
		}
	}
	if (program->after.length) {
		struct rule_scene scene = { .data = e->data, .thread = &slot->facts, .target = NULL, .tail = "", .cpu = e->cpu };

		for (size_t i = 0; i < program->after.length; i++)
			if (condition_holds(&program->after.items[i].rule->where, &scene)) {
				slot->split_rule = program->after.items[i].row_rule;
				slot->split_kind = (uint8_t)program->after.items[i].rule->segment;
				break;
			}
	}
}

void switch_event(struct builder *b, const struct event *e)
{
	const struct event_switch *s = event_as(e, switch);
	struct cpu_state *cpu = &b->cpus.items[e->cpu];

	if (cpu->current != e->tid && cpu->current && cpu->current != UINT32_MAX) {
		struct slot *current = slot_find(b, cpu->current);

		/* Whoever was here has left without a word. */
		if (current && current->status == SLOT_running && current->cpu == e->cpu) {
			if (slot_row(b, current)->in_ns >= believed_ns(b))
				contradict_of(b, current, CONTRADICTION_switch_not_running);
			leave_unseen(b, current, e->time);
		}
	}
	seen_on(b, e->cpu, e->tid);
	if (e->tid)
		switch_out(b, e, s);
	cpu = &b->cpus.items[e->cpu];
	cpu->last_switch_ns = e->time;
	cpu->current = s->next;
	cpu->node = GRAPH_NONE;
	if (s->next && s->next != e->tid) {
		struct slot *next = slot_at(b, s->next);

		if (next->status == SLOT_running) {
			/* Its way out was lost, or the trace contradicts itself. */
			if (slot_row(b, next)->in_ns >= believed_ns(b))
				contradict_of(b, next, CONTRADICTION_switch_not_running);
			leave_unseen(b, next, e->time);
		} else if (next->status == SLOT_gone) {
			struct rule_facts facts = next->facts;

			contradict(b, CONTRADICTION_dead);
			*next = (struct slot){ .facts = facts, .thread = GRAPH_NONE, .row = GRAPH_NONE,
					       .last_wait = GRAPH_NONE };
		}
		slot_come_in(b, next, e->time, e->cpu);
	}
}

void waiting_event(struct builder *b, const struct event *e)
{
	const struct event_waiting *w = event_as(e, waiting);
	struct slot *slot = slot_at(b, e->tid);
	struct row *row;
	uint64_t since = w->since_ns && w->since_ns < e->time ? w->since_ns : e->time;

	if (slot->status == SLOT_waiting) {
		/* Known already; the snapshot may know more than the switch did. */
		row = slot_row(b, slot);
		if (waiting_is_stale(w, row->object, row_out_ns(b->graph, slot->row)))
			return;
		if (!row->object)
			row->object = slot->facts.object = w->object;
		if (!(row->flags & ROW_HINT_KIND) && w->hint_kind) {
			row->hint = w->hint;
			row->flags |= w->hint_kind & ROW_HINT_KIND;
			slot->facts.hint_kind = w->hint_kind;
		}
		return;
	}
	if (slot->status != SLOT_new || w->state == TASK_STATE_dead)
		return;
	if (w->state == TASK_STATE_running) {
		/* in the queue for a processor; one that has it is known by what it does */
		if (w->flags & SWITCH_FLAGS_preempted && !w->wait) {
			row_begin(b, slot, e->time, b->event, e->cpu, BUILTIN_found, false);
			row_set_out(b->graph, slot->row, e->time);
			slot_row(b, slot)->out_event = b->event;
			slot->status = SLOT_runnable;
			slot->split_rule = BUILTIN_found;
		}
		return;
	}
	row_begin(b, slot, since, b->event, e->cpu, BUILTIN_found, false);
	row_set_out(b->graph, slot->row, since);
	row = slot_row(b, slot);
	row->out_event = b->event;
	slot->status = SLOT_waiting;
	slot->split_rule = BUILTIN_found;
	wait_begin(b, slot, &(struct event_switch){
		.object = w->object, .timeout_ns = w->timeout_ns, .detail = w->detail, .hint = w->hint,
		.argument = w->argument, .ustack = w->ustack, .kstack = w->kstack, .syscall = w->syscall,
		.state = w->state, .wait = w->wait, .hint_kind = w->hint_kind, .flags = w->flags });
}

void wait_told_result(struct builder *b, struct slot *slot, int64_t result, uint64_t began_ns, unsigned syscall)
{
	struct row *row;

	if (slot->last_wait == GRAPH_NONE)
		return;
	row = &b->graph->rows[slot->last_wait];
	if (row_out_ns(b->graph, slot->last_wait) < began_ns || row->syscall != syscall) {
		slot->last_wait = GRAPH_NONE;
		return;
	}
	slot->last_wait = GRAPH_NONE;
	if (row_result(row) == RESULT_lost || row_result(row) == RESULT_open)
		return;
	if (result == -ETIMEDOUT || result == -ETIME)
		row_set_result(row, RESULT_timeout);
	else if (result == -EINTR || (result <= -512 && result >= -516))
		row_set_result(row, RESULT_signal);
	else if (result == 0 && row->timeout && (row->wait == WAIT_KIND_poll || row->wait == WAIT_KIND_epoll))
		row_set_result(row, RESULT_timeout);
	else if (result == 0 && row->wait == WAIT_KIND_sleep)
		row_set_result(row, RESULT_timeout);
	else if (result < 0 && result != -EAGAIN)
		row_set_result(row, RESULT_error);
}
