/* One event at a time: to the parts that know its type, then through the rules. */
#include "graph/build.h"

static bool where_holds(const struct builder *b, const struct condition *where, const struct event *e, const struct slot *slot)
{
	struct rule_scene scene = scene_of(b, e, slot);

	return condition_holds(where, &scene);
}

static void callout_enter(struct builder *b, const struct boundary *boundary, struct slot *slot)
{
	struct slot_more *more = slot_more(b, slot);
	unsigned level = slot->facts.callout;

	if (level < sizeof(more->callout_rules)) {
		more->callout_rules[level] = boundary->row_rule;
		more->callout_kinds[level] = (uint8_t)row_kind(slot_row(b, slot));
	}
	if (level < UINT16_MAX)
		slot->facts.callout++;
	slot_split(b, slot, true, boundary->row_rule, (enum graph_segment_kind)boundary->rule->segment);
	slot_row(b, slot)->level = row_level(slot->facts.callout) | LEVEL_BEGINS;
}

/* The level of the innermost callback that the end belongs to, 0 none. Of more levels than are kept all may be meant. */
static unsigned callout_of(struct builder *b, const struct boundary *boundary, struct slot *slot)
{
	const struct slot_more *more = slot_more(b, slot);
	unsigned level = slot->facts.callout;

	while (level && level <= sizeof(more->callout_rules) && more->callout_rules[level - 1] != boundary->row_rule)
		level--;
	return level;
}

/* Callbacks inside of it end with it: theirs was not seen (an exception, a long jump). */
static void callout_leave(struct builder *b, const struct boundary *boundary, struct slot *slot, unsigned level)
{
	struct slot_more *more = slot_more(b, slot);
	unsigned kind = SEGMENT_plain;

	slot->facts.callout = (uint16_t)--level;
	if (level < sizeof(more->callout_rules))
		kind = more->callout_kinds[level];
	slot_split(b, slot, false, boundary->row_rule, (enum graph_segment_kind)kind);
	slot_row(b, slot)->level = row_level(level);
}

/* Of several rules whose end this is, that of the innermost callback that is open. */
static void callouts_end(struct builder *b, const struct event_program *program, const struct event *e, struct slot *slot)
{
	const struct boundary *innermost = NULL;
	unsigned level = 0;
	bool is_end = false;

	for (size_t i = 0; i < program->leave.length; i++) {
		const struct boundary *boundary = &program->leave.items[i];
		unsigned at;

		if (!where_holds(b, &boundary->rule->end_where, e, slot))
			continue;
		is_end = true;
		at = callout_of(b, boundary, slot);
		if (at > level) {
			level = at;
			innermost = boundary;
		}
	}
	if (innermost)
		callout_leave(b, innermost, slot, level);
	else if (is_end && !b->callouts_cut)
		contradict(b, CONTRADICTION_callout);
}

static void callouts_cut(struct builder *b, struct slot *slot)
{
	if (!slot->facts.callout)
		return;
	slot->facts.callout = 0;
	slot_split(b, slot, true, BUILTIN_gap, SEGMENT_plain);
	if (slot->status == SLOT_running && slot->row != GRAPH_NONE)
		slot_row(b, slot)->level = 0;
}

/* Probes were turned off, or on: which callbacks have ended meanwhile nobody tells. */
static void callouts_cut_all(struct builder *b)
{
	size_t at = 0;

	b->callouts_cut = true;
	for (unsigned page = 0; page < SLOT_PAGES; page++)
		for (unsigned i = 0; b->pages[page] && i < SLOT_PAGE; i++)
			callouts_cut(b, &b->pages[page][i]);
	for (const struct map_slot *slot; (slot = map_next(&b->far_slots, &at)); )
		callouts_cut(b, (struct slot *)(uintptr_t)slot->value);
}

/* Events whose thread is only the one that was interrupted. */
static bool is_interrupt(unsigned type)
{
	return type == EVENT_timer_fire || type == EVENT_interrupt || type == EVENT_maintenance || type == EVENT_block_complete;
}

