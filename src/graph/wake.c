/* Wake-ups: judged by the rules, and paired with waits by the thread's state.
 *
 * The kernel says "waking" when the target's state allows it. Usually the target
 * has left the processor; then the wake-up ends that wait. But the target may
 * still be on its way out: its state is set, its switch-out comes later. If the
 * kernel had already taken it off the run queue, the switch-out is recorded with
 * a sleeping state and no other wake-up follows: the earlier one ends the wait.
 * If it had not, the sleep is called off, and any real sleep that follows brings
 * a wake-up of its own. So: the first wake-up behind the switch-out, and only
 * when there is none, the last one since the target came in. */
#include "graph/build.h"

static const struct rule_facts no_facts;

/* The first rule that holds; NULL when none does. */
static const struct boundary *judge(struct builder *b, const struct event_wake *w, const struct slot *waker,
				    const struct slot *target, unsigned woken)
{
	const struct wake_list *list = program_wake_list(&b->program, w, &waker->facts, target ? &target->facts : &no_facts);
	unsigned asked = list->count - (list->last_sure ? 1u : 0u);
	struct rule_scene scene = { .data = w, .thread = &waker->facts, .target = target ? &target->facts : &no_facts,
				    .tail = "", .woken = woken };

	if (asked) {
		const struct slot *armer = w->armer ? slot_find(b, w->armer) : NULL;

		if (armer)
			scene.armer_pid = armer->facts.pid;
	}
	for (unsigned i = 0; i < asked; i++) {
		const struct boundary *wake = &b->program.wakes.items[list->rules[i]];

		if (condition_holds(&wake->rule->where, &scene))
			return wake;
	}
	return list->last_sure ? &b->program.wakes.items[list->rules[asked]] : NULL;
}

static void set_judgement(struct builder *b, struct wake_info *wake, const struct boundary *rule, const struct slot *waker,
			  const struct slot *target)
{
	unsigned cut, mechanism = MECHANISM_wake;

	wake->row_rule = rule ? rule->row_rule : BUILTIN_wake;
	wake->removed = rule && rule->rule->drop;
	wake->charge_source = rule && rule->rule->charge_source;
	if (rule && rule->rule->mechanism)
		mechanism = rule->rule->mechanism;
	wake->result = RESULT_woken;
	if (mechanism == MECHANISM_timeout)
		wake->result = RESULT_timeout;
	else if (wake->cause == WAKE_CAUSE_signal)
		wake->result = RESULT_signal;
	else if (wake->cause == WAKE_CAUSE_unknown && (wake->said.context != CONTEXT_thread || !wake->waker))
		wake->result = RESULT_unknown;
	if (!wake->removed && b->program.cuts.length && !wake->charge_source) {
		cut = edge_cut_by(b, mechanism, mechanism_infos[mechanism].confidence, waker, target);
		if (cut) {
			wake->removed = true;
			wake->row_rule = (uint8_t)cut;
		}
	}
}

void wake_spurious(struct builder *b)
{
	b->graph->stats.wakes_spurious++;
	rule_used(b, BUILTIN_not_waiting);
}

void wake_attach(struct builder *b, struct slot *slot, const struct wake_info *wake)
{
	struct row *row = slot_row(b, slot);

	row_set_wake(b->graph, slot->row, wake->ns);
	row->wake_event = wake->event;
	row->wake_row = wake->row;
	row->wake_rule = wake->row_rule;
	row->state_cause = (uint8_t)((row->state_cause & 15) | (wake->cause << 4));
	row->flags = (uint16_t)((row->flags & ~ROW_REMOVED) | (wake->removed ? ROW_REMOVED : 0));
	row_set_result(row, wake->result);
	if (wake->removed) {
		b->graph->stats.removed_by_rule++;
		rule_used(b, row_rule_number(b, wake->row_rule));
	}
}

void wake_judge_again(struct builder *b, struct slot *slot)
{
	struct slot *waker = slot_find(b, slot->wake.waker);
	const struct boundary *rule;

	if (slot->wake.charge_source || slot->wake.removed)
		return;
	if (!waker)
		waker = &b->nobody;
	rule = judge(b, &slot->wake.said, waker, slot, 1);
	if (!rule || !rule->rule->charge_source)
		set_judgement(b, &slot->wake, rule, waker, slot);
}

