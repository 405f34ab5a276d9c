/* Rules made ready for the pass: lists by event type. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph/build.h"

const struct mechanism_info mechanism_infos[MECHANISM_COUNT] = {
#define MECHANISM(number, name, confidence, doc) [MECHANISM_##name] = { #name, doc, confidence },
#include "graph/mechanisms.def"
#undef MECHANISM
};

_Static_assert(MECHANISM_wake == 1, "kinds of edges are numbered as listed");

unsigned mechanism_find(const char *name, size_t length)
{
	for (unsigned i = 0; i < MECHANISM_COUNT; i++)
		if (mechanism_infos[i].name && strlen(mechanism_infos[i].name) == length &&
		    !memcmp(mechanism_infos[i].name, name, length))
			return i;
	return 0;
}

static const struct graph_rule builtin_rules[BUILTIN_COUNT] = {
	[BUILTIN_none] = { "none", "", 0 },
	[BUILTIN_first] = { "builtin-first", "a thread's first stretch begins a segment", 0 },
	[BUILTIN_found] = { "builtin-found", "a wait that the snapshot found", 0 },
	[BUILTIN_switch] = { "builtin-switch", "the thread came back within a segment", 0 },
	[BUILTIN_interrupt] = { "builtin-interrupt", "an interrupt that wakes a thread is a segment of its source", 0 },
	[BUILTIN_gap] = { "builtin-gap", "lost events are a segment of their own, which no edge crosses", 0 },
	[BUILTIN_not_waiting] = { "builtin-not-waiting", "a wake-up of a thread that did not go to sleep has no edge", 0 },
	[BUILTIN_message] = { "builtin-message", "a send to the receives that took its bytes", 0 },
	[BUILTIN_reply] = { "builtin-reply", "a receive to the next send on the same object", 0 },
	[BUILTIN_fork] = { "builtin-fork", "a creation to the new thread's first event", 0 },
	[BUILTIN_exec] = { "builtin-exec", "exec in another thread than the first to the first", 0 },
	[BUILTIN_file_lock] = { "builtin-file-lock", "a file lock's release to the grant that it made possible", 0 },
	[BUILTIN_wake] = { "builtin-wake", "a wake-up that no rule speaks of", 0 },
	[BUILTIN_lost] = { "builtin-lost", "the thread came back while events were lost", 0 },
};

int program_row_rule(struct graph *graph, uint32_t number)
{
	if (graph->row_rule_count == 256)
		return -1;
	graph->row_rules[graph->row_rule_count] = (uint16_t)number;
	graph->row_mechanisms[graph->row_rule_count] = MECHANISM_wake;
	graph->row_confidences[graph->row_rule_count] = mechanism_infos[MECHANISM_wake].confidence;
	return (int)graph->row_rule_count++;
}

static bool is_row_rule(const struct rule *rule)
{
	return rule->kind == RULE_boundary || rule->kind == RULE_peers || rule->kind == RULE_wake ||
	       rule->kind == RULE_cut || rule->kind == RULE_boundary_at;
}

static void add_boundary(struct program *program, const struct boundary *boundary)
{
	const struct rule *rule = boundary->rule;
	struct event_program *event = &program->events[rule->event];

	event->any = true;
	switch (rule->place) {
	case PLACE_before:
		vec_push(&event->before, *boundary);
		break;
	case PLACE_after:
		vec_push(&event->after, *boundary);
		break;
	case PLACE_isolate:
		vec_push(&event->isolate, *boundary);
		break;
	case PLACE_callout:
		vec_push(&event->enter, *boundary);
		vec_push(&program->events[rule->end_event].leave, *boundary);
		program->events[rule->end_event].any = true;
		break;
	}
}

static void add_edge_rule(struct program *program, const struct rule *rule, uint16_t number)
{
	struct edge_end end = { .rule = rule, .table = (uint32_t)program->tables.length, .number = number };

	vec_push(&program->tables, ((struct key_table){ .epoch = 0 }));
	end.end = &rule->from;
	vec_push(&program->events[rule->from.event].from, end);
	end.end = &rule->to;
	vec_push(&program->events[rule->to.event].to, end);
	program->events[rule->from.event].any = program->events[rule->to.event].any = true;
}

#define BIT(event, field) (1ull << offsetof(struct event_##event, field))

/* What the code itself asks of the frequent events; of the others it may ask anything. */
static void need_fields(uint64_t fields[EVENT_MAX])
{
	for (unsigned i = 0; i < EVENT_MAX; i++)
		fields[i] = UINT64_MAX;
	fields[EVENT_switch] &= ~(BIT(switch, detail) | BIT(switch, ustack) | BIT(switch, kstack) | BIT(switch, next_prio));
	fields[EVENT_wake] &= ~(BIT(wake, ustack) | BIT(wake, kstack) | BIT(wake, syscall) | BIT(wake, target_cpu));
	fields[EVENT_syscall] = BIT(syscall, duration_ns) | BIT(syscall, result) | BIT(syscall, number);
	fields[EVENT_message] &= ~(BIT(message, argument) | BIT(message, ustack));
	fields[EVENT_sample] = 0;
	fields[EVENT_mapping] = 0; /* nor the event itself (prelude.h) */
}