static void thread_event(struct builder *b, const struct event *e)
{
	const struct event_program *program = &b->program.events[e->type];
	struct slot *slot = e->tid ? slot_at(b, e->tid) : &b->nobody;
	uint32_t row;

	if (program->isolate.length) {
		for (size_t i = 0; i < program->isolate.length; i++) {
			const struct boundary *boundary = &program->isolate.items[i];

			if (where_holds(b, &boundary->rule->where, e, slot)) {
				row = node_isolate(b, e, boundary);
				edges_of_event(b, e, slot, row);
				return;
			}
		}
	}
	if (e->tid && !is_interrupt(e->type))
		slot_ensure(b, slot, e->cpu);
	if (program->any && slot->row != GRAPH_NONE) {
		for (size_t i = 0; i < program->before.length; i++)
			if (where_holds(b, &program->before.items[i].rule->where, e, slot)) {
				slot_split(b, slot, true, program->before.items[i].row_rule,
					   (enum graph_segment_kind)program->before.items[i].rule->segment);
				break;
			}
		for (size_t i = 0; i < program->enter.length; i++)
			if (where_holds(b, &program->enter.items[i].rule->where, e, slot))
				callout_enter(b, &program->enter.items[i], slot);
	}
	switch (e->type) {
	case EVENT_message:
		message_event(b, e, slot);
		break;
	case EVENT_file_lock:
		file_lock_event(b, e, slot);
		break;
	case EVENT_syscall: {
		const struct event_syscall *s = event_as(e, syscall);

		wait_told_result(b, slot, (int64_t)s->result, e->time - s->duration_ns, s->number);
		break;
	}
	case EVENT_queue_message: {
		const struct event_queue_message *q = event_as(e, queue_message);

		wait_told_result(b, slot, (int32_t)q->result, e->time - q->duration_ns, q->number);
		break;
	}
	case EVENT_fork:
	case EVENT_exec:
	case EVENT_rename:
		life_event(b, e, slot);
		break;
	case EVENT_probe_switch:
		callouts_cut_all(b);
		break;
	default:
		break;
	}
	if (!program->any)
		return;
	edges_of_event(b, e, slot, slot->row);
	if (slot->row == GRAPH_NONE)
		return;
	callouts_end(b, program, e, slot);
	for (size_t i = 0; i < program->after.length; i++)
		if (where_holds(b, &program->after.items[i].rule->where, e, slot)) {
			slot_split(b, slot, false, program->after.items[i].row_rule,
				   (enum graph_segment_kind)program->after.items[i].rule->segment);
			break;
		}
}

static struct cpu_state *cpu_at(struct builder *b, uint32_t cpu)
{
	while (b->cpus.length <= cpu)
		vec_push(&b->cpus, ((struct cpu_state){ .last_switch_ns = b->start_ns, .current = UINT32_MAX, .node = GRAPH_NONE }));
	return &b->cpus.items[cpu];
}

static void state_event(struct builder *b, const struct event *e)
{
	switch (e->type) {
	case EVENT_task:
		roll_call_see(&b->roll_call, e);
		life_event(b, e, &b->nobody);
		break;
	case EVENT_waiting:
		if (e->tid)
			waiting_event(b, e);
		break;
	case EVENT_snapshot:
		if (roll_call_see(&b->roll_call, e))
			slots_roll_call(b);
		message_state(b, e);
		break;
	case EVENT_descriptor:
		message_state(b, e);
		break;
	default:
		break;
	}
}

/* What happened before the beginning and still stands: who waits since when, lives, asked
 * for what. Nobody is taken to run for it. */
static void standing_event(struct builder *b, const struct event *e)
{
	struct slot *slot = e->tid ? slot_at(b, e->tid) : &b->nobody;

	switch (e->type) {
	case EVENT_switch:
		switch_event(b, e);
		break;
	case EVENT_wake:
		wake_event(b, e);
		break;
	case EVENT_fork: case EVENT_rename:
		life_event(b, e, slot);
		break;
	case EVENT_file_lock:
		file_lock_event(b, e, slot);
		break;
	case EVENT_exec: case EVENT_exit: case EVENT_message:
		break;
	default:
		if (b->program.events[e->type].any)
			edges_of_event(b, e, slot, slot->row);
		break;
	}
}

void builder_event(struct builder *b, const struct event *e)
{
	struct cpu_state *cpu = cpu_at(b, e->cpu);

	b->now_ns = e->time; /* a cursor hands events out in the order of their times */
	b->event = (uint32_t)e->number;
	b->graph->stats.events++;
	if (e->type >= EVENT_MAX || !event_infos[e->type].name)
		return;
	if (event_infos[e->type].categories & (STATE | META)) {
		state_event(b, e);
		return;
	}
	if (b->next_gap < b->graph->gaps.length && b->graph->gaps.items[b->next_gap].from_ns <= e->time)
		gaps_until(b, e->time);
	if (before_start(b)) {
		standing_event(b, e);
		return;
	}
	if (b->program.boundaries_at.length) {
		const uint64_t *row_rule = map_find(&b->program.boundaries_at, e->number);

		if (row_rule && e->tid)
			slot_split(b, slot_at(b, e->tid), true, (unsigned)*row_rule, SEGMENT_plain);
	}
	switch (e->type) {
	case EVENT_switch:
		switch_event(b, e);
		break;
	case EVENT_wake:
		wake_event(b, e);
		break;
	default:
		thread_event(b, e);
		break;
	}
	cpu = &b->cpus.items[e->cpu];
	cpu->last_event = b->event;
}
