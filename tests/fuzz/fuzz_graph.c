/* The event graph over events that make no sense: whatever happens in a trace, the
 * graph is built, its parts can be walked, and timelines have no holes. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "graph/check.h"
#include "graph/graph.h"
#include "trace/text.h"
#include "trace/writer.h"

#define CPUS 3

struct input {
	const uint8_t *data;
	size_t left;
};

static uint8_t next(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->data++;
}

/* Values from few, so that events meet. */
static uint64_t small_value(const struct field_info *field, uint8_t byte)
{
	switch (field->kind) {
	case FIELD_TID:
	case FIELD_PID:
		return byte % 6 ? byte % 6 : byte == 0xfc ? 0xffffffffu : 0;
	case FIELD_TASK_STATE:
		return byte % 10;
	case FIELD_WAKE_CAUSE:
	case FIELD_CONTEXT:
		return byte % 17;
	case FIELD_TIME:
	case FIELD_DURATION:
		return (uint64_t)byte << (byte % 7 * 8);
	default:
		return byte;
	}
}

static int put(struct writer *writer, struct input *in, uint64_t *time)
{
	uint64_t payload[32] = { 0 };
	struct event e = { .tail = "text", .tail_length = 4, .data = payload };
	const struct event_info *info;

	e.type = next(in) % EVENT_MAX;
	info = &event_infos[e.type];
	if (!info->name)
		return 0;
	*time += (uint64_t)next(in) << (next(in) % 5 * 8);
	e.time = *time;
	e.tid = next(in) % 6;
	e.cpu = next(in) % CPUS;
	if (info->tail == FIELD_KINDS) {
		e.tail = "";
		e.tail_length = 0;
	}
	for (unsigned i = 0; i < info->field_count; i++)
		field_set(&info->fields[i], payload, small_value(&info->fields[i], next(in)));
	return writer_add_event(writer, &e, NULL);
}

static void walk_thread(const struct graph *graph, uint32_t thread, uint64_t from, uint64_t to)
{
	struct graph_timeline timeline = graph_timeline_of(graph, thread, from, to);
	struct graph_interval interval;
	uint64_t at = from;

	while (graph_timeline_next(&timeline, &interval)) {
		if (interval.start_ns != at || interval.end_ns <= at)
			__builtin_trap();
		at = interval.end_ns;
	}
	if (at != to && from < to)
		__builtin_trap();
}

static void walk(const struct graph *graph, const struct trace_summary *summary)
{
	struct arena arena;
	size_t count;

	arena_init(&arena);
	for (uint32_t s = GRAPH_NONE; (s = graph_segment_walk(graph, s)) != GRAPH_NONE; ) {
		struct graph_edges edges = graph_edges_from(graph, s, EDGES_ALL | EDGES_REMOVED);
		struct graph_segment segment, other;
		struct graph_edge edge;

		if (!graph_segment(graph, s, &segment))
			__builtin_trap();
		while (graph_edges_next(&edges, &edge))
			if (!graph_segment(graph, edge.to, &other) || other.segment != edge.to || edge.from != s)
				__builtin_trap();
		edges = graph_edges_into(graph, s, EDGES_ALL | EDGES_REMOVED);
		while (graph_edges_next(&edges, &edge))
			if (!graph_segment(graph, edge.from, &other) || other.segment != edge.from || edge.to != s)
				__builtin_trap();
	}
	for (uint32_t thread = 0; thread < graph_thread_count(graph); thread++) {
		struct graph_thread t;

		graph_thread(graph, thread, &t);
		if (t.kind == GRAPH_THREAD || t.kind == GRAPH_UNKNOWN)
			walk_thread(graph, thread, summary->start_ns, summary->end_ns);
	}
	(void)graph_check(&arena, graph, 100, &count);
	arena_done(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct graph_options options = { 0 };
	struct writer_options writing = { .cpus = CPUS };
	struct input in = { data, size };
	struct trace *trace = NULL;
	struct graph *graph = NULL;
	struct writer *writer;
	uint64_t time = 1000;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/fuzz_graph.%d", (int)getpid());
	if (writer_create(path, false, &writing, &writer, NULL))
		return 0;
	while (in.left && !put(writer, &in, &time))
		;
	if (!writer_close(writer, NULL) && !trace_open(path, &trace, NULL)) {
		if (graph_build(trace, NULL, &options, &graph, NULL))
			__builtin_trap();
		walk(graph, trace_summary(trace));
		graph_free(graph);
		trace_close(trace);
	}
	unlink(path);
	return 0;
}
