/* The event graph as text; see graph_show.h. */
#include "session/graph_show.h"

#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "trace/text.h"

static const char *const segment_kinds[] = {
	[SEGMENT_plain] = "plain", [SEGMENT_callout] = "callout", [SEGMENT_work] = "work",
	[SEGMENT_interrupt] = "interrupt", [SEGMENT_maintenance] = "maintenance", [SEGMENT_gap] = "gap",
};

static const char *const results[] = {
	[RESULT_open] = "not ended", [RESULT_unknown] = "ended, cause unknown", [RESULT_woken] = "woken", [RESULT_timeout] = "timeout",
	[RESULT_signal] = "signal", [RESULT_error] = "error", [RESULT_lost] = "events lost", [RESULT_gone] = "thread ended",
};

static const char *value_name(enum field_kind kind, uint64_t value)
{
	const char *name = kind_value_name(kind, value);

	return name ? name : "?";
}

void graph_show_thread(struct buf *buf, const struct graph *graph, uint32_t thread)
{
	struct graph_thread t;

	graph_thread(graph, thread, &t);
	if (!thread) {
		buf_text(buf, "idle");
		return;
	}
	buf_escaped(buf, t.name, strlen(t.name), NULL);
	if (t.kind == GRAPH_THREAD || t.kind == GRAPH_UNKNOWN)
		buf_printf(buf, "[%u]", t.tid);
}

void graph_show_duration(struct buf *buf, uint64_t ns)
{
	if (ns == UINT64_MAX)
		buf_text(buf, "open");
	else if (ns < 1000)
		buf_printf(buf, "%" PRIu64 " ns", ns);
	else if (ns < 1000000)
		buf_printf(buf, "%.3f us", (double)ns / 1e3);
	else if (ns < 1000000000)
		buf_printf(buf, "%.3f ms", (double)ns / 1e6);
	else
		buf_printf(buf, "%.3f s", (double)ns / 1e9);
}

static void show_length(struct buf *buf, uint64_t from_ns, uint64_t to_ns)
{
	graph_show_duration(buf, to_ns == UINT64_MAX ? UINT64_MAX : to_ns - from_ns);
}

void graph_show_segment(struct buf *buf, const struct graph *graph, uint32_t segment)
{
	struct graph_segment s;

	if (!graph_segment(graph, segment, &s))
		return;
	buf_printf(buf, "segment %u  ", s.segment);
	graph_show_thread(buf, graph, s.thread);
	buf_printf(buf, "  %s", segment_kinds[s.kind]);
	if (s.level)
		buf_printf(buf, " (level %u)", s.level);
	buf_text(buf, "  ");
	text_format_time(buf, s.start_ns);
	buf_text(buf, "  for ");
	show_length(buf, s.start_ns, s.end_ns);
	if (s.end_ns != UINT64_MAX && s.run_ns != s.end_ns - s.start_ns) {
		buf_text(buf, ", ran ");
		graph_show_duration(buf, s.run_ns);
	}
	buf_printf(buf, "  events %" PRIu64 "-", s.first_event);
	if (s.last_event)
		buf_printf(buf, "%" PRIu64, s.last_event);
	buf_printf(buf, "  rule %s\n", graph_rule_name(graph, s.rule));
}

void graph_show_wait(struct buf *buf, const struct graph *graph, const struct graph_wait *wait)
{
	buf_printf(buf, "  wait %u  %s (%s)", wait->wait, value_name(FIELD_WAIT_KIND, wait->kind), value_name(FIELD_TASK_STATE, wait->state));
	if (wait->object) {
		buf_text(buf, " on ");
		text_format_value(buf, FIELD_OBJECT, wait->object);
	}
	if (wait->syscall != SYSCALL_NONE) {
		buf_text(buf, " in ");
		text_format_value(buf, FIELD_SYSCALL, wait->syscall);
	}
	if (wait->timeout_ns) {
		buf_text(buf, " limit ");
		graph_show_duration(buf, wait->timeout_ns);
	}
	buf_text(buf, "  ");
	text_format_time(buf, wait->out_ns);
	buf_text(buf, "  for ");
	show_length(buf, wait->out_ns, wait->in_ns);
	buf_printf(buf, "  %s", results[wait->result]);
	if (wait->idle)
		buf_text(buf, ", idling");
	if (wait->hint != GRAPH_NONE) {
		buf_printf(buf, "  hint: %s ", value_name(FIELD_HINT_KIND, wait->hint_kind));
		graph_show_thread(buf, graph, wait->hint);
	}
	buf_char(buf, '\n');
}