/* A second thread is woken by the same interrupt: what the rules say of the
 * first one may change with it. */
static void judge_first_again(struct builder *b, struct cpu_state *cpu)
{
	struct slot *target = slot_find(b, cpu->first_target);
	struct wake_info wake;
	const struct boundary *rule;

	if (!target || target->row != cpu->first_row || target->status != SLOT_waiting || !target->wake.event)
		return;
	wake = target->wake;
	rule = judge(b, &wake.said, &b->nobody, target, 2);
	if (rule && rule->rule->drop && !wake.removed) {
		set_judgement(b, &wake, rule, &b->nobody, target);
		target->wake = wake;
		wake_attach(b, target, &wake);
	}
}

void wake_event(struct builder *b, const struct event *e)
{
	const struct event_wake *w = event_as(e, wake);
	struct slot *waker = e->tid ? slot_at(b, e->tid) : &b->nobody, *target;
	struct cpu_state *cpu = &b->cpus.items[e->cpu];
	struct wake_info wake = { .ns = e->time, .event = b->event, .row = GRAPH_NONE, .waker = e->tid,
				  .cause = w->cause & 15, .said = *w };
	bool in_interrupt = w->context != CONTEXT_thread, goes_on;
	unsigned woken = 1;

	if (!w->target)
		return;
	target = slot_at(b, w->target);
	/* Wake-ups in one go of one interrupt belong together. */
	goes_on = in_interrupt && node_goes_on(b, e, w);
	if (goes_on)
		woken = cpu->woken + 1;
	set_judgement(b, &wake, judge(b, w, waker, target, woken), waker, target);
	/* The recorder's own stays on the processor are not all there to hold its doings. */
	if (wake.charge_source || !e->tid || (wake.removed && in_interrupt) || (!in_interrupt && is_recorder(b, waker))) {
		wake.row = node_of_wake(b, e, w, goes_on);
		wake.charge_source = true;
	} else if (before_start(b)) {
		wake.row = waker->row;
	} else if (e->tid) {
		slot_ensure(b, waker, e->cpu);
		wake.row = waker->row;
		if (waker->more) {
			waker->more->woke_ns = e->time;
			waker->more->woke_event = b->event;
			waker->more->woke_row = target->row;
			waker->more->woke_tid = w->target;
		}
	}
	if (woken == 2 && cpu->first_target)
		judge_first_again(b, cpu);
	if (wake.charge_source && woken == 1) {
		cpu->first_target = w->target;
		cpu->first_row = target->row;
	}
	switch ((enum slot_status)target->status) {
	case SLOT_new:
		/* It was waiting before the trace began, or before its first switch was seen. */
		if (target->more && target->more->fork_event) {
			wake_spurious(b);
			return;
		}
		row_begin(b, target, b->now_ns, b->event, e->cpu, BUILTIN_found, false);
		row_set_out(b->graph, target->row, b->now_ns);
		slot_row(b, target)->out_event = b->event;
		slot_row(b, target)->flags |= ROW_WAIT | ROW_LOST;
		slot_row(b, target)->wait = WAIT_KIND_other;
		slot_row(b, target)->state_cause = TASK_STATE_sleeping;
		b->graph->stats.waits++;
		target->status = SLOT_waiting;
		target->split_rule = BUILTIN_found;
		wake_attach(b, target, &wake);
		target->wake = wake;
		return;
	case SLOT_waiting: {
		const struct row *row = slot_row(b, target);

		if (row->flags & ROW_WOKEN && !(row->flags & ROW_EARLY)) {
			wake_spurious(b);
			contradict(b, CONTRADICTION_wake_running);
			return;
		}
		if (row->flags & ROW_WOKEN)
			wake_spurious(b);
		wake_attach(b, target, &wake);
		target->wake = wake;
		return;
	}
	case SLOT_running:
		if (target->has_wake) {
			wake_spurious(b);
			contradict(b, CONTRADICTION_wake_running);
		}
		target->has_wake = true;
		target->wake = wake;
		return;
	case SLOT_runnable:
		wake_spurious(b);
		return;
	case SLOT_gone:
		wake_spurious(b);
		contradict(b, CONTRADICTION_dead);
		return;
	}
}
