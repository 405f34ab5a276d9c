/* ComputeGraph: rules made ready, one pass over the events, columns put in order. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "graph/build.h"
#include "base/clock.h"

static int compare_gaps(const void *a, const void *b)
{
	const struct trace_gap *x = a, *y = b;

	return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

static void take_gaps(struct graph *graph)
{
	const struct trace_summary *summary = trace_summary(graph->trace);

	for (size_t i = 0; i < summary->gap_count; i++)
		vec_push(&graph->gaps, summary->gaps[i]);
	if (graph->gaps.length)
		qsort(graph->gaps.items, graph->gaps.length, sizeof(*graph->gaps.items), compare_gaps);
}

static void builder_init(struct builder *b, struct graph *graph, const struct graph_options *options)
{
	const char *recorder = trace_machine(graph->trace, "recorder_pid");

	*b = (struct builder){ .graph = graph, .options = options, .recorder_pid = recorder ? (uint32_t)strtoul(recorder, NULL, 10) : 0 };
	arena_init(&b->arena);
	b->pages = mem_zalloc(SLOT_PAGES * sizeof(*b->pages));
	b->nobody = (struct slot){ .thread = GRAPH_NONE, .row = GRAPH_NONE, .last_wait = GRAPH_NONE };
	b->start_ns = b->now_ns = trace_summary(graph->trace)->start_ns;
	probe_names_read(&b->arena, graph->trace, &b->probes);
	roll_call_init(&b->roll_call, graph->trace, b->start_ns);
	messages_init(b);
	locks_init(b);
}

static void builder_done(struct builder *b)
{
	messages_done(b);
	locks_done(b);
	program_done(&b->program);
	roll_call_done(&b->roll_call);
	vec_done(&b->threads);
	vec_done(&b->cpus);
	vec_done(&b->begins);
	map_done(&b->far_slots);
	map_done(&b->comms);
	map_done(&b->sources);
	free(b->pages);
	arena_done(&b->arena);
}

/* The thread behind a source, where its number is known: "of NAME[TID]". */
static const char *behind(const struct graph *graph, const struct built_thread *thread, const char *word, char *name, size_t size)
{
	uint32_t entry = thread->number ? tables_thread(graph->tables, (uint32_t)thread->number, thread->first_ns) : 0;

	name[0] = 0;
	if (thread->number)
		snprintf(name, size, " %s %s[%" PRIu64 "]", word, entry ? graph->tables->threads[entry].comm : "", thread->number);
	return name;
}

static void source_name(const struct graph *graph, const struct built_thread *thread, char *name, size_t size)
{
	char whose[64];

	switch (thread->cause) {
	case WAKE_CAUSE_timeout:
		snprintf(name, size, "time limit");
		break;
	case WAKE_CAUSE_thread:
		snprintf(name, size, thread->number ? "the recorder" : "idle processor");
		break;
	case WAKE_CAUSE_timer:
		snprintf(name, size, "timer%s", behind(graph, thread, "of", whose, sizeof(whose)));
		break;
	case WAKE_CAUSE_network:
		snprintf(name, size, "network");
		break;
	case WAKE_CAUSE_device:
		snprintf(name, size, "%s %u", thread->number >> 32 == CONTEXT_softirq ? "softirq" : "interrupt",
			 (unsigned)thread->number);
		break;
	case WAKE_CAUSE_block_io:
		snprintf(name, size, "block I/O");
		break;
	case WAKE_CAUSE_rcu:
	case WAKE_CAUSE_balance:
		snprintf(name, size, "kernel housekeeping");
		break;
	case WAKE_CAUSE_signal:
		snprintf(name, size, "signal from an interrupt");
		break;
	case WAKE_CAUSE_work:
		snprintf(name, size, "work set off by an interrupt");
		break;
	case WAKE_CAUSE_other_cpu:
		snprintf(name, size, "another processor%s", behind(graph, thread, "for", whose, sizeof(whose)));
		break;
	default:
		if ((unsigned)(thread->number >> 32) == CONTEXT_thread)
			snprintf(name, size, "idle processor");
		else
			snprintf(name, size, "unknown interrupt (%s %u)",
				 thread->number >> 32 == CONTEXT_softirq ? "softirq" : "hard", (unsigned)thread->number);
		break;
	}
}

/* The public number of a built thread: its entry in the tables, or a pseudo-thread. */
static uint32_t public_thread(struct graph *graph, const struct built_thread *thread)
{
	struct stored_thread stored = { .tid = thread->tid, .pid = thread->pid, .kind = thread->kind, .cause = thread->cause,
					.number = thread->number, .rows = thread->rows, .waits = thread->waits };
	uint32_t entry;
	char name[128] = "";

	switch ((enum graph_thread_kind)thread->kind) {
	case GRAPH_THREAD:
		entry = tables_thread(graph->tables, thread->tid, thread->first_ns);
		if (entry && entry < graph->tables->thread_count && !graph->threads.items[entry].rows) {
			graph->threads.items[entry].rows = thread->rows;
			graph->threads.items[entry].waits = thread->waits;
			return entry;
		}
		stored.kind = GRAPH_UNKNOWN;
		break;
	case GRAPH_SOURCE:
		source_name(graph, thread, name, sizeof(name));
		break;
	case GRAPH_GAPS:
		if (thread->number == UINT32_MAX)
			snprintf(name, sizeof(name), "lost events");
		else
			snprintf(name, sizeof(name), "lost events of processor %" PRIu64, thread->number);
		break;
	case GRAPH_UNKNOWN:
		break;
	}
	stored.name = name[0] ? store_name(graph, name) : 0;
	vec_push(&graph->threads, stored);
	return (uint32_t)graph->threads.length - 1;
}