/* The flag that an event writes (of a probe: its first argument), by its name where a rule gives it one. */
static void show_flag(struct buf *buf, const struct graph *graph, uint64_t number)
{
	struct arena arena;
	const struct event *e;

	arena_init(&arena);
	e = trace_event(graph_trace(graph), &arena, number);
	if (e && (e->type == EVENT_flag_write || e->type == EVENT_probe)) {
		uint64_t address = e->type == EVENT_probe ? event_as(e, probe)->arg1 : event_as(e, flag_write)->address;
		const char *name = graph_flag_name(graph, address);

		if (name)
			buf_printf(buf, "  %s", name);
		else if (address)
			buf_printf(buf, "  0x%" PRIx64, address);
	}
	arena_done(&arena);
}

void graph_show_edge(struct buf *buf, const struct graph *graph, const struct graph_edge *edge, bool into)
{
	buf_printf(buf, "  %s %u  ", into ? "<-" : "->", into ? edge->from : edge->to);
	graph_show_thread(buf, graph, into ? edge->from_thread : edge->to_thread);
	buf_printf(buf, "  %s %u%%  events %" PRIu64 " -> %" PRIu64 "  ", mechanism_infos[edge->kind].name, edge->confidence,
		   edge->from_event, edge->to_event);
	text_format_time(buf, edge->from_ns);
	buf_text(buf, " +");
	graph_show_duration(buf, edge->to_ns > edge->from_ns ? edge->to_ns - edge->from_ns : 0);
	if (edge->kind == MECHANISM_flag)
		show_flag(buf, graph, edge->from_event);
	buf_printf(buf, "  %srule %s\n", edge->removed ? "removed, " : "", graph_rule_name(graph, edge->rule));
}

void graph_show_around(struct buf *buf, const struct graph *graph, uint32_t segment, bool both, unsigned choice)
{
	struct graph_segment s;
	struct graph_edges walk;
	struct graph_edge edge;
	struct graph_wait wait;

	if (!graph_segment(graph, segment, &s))
		return;
	graph_show_segment(buf, graph, segment);
	if (both) {
		walk = graph_edges_into(graph, segment, choice);
		while (graph_edges_next(&walk, &edge))
			graph_show_edge(buf, graph, &edge, true);
	}
	for (uint32_t stretch = s.segment; stretch != GRAPH_NONE; stretch = graph_stretch_next(graph, stretch)) {
		if (graph_wait(graph, stretch, &wait))
			graph_show_wait(buf, graph, &wait);
		if (stretch == s.last_stretch)
			break;
	}
	walk = graph_edges_from(graph, segment, choice);
	while (graph_edges_next(&walk, &edge))
		graph_show_edge(buf, graph, &edge, false);
}

static void show_line(struct buf *buf, const char *name, uint64_t count)
{
	buf_printf(buf, "%-28s%" PRIu64 "\n", name, count);
}