static void need_operand(uint64_t fields[EVENT_MAX], unsigned event, const struct operand *operand)
{
	if (operand->source == OPERAND_event && event < EVENT_MAX && operand->offset < 64)
		fields[event] |= 1ull << FIELD_BIT(operand->offset);
}

static void need_condition(uint64_t fields[EVENT_MAX], unsigned event, const struct condition *condition)
{
	for (uint32_t i = 0; i < condition->count; i++) {
		need_operand(fields, event, &condition->steps[i].left);
		need_operand(fields, event, &condition->steps[i].right);
	}
}

static void need_end(uint64_t fields[EVENT_MAX], const struct rule_end *end)
{
	need_condition(fields, end->event, &end->where);
	for (unsigned i = 0; i < end->keys; i++)
		need_operand(fields, end->event, &end->key[i]);
}

/* What a rule asks. */
static void need_rule(uint64_t fields[EVENT_MAX], const struct rule *rule)
{
	switch (rule->kind) {
	case RULE_boundary:
		need_condition(fields, rule->event, &rule->where);
		need_condition(fields, rule->end_event, &rule->end_where);
		break;
	case RULE_edge:
		need_end(fields, &rule->from);
		need_end(fields, &rule->to);
		break;
	case RULE_wake:
		need_condition(fields, EVENT_wake, &rule->where);
		break;
	case RULE_peers:
		need_condition(fields, EVENT_message, &rule->where);
		break;
	default:
		break; /* over threads, waits and single events */
	}
}

/* Of what is known of all wake-ups that share it. */
static struct wake_list *make_wake_list(const struct program *program, const struct known_field *known, unsigned count)
{
	struct wake_list *list = mem_zalloc(sizeof(*list) + program->wakes.length);

	for (size_t i = 0; i < program->wakes.length && !list->last_sure; i++) {
		enum condition_outcome outcome = condition_outcome(&program->wakes.items[i].rule->where, known, count);

		if (outcome == OUTCOME_never)
			continue;
		list->rules[list->count++] = (uint8_t)i;
		list->last_sure = outcome == OUTCOME_always;
	}
	return list;
}

const struct wake_list *program_wake_list(struct program *program, const struct event_wake *wake, const struct rule_facts *waker,
					  const struct rule_facts *target)
{
	unsigned cause = wake->cause % WAKE_CAUSES, context = wake->context % WAKE_CONTEXTS, kernel = waker->kernel != 0, count = 3;
	unsigned wait = target->wait < WAKE_WAITS - 1 ? target->wait : WAKE_WAITS - 1;
	unsigned state = target->state < WAKE_STATES - 1 ? target->state : WAKE_STATES - 1;
	struct wake_list **list = &program->wake_lists[(((cause * WAKE_CONTEXTS + context) * WAKE_WAITS + wait) * WAKE_STATES + state) * 2 + kernel];

	if (!*list) {
		struct known_field known[] = {
			{ OPERAND_event, offsetof(struct event_wake, cause), 1, cause },
			{ OPERAND_event, offsetof(struct event_wake, context), 1, context },
			{ OPERAND_thread, offsetof(struct rule_facts, kernel), 1, kernel },
			{ 0 }, { 0 },
		};

		if (wait == target->wait)
			known[count++] = (struct known_field){ OPERAND_target, offsetof(struct rule_facts, wait), 1, wait };
		if (state == target->state)
			known[count++] = (struct known_field){ OPERAND_target, offsetof(struct rule_facts, state), 1, state };
		*list = make_wake_list(program, known, count);
	}
	return *list;
}