static void name_threads(struct builder *b)
{
	struct graph *graph = b->graph;
	uint32_t *publics = mem_alloc((b->threads.length + 1) * sizeof(*publics));

	for (uint32_t i = 0; i < graph->tables->thread_count; i++)
		vec_push(&graph->threads, ((struct stored_thread){ .tid = graph->tables->threads[i].tid,
								   .pid = graph->tables->threads[i].pid, .kind = GRAPH_THREAD }));
	for (size_t i = 0; i < b->threads.length; i++)
		publics[i] = public_thread(graph, &b->threads.items[i]);
	for (uint32_t i = 0; i < graph->block_count; i++)
		graph->blocks[i].thread = publics[graph->blocks[i].thread];
	for (size_t i = 0; i < graph->unread.length; i++) {
		struct graph_unread *unread = &graph->unread.items[i];

		unread->sender = publics[unread->sender];
		if (unread->receiver != GRAPH_NONE)
			unread->receiver = publics[unread->receiver];
	}
	free(publics);
}

static int compare_unread(const void *a, const void *b)
{
	const struct graph_unread *x = a, *y = b;

	return x->send_ns < y->send_ns ? -1 : x->send_ns > y->send_ns;
}

/* The recorder leaves its own wake-ups out; its waits say nothing about the rest. */
static void leave_out_recorder(struct graph *graph)
{
	struct graph_stats *stats = &graph->stats;
	struct graph_contradictions *contradictions = &graph->contradictions;
	uint64_t unwoken = 0;

	for (uint32_t i = 0; i < graph->threads.length; i++) {
		if (graph->threads.items[i].kind >= GRAPH_SOURCE || !store_is_recorder(graph, i))
			continue;
		for (uint32_t place = 0; place + 1 < graph->threads.items[i].rows; place++) {
			const struct row *row = &graph->rows[row_at_place(graph, i, place)];

			if (!(row->flags & ROW_WAIT))
				continue;
			stats->waits_recorder++;
			stats->waits_ended--;
			stats->waits_unexplained -= row_result(row) == RESULT_unknown;
			stats->waits_in_gap -= row_result(row) == RESULT_lost;
			unwoken += row_result(row) == RESULT_unknown && !(row->flags & ROW_WOKEN);
		}
	}
	contradictions->count[CONTRADICTION_in_without_wake] -= unwoken;
	stats->contradictions -= unwoken;
	if (unwoken)
		contradictions->first_event[CONTRADICTION_in_without_wake] = 0;
}

/* Waits that an `idle` rule speaks of. */
static void mark_idle(struct builder *b)
{
	struct graph *graph = b->graph;

	if (!b->program.idles.length)
		return;
	for (uint32_t i = 0; i < graph->block_count * ROW_BLOCK; i++) {
		struct row *row = &graph->rows[i];
		struct rule_facts facts;
		struct rule_scene scene = { .thread = &facts, .tail = "" };
		const struct stored_thread *thread;
		uint32_t next;

		if (!row_valid(graph, i) || !(row->flags & ROW_WAIT))
			continue;
		thread = &graph->threads.items[row_thread(graph, i)];
		facts = (struct rule_facts){ .tid = thread->tid, .pid = thread->pid, .object = row->object, .wait = row->wait,
					     .timeout = short_time_ns(row->timeout), .syscall = row->syscall,
					     .state = row->state_cause & 15, .hint_kind = row->flags & ROW_HINT_KIND,
					     .callout = row->level & LEVEL_MOST,
					     .comm = tables_comm(graph->tables, row_thread(graph, i), row->in_ns) };
		next = row_next(graph, i);
		scene.length_ns = (next == GRAPH_NONE ? trace_summary(graph->trace)->end_ns : graph->rows[next].in_ns) - row_out_ns(graph, i);
		for (size_t j = 0; j < b->program.idles.length; j++)
			if (condition_holds(&b->program.idles.items[j].rule->where, &scene)) {
				row->flags |= ROW_IDLE;
				rule_used(b, b->program.idles.items[j].number);
				break;
			}
	}
}