void graph_show_stats(struct buf *buf, const struct graph *graph)
{
	const struct graph_stats *stats = graph_stats(graph);
	const struct graph_contradictions *contradictions = graph_contradictions(graph);
	uint64_t edges = 0;

	for (unsigned i = 0; i < MECHANISM_COUNT; i++)
		edges += stats->edges[i];
	show_line(buf, "events", stats->events);
	show_line(buf, "segments", stats->segments);
	show_line(buf, "stretches", stats->stretches);
	show_line(buf, "  preempted inside", stats->preemptions);
	show_line(buf, "edges", edges);
	for (unsigned i = 0; i < MECHANISM_COUNT; i++)
		if (stats->edges[i])
			buf_printf(buf, "  %-26s%" PRIu64 "\n", mechanism_infos[i].name, stats->edges[i]);
	show_line(buf, "waits", stats->waits);
	show_line(buf, "  ended", stats->waits_ended);
	show_line(buf, "  ended, cause unknown", stats->waits_unexplained);
	show_line(buf, "  ended while events lost", stats->waits_in_gap);
	if (stats->waits_recorder)
		show_line(buf, "  ended, of the recorder", stats->waits_recorder);
	show_line(buf, "wake-ups without a wait", stats->wakes_spurious);
	show_line(buf, "edges removed by rules", stats->removed_by_rule);
	show_line(buf, "contradictions", stats->contradictions);
	for (unsigned i = 0; i < CONTRADICTION_COUNT; i++)
		if (contradictions->count[i])
			buf_printf(buf, contradictions->first_event[i] ? "  %" PRIu64 " %s, first at event %" PRIu64 "\n" : "  %" PRIu64 " %s\n",
				   contradictions->count[i], graph_contradiction_names[i], contradictions->first_event[i]);
}

static void dot_text(struct buf *buf, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			buf_char(buf, '\\');
		buf_char(buf, *text);
	}
}

void graph_show_dot(struct buf *buf, const struct graph *graph, const uint32_t *segments, size_t count)
{
	struct map chosen = { 0 };
	struct buf label;

	buf_init(&label);
	for (size_t i = 0; i < count; i++)
		map_put(&chosen, segments[i], 1);
	buf_text(buf, "digraph argus {\n\trankdir=LR;\n\tnode [shape=box, fontsize=10];\n\tedge [fontsize=9];\n");
	for (size_t i = 0; i < count; i++) {
		struct graph_segment s;

		if (!graph_segment(graph, segments[i], &s))
			continue;
		buf_clear(&label);
		graph_show_thread(&label, graph, s.thread);
		buf_printf(buf, "\ts%u [label=\"%u ", s.segment, s.segment);
		dot_text(buf, buf_str(&label));
		buf_text(buf, "\\n");
		text_format_time(buf, s.start_ns);
		buf_text(buf, " ");
		show_length(buf, s.start_ns, s.end_ns);
		buf_printf(buf, "\"%s];\n", s.kind == SEGMENT_interrupt ? ", style=dashed" : s.kind == SEGMENT_gap ? ", style=dotted" : "");
	}
	for (size_t i = 0; i < count; i++) {
		struct graph_edges walk = graph_edges_from(graph, segments[i], EDGES_ALL);
		struct graph_edge edge;

		while (graph_edges_next(&walk, &edge))
			if (map_find(&chosen, edge.to))
				buf_printf(buf, "\ts%u -> s%u [label=\"%s\"%s];\n", edge.from, edge.to, mechanism_infos[edge.kind].name,
					   edge.strength == GRAPH_WEAK ? ", style=dotted" :
					   edge.strength == GRAPH_INFERRED ? ", style=dashed" : "");
	}
	buf_text(buf, "}\n");
	buf_done(&label);
	map_done(&chosen);
}

/* ---- JSON ---- */