int program_compile(struct builder *b, const struct rules *rules, struct err *err)
{
	struct program *program = &b->program;
	struct graph *graph = b->graph;

	program->wake_lists = mem_zalloc(WAKE_LISTS * sizeof(struct wake_list *));
	vec_clear(&graph->rules);
	graph->row_rule_count = 0;
	need_fields(program->fields);
	for (unsigned i = 0; i < BUILTIN_COUNT; i++) {
		vec_push(&graph->rules, builtin_rules[i]);
		program_row_rule(graph, i);
	}
	if (rules_count(rules) > 30000)
		return err_set(err, -E2BIG, "more than 30,000 rules");
	for (size_t i = 0; i < rules_count(rules); i++) {
		const struct rule *rule = rules_at(rules, i);
		struct boundary entry = { .rule = rule, .number = (uint16_t)graph->rules.length };
		int row_rule = 0;

		vec_push(&graph->rules, ((struct graph_rule){
			.name = arena_strdup(&graph->arena, rule->name),
			.text = arena_printf(&graph->arena, "%s:%u: %s", rule->file, rule->line, rule->text),
			.called = rule->called[0] ? arena_strdup(&graph->arena, rule->called) : NULL,
			.meeting = rule->meeting ? arena_strdup(&graph->arena, rule->meeting) : NULL, .meets = rule->meets }));
		if (is_row_rule(rule) && (row_rule = program_row_rule(graph, entry.number)) < 0)
			return err_set(err, -E2BIG, "%s:%u:%u: more than 240 rules about boundaries and wake-ups",
				       rule->file, rule->line, rule->column);
		entry.row_rule = (uint8_t)row_rule;
		need_rule(program->fields, rule);
		switch (rule->kind) {
		case RULE_boundary:
			add_boundary(program, &entry);
			break;
		case RULE_peers:
			vec_push(&program->peers, entry);
			break;
		case RULE_edge:
			add_edge_rule(program, rule, entry.number);
			break;
		case RULE_wake:
			if (rule->mechanism) {
				graph->row_mechanisms[row_rule] = (uint8_t)rule->mechanism;
				graph->row_confidences[row_rule] = mechanism_infos[rule->mechanism].confidence;
			}
			if (rule->confidence)
				graph->row_confidences[row_rule] = rule->confidence;
			vec_push(&program->wakes, entry);
			break;
		case RULE_cut:
			vec_push(&program->cuts, entry);
			break;
		case RULE_idle:
			vec_push(&program->idles, entry);
			break;
		case RULE_boundary_at:
			map_put(&program->boundaries_at, rule->from_event, entry.row_rule);
			break;
		case RULE_probe:
			break; /* whoever records places them */
		case RULE_flag:
		case RULE_cut_edge:
		case RULE_keep_edge:
		case RULE_join:
		case RULE_idle_wait:
			break; /* laid over the finished graph, see correct.c */
		}
	}
	return 0;
}

void program_done(struct program *program)
{
	for (unsigned i = 0; i < EVENT_MAX; i++) {
		struct event_program *event = &program->events[i];

		vec_done(&event->before);
		vec_done(&event->after);
		vec_done(&event->isolate);
		vec_done(&event->enter);
		vec_done(&event->leave);
		vec_done(&event->from);
		vec_done(&event->to);
	}
	for (size_t i = 0; i < program->tables.length; i++)
		map_done(&program->tables.items[i].heads);
	vec_done(&program->tables);
	for (size_t i = 0; program->wake_lists && i < WAKE_LISTS; i++)
		free(program->wake_lists[i]);
	free(program->wake_lists);
	vec_done(&program->wakes);
	vec_done(&program->cuts);
	vec_done(&program->peers);
	vec_done(&program->idles);
	map_done(&program->boundaries_at);
}