static int build_columns(struct graph *graph, const struct graph_options *options, const struct rules *rules, struct err *err)
{
	struct builder b;
	int code;

	builder_init(&b, graph, options);
	code = program_compile(&b, rules, err);
	if (!code) {
		if (!graph->tables)
			b.gathering = tables_gather(graph->trace);
		feed_all(&b);
		if (b.gathering)
			graph->tables = graph->owned_tables = tables_gather_finish(b.gathering);
		if (options->watch_end)
			options->watch_end(options->watch_data, graph->tables);
		gaps_until(&b, UINT64_MAX);
		messages_finish(&b);
		name_threads(&b);
		store_finish(graph);
		if (graph->unread.length)
			qsort(graph->unread.items, graph->unread.length, sizeof(*graph->unread.items), compare_unread);
		leave_out_recorder(graph);
		mark_idle(&b);
	}
	builder_done(&b);
	return code;
}

int graph_build(const struct trace *trace, const struct tables *tables, const struct graph_options *options,
		struct graph **ret_graph, struct err *err)
{
	static const struct graph_options defaults;
	struct rules *own_rules = NULL;
	const struct rules *rules;
	struct graph *graph;
	uint64_t started = clock_now_ns(), build_started;
	int code = 0;

	if (!options)
		options = &defaults;
	rules = options->rules;
	if (trace_summary(trace)->events + trace_summary(trace)->state_events >= UINT32_MAX - 1)
		return err_set(err, -EFBIG, "'%s' holds more than 2^32 events; open a part of it", trace_path(trace));
	if (!rules) {
		rules = own_rules = rules_new();
		code = graph_add_rules(own_rules, trace, err);
		if (code) {
			rules_free(own_rules);
			return code;
		}
	}
	graph = store_new(trace, options->room);
	graph->tables = tables;
	if (!code) {
		take_gaps(graph);
		build_started = clock_now_ns();
		code = build_columns(graph, options, rules, err);
		graph->stats.build_ns = clock_now_ns() - build_started;
		graph->stats.bytes = store_bytes(graph);
	}
	for (uint32_t i = 0; !code && i < graph->threads.length; i++)
		if (graph->threads.items[i].kind == GRAPH_UNKNOWN && !map_find(&graph->unknown_tids, graph->threads.items[i].tid))
			map_put(&graph->unknown_tids, graph->threads.items[i].tid, i);
	graph->built_stats = graph->stats;
	if (!code)
		code = graph_correct(graph, rules, NULL, err);
	rules_free(own_rules);
	if (code) {
		if (options->watch_end)
			options->watch_end(options->watch_data, NULL);
		graph_free(graph);
		return code;
	}
	graph->stats.load_ns = clock_now_ns() - started;
	*ret_graph = graph;
	return 0;
}

const struct trace *graph_trace(const struct graph *graph)
{
	return graph->trace;
}

const struct tables *graph_tables(const struct graph *graph)
{
	return graph->tables;
}

struct tables *graph_take_tables(struct graph *graph)
{
	struct tables *tables = graph->owned_tables;

	graph->owned_tables = NULL;
	return tables;
}

const struct graph_stats *graph_stats(const struct graph *graph)
{
	return &graph->stats;
}

const char *const graph_contradiction_names[CONTRADICTION_COUNT] = {
	[CONTRADICTION_switch_not_running] = "switch from a thread that another processor runs",
	[CONTRADICTION_wake_running] = "wake-up of a thread that runs or is runnable",
	[CONTRADICTION_in_without_wake] = "waiting thread ran again though nothing woke it",
	[CONTRADICTION_event_not_running] = "event of a thread that is not on a processor",
	[CONTRADICTION_dead] = "event of a thread that has ended",
	[CONTRADICTION_callout] = "end of a callback that never began",
};

const struct graph_contradictions *graph_contradictions(const struct graph *graph)
{
	return &graph->contradictions;
}

const char *graph_rule_name(const struct graph *graph, uint32_t rule)
{
	size_t count = graph->rules.length;

	if (rule < count)
		return graph->rules.items[rule].name;
	return rule - count < graph->correction.rules.length ? graph->correction.rules.items[rule - count].name : "none";
}

const char *graph_rule_text(const struct graph *graph, uint32_t rule)
{
	size_t count = graph->rules.length;

	if (rule < count)
		return graph->rules.items[rule].text;
	return rule - count < graph->correction.rules.length ? graph->correction.rules.items[rule - count].text : "";
}

const char *graph_rule_called(const struct graph *graph, uint32_t rule)
{
	const char *called = rule < graph->rules.length ? graph->rules.items[rule].called : NULL;

	return called ? called : "";
}

const char *graph_rule_meeting(const struct graph *graph, uint32_t rule, bool *ret_meets)
{
	const struct graph_rule *found = rule < graph->rules.length ? &graph->rules.items[rule] : NULL;

	*ret_meets = found && found->meets;
	return found ? found->meeting : NULL;
}

uint64_t graph_rule_uses(const struct graph *graph, uint32_t rule)
{
	size_t count = graph->rules.length;

	if (rule < count)
		return graph->rules.items[rule].uses;
	return rule - count < graph->correction.rules.length ? graph->correction.rules.items[rule - count].uses : 0;
}

uint32_t graph_rule_count(const struct graph *graph)
{
	return (uint32_t)(graph->rules.length + graph->correction.rules.length);
}