void graph_json_stats(struct json *json, const struct graph *graph)
{
	const struct graph_stats *stats = graph_stats(graph);
	const struct graph_contradictions *contradictions = graph_contradictions(graph);
	uint64_t edges = 0;

	json_u64(json, "events", stats->events);
	json_u64(json, "segments", stats->segments);
	json_u64(json, "stretches", stats->stretches);
	json_u64(json, "preemptions", stats->preemptions);
	json_object(json, "edges");
	for (unsigned i = 0; i < MECHANISM_COUNT; i++) {
		edges += stats->edges[i];
		if (mechanism_infos[i].name)
			json_u64(json, mechanism_infos[i].name, stats->edges[i]);
	}
	json_end(json);
	json_u64(json, "edge_count", edges);
	json_u64(json, "waits", stats->waits);
	json_u64(json, "waits_ended", stats->waits_ended);
	json_u64(json, "waits_unexplained", stats->waits_unexplained);
	json_u64(json, "waits_in_gap", stats->waits_in_gap);
	json_u64(json, "waits_recorder", stats->waits_recorder);
	json_u64(json, "wakes_spurious", stats->wakes_spurious);
	json_u64(json, "removed_by_rule", stats->removed_by_rule);
	json_object(json, "contradictions");
	for (unsigned i = 0; i < CONTRADICTION_COUNT; i++)
		json_u64(json, graph_contradiction_names[i], contradictions->count[i]);
	json_end(json);
	json_array(json, "rules");
	for (uint32_t i = 1; i < graph_rule_count(graph); i++) {
		json_object(json, NULL);
		json_text(json, "name", graph_rule_name(graph, i));
		json_text(json, "text", graph_rule_text(graph, i));
		json_u64(json, "uses", graph_rule_uses(graph, i));
		json_end(json);
	}
	json_end(json);
	json_u64(json, "load_ns", stats->load_ns);
	json_u64(json, "build_ns", stats->build_ns);
	json_u64(json, "bytes", stats->bytes);
}

static void json_thread(struct json *json, const char *key, const struct graph *graph, uint32_t thread)
{
	struct graph_thread t;

	graph_thread(graph, thread, &t);
	json_object(json, key);
	json_text(json, "name", t.name);
	json_u64(json, "tid", t.tid);
	json_u64(json, "pid", t.pid);
	json_end(json);
}

static void json_time(struct json *json, const char *key, uint64_t ns)
{
	if (ns == UINT64_MAX)
		json_null(json, key);
	else
		json_u64(json, key, ns);
}

static void json_edges(struct json *json, const char *key, const struct graph *graph, struct graph_edges walk)
{
	struct graph_edge edge;

	json_array(json, key);
	while (graph_edges_next(&walk, &edge)) {
		json_object(json, NULL);
		json_text(json, "kind", mechanism_infos[edge.kind].name);
		json_u64(json, "confidence", edge.confidence);
		json_bool(json, "removed", edge.removed);
		json_text(json, "rule", graph_rule_name(graph, edge.rule));
		json_u64(json, "from", edge.from);
		json_u64(json, "to", edge.to);
		json_u64(json, "from_event", edge.from_event);
		json_u64(json, "to_event", edge.to_event);
		json_time(json, "from_ns", edge.from_ns);
		json_time(json, "to_ns", edge.to_ns);
		json_end(json);
	}
	json_end(json);
}

void graph_json_segment(struct json *json, const char *key, const struct graph *graph, uint32_t segment, unsigned choice)
{
	struct graph_segment s;
	struct graph_wait wait;

	if (!graph_segment(graph, segment, &s)) {
		json_null(json, key);
		return;
	}
	json_object(json, key);
	json_u64(json, "segment", s.segment);
	json_thread(json, "thread", graph, s.thread);
	json_text(json, "kind", segment_kinds[s.kind]);
	json_text(json, "rule", graph_rule_name(graph, s.rule));
	json_time(json, "start_ns", s.start_ns);
	json_time(json, "end_ns", s.end_ns);
	json_u64(json, "run_ns", s.run_ns);
	json_u64(json, "first_event", s.first_event);
	json_u64(json, "last_event", s.last_event);
	if (s.wait != GRAPH_NONE && graph_wait(graph, s.wait, &wait)) {
		json_object(json, "wait");
		json_text(json, "kind", value_name(FIELD_WAIT_KIND, wait.kind));
		json_text(json, "result", results[wait.result]);
		json_time(json, "out_ns", wait.out_ns);
		json_time(json, "wake_ns", wait.wake_ns);
		json_time(json, "in_ns", wait.in_ns);
		json_end(json);
	} else {
		json_null(json, "wait");
	}
	if (choice) {
		json_edges(json, "into", graph, graph_edges_into(graph, segment, choice));
		json_edges(json, "from", graph, graph_edges_from(graph, segment, choice));
	}
	json_end(json);
}
