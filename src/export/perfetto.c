/* Perfetto's trace: a track for each thread with its states as slices, wake-ups, messages
 * and the graph's other edges as flows between instants, and the answer as a track of its
 * own. Packets stand in no order of time; its reader sorts them. The numbers of fields are
 * those of perfetto_trace.proto. */
#include <inttypes.h>
#include <string.h>

#include "export/export.h"
#include "export/protobuf.h"
#include "graph/graph.h"

enum { PACKET = 1, PACKET_TIMESTAMP = 8, PACKET_SEQUENCE = 10, PACKET_TRACK_EVENT = 11, PACKET_INTERNED = 12, PACKET_FLAGS = 13,
	PACKET_TRACK = 60 };
enum { TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_THREAD = 4, TRACK_PARENT = 5 };
enum { PROCESS_PID = 1, PROCESS_NAME = 6, THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum { EVENT_CATEGORY_IID = 3, EVENT_ANNOTATION = 4, EVENT_TYPE = 9, EVENT_NAME_IID = 10, EVENT_TRACK = 11, EVENT_CATEGORY = 22,
	EVENT_NAME = 23, EVENT_FLOW = 47, EVENT_LAST_FLOW = 48 };
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3 };
enum { INTERNED_CATEGORY = 1, INTERNED_NAME = 2, IID = 1, IID_TEXT = 2 };
enum { ANNOTATION_UINT = 3, ANNOTATION_TEXT = 6, ANNOTATION_NAME = 10 };
enum { FLAG_CLEARED = 1, FLAG_NEEDS = 2 };

/* Tracks' numbers: threads by their entry (the graph's sources follow on), processes by pid. */
#define UUID_THREAD UINT64_C(0x100000000)
#define UUID_PROCESS UINT64_C(0x200000000)
#define UUID_ANSWER UINT64_C(0x300000000)
#define UUID_CHAIN UINT64_C(0x300000001)

struct writing {
	const struct export_source *source;
	struct export_out *out;
	struct buf event, packet, part;
	uint64_t flows;
};

static void put_packet(struct writing *w, unsigned flags)
{
	proto_u64(&w->packet, PACKET_SEQUENCE, 1);
	proto_u64(&w->packet, PACKET_FLAGS, flags);
	proto_message(&w->out->buf, PACKET, &w->packet);
	buf_clear(&w->packet);
	export_flush(w->out, false);
}

static void put_track(struct writing *w, uint64_t uuid, uint64_t parent, const char *name)
{
	buf_clear(&w->event);
	proto_u64(&w->event, TRACK_UUID, uuid);
	if (parent)
		proto_u64(&w->event, TRACK_PARENT, parent);
	if (name)
		proto_text(&w->event, TRACK_NAME, name);
}

static void end_track(struct writing *w)
{
	proto_message(&w->packet, PACKET_TRACK, &w->event);
	put_packet(w, FLAG_NEEDS);
}

/* The texts of all states, once. */
static void put_interned(struct writing *w)
{
	struct arena arena;
	struct buf interned;

	arena_init(&arena);
	buf_init(&interned);
	for (unsigned i = 0; i < THREAD_STATES; i++) {
		buf_clear(&w->part);
		proto_u64(&w->part, IID, i + 1);
		proto_text(&w->part, IID_TEXT, thread_state_name((enum thread_state)i));
		proto_message(&interned, INTERNED_CATEGORY, &w->part);
	}
	for (unsigned i = 0; i < EXPORT_STATES; i++) {
		if (i >= THREAD_STATES && !kind_value_name(FIELD_WAIT_KIND, i - THREAD_STATES))
			continue;
		buf_clear(&w->part);
		proto_u64(&w->part, IID, i + 1);
		proto_text(&w->part, IID_TEXT, export_state_text(&arena, i));
		proto_message(&interned, INTERNED_NAME, &w->part);
	}
	proto_message(&w->packet, PACKET_INTERNED, &interned);
	put_packet(w, FLAG_CLEARED);
	buf_done(&interned);
	arena_done(&arena);
}

static void put_threads(struct writing *w)
{
	const struct tables *tables = w->source->tables;

	for (uint32_t i = 1; i < tables->thread_count; i++) {
		const struct thread *t = &tables->threads[i];
		const struct thread *leader = &tables->threads[tables_process(tables, t->pid, t->start_ns)];

		if (!export_has(w->source, i))
			continue;
		if (t->tid == t->pid) {
			put_track(w, UUID_PROCESS + t->pid, 0, NULL);
			buf_clear(&w->part);
			proto_u64(&w->part, PROCESS_PID, t->pid);
			proto_text(&w->part, PROCESS_NAME, leader->comm);
			proto_message(&w->event, TRACK_PROCESS, &w->part);
			end_track(w);
		}
		put_track(w, UUID_THREAD + i, UUID_PROCESS + t->pid, NULL);
		buf_clear(&w->part);
		proto_u64(&w->part, THREAD_PID, t->pid);
		proto_u64(&w->part, THREAD_TID, t->tid);
		proto_text(&w->part, THREAD_NAME, t->comm);
		proto_message(&w->event, TRACK_THREAD, &w->part);
		end_track(w);
	}
	for (uint32_t i = tables->thread_count; i < graph_thread_count(w->source->graph); i++) {
		struct graph_thread source;

		graph_thread(w->source->graph, i, &source);
		if (source.kind != GRAPH_SOURCE)
			continue;
		put_track(w, UUID_THREAD + i, 0, source.name);
		end_track(w);
	}
}

static void begin_event(struct writing *w, unsigned type, uint64_t track)
{
	buf_clear(&w->event);
	proto_u64(&w->event, EVENT_TYPE, type);
	proto_u64(&w->event, EVENT_TRACK, track);
}

static void end_event(struct writing *w, uint64_t time)
{
	proto_u64(&w->packet, PACKET_TIMESTAMP, time);
	proto_message(&w->packet, PACKET_TRACK_EVENT, &w->event);
	put_packet(w, FLAG_NEEDS);
}

static void annotate(struct writing *w, const char *name, const char *text)
{
	buf_clear(&w->part);
	proto_text(&w->part, ANNOTATION_NAME, name);
	proto_text(&w->part, ANNOTATION_TEXT, text);
	proto_message(&w->event, EVENT_ANNOTATION, &w->part);
}

static void put_interval(void *data, const struct state_interval *i)
{
	struct writing *w = data;

	begin_event(w, TYPE_BEGIN, UUID_THREAD + i->thread);
	proto_u64(&w->event, EVENT_CATEGORY_IID, i->state + 1u);
	proto_u64(&w->event, EVENT_NAME_IID, export_state(i) + 1u);
	if (i->ustack) {
		const struct name *name = names_frame(w->source->names, i->ustack);

		annotate(w, "function", name->text);
	}
	end_event(w, i->from_ns);
	begin_event(w, TYPE_END, UUID_THREAD + i->thread);
	end_event(w, i->to_ns);
}

static void put_end(struct writing *w, const char *name, uint32_t thread, uint64_t time, unsigned flow)
{
	begin_event(w, TYPE_INSTANT, UUID_THREAD + thread);
	proto_text(&w->event, EVENT_CATEGORY, "edge");
	proto_text(&w->event, EVENT_NAME, name);
	proto_fixed64(&w->event, flow, w->flows);
	end_event(w, time);
}

static bool in_time(const struct export_source *source, uint64_t time)
{
	return time >= source->from_ns && (!source->to_ns || time <= source->to_ns);
}

static void put_flows(struct writing *w)
{
	const struct graph *graph = w->source->graph;

	for (uint32_t s = GRAPH_NONE; (s = graph_segment_walk(graph, s)) != GRAPH_NONE; ) {
		struct graph_edges walk = graph_edges_into(graph, s, EDGES_STRONG);

		for (struct graph_edge e; graph_edges_next(&walk, &e); ) {
			const char *name = mechanism_infos[e.kind].name;

			if (!in_time(w->source, e.from_ns) || !in_time(w->source, e.to_ns) || !export_has(w->source, e.to_thread) ||
			    !e.from_thread || !e.to_thread || (e.from_thread < w->source->tables->thread_count && !export_has(w->source, e.from_thread)))
				continue;
			w->flows++;
			put_end(w, name, e.from_thread, e.from_ns, EVENT_FLOW);
			put_end(w, name, e.to_thread, e.to_ns, EVENT_LAST_FLOW);
		}
	}
}

static void put_slice(struct writing *w, uint64_t track, const char *name, const char *key, const char *text, uint64_t from, uint64_t to)
{
	begin_event(w, TYPE_BEGIN, track);
	proto_text(&w->event, EVENT_CATEGORY, "answer");
	proto_text(&w->event, EVENT_NAME, name);
	if (text[0])
		annotate(w, key, text);
	end_event(w, from);
	begin_event(w, TYPE_END, track);
	end_event(w, to);
}

static void put_answer(struct writing *w)
{
	const struct diagnosis *g = w->source->answer;
	struct arena arena;

	if (!g || g->verdict == VERDICT_NONE)
		return;
	arena_init(&arena);
	put_track(w, UUID_ANSWER, 0, "Why was it stuck?");
	end_track(w);
	put_track(w, UUID_CHAIN, UUID_ANSWER, "where the time went");
	end_track(w);
	put_slice(w, UUID_ANSWER, arena_printf(&arena, "%s (%" PRIu32 "): %s", g->victim.comm, g->victim.tid, verdict_name(g->verdict)),
		  "answer", g->text, g->start_ns, g->end_ns);
	for (size_t i = 0; i < g->chain_count; i++) {
		const struct chain_link *l = &g->chain[i];

		put_slice(w, UUID_CHAIN, arena_printf(&arena, "%s (%" PRIu32 "): %s", l->actor.comm, l->actor.tid, l->state), "why", l->why,
			  l->start_ns, l->end_ns);
	}
	arena_done(&arena);
}

static int run(const struct export_source *source, struct export_out *out, struct err *err)
{
	struct writing w = { .source = source, .out = out };

	(void)err;
	put_interned(&w);
	put_threads(&w);
	put_answer(&w);
	put_flows(&w);
	export_intervals(source, put_interval, &w);
	buf_done(&w.event);
	buf_done(&w.packet);
	buf_done(&w.part);
	return 0;
}

const struct exporter exporter_perfetto = {
	.name = "perfetto", .summary = "for ui.perfetto.dev: threads' states, wake-ups and messages as flows, the answer", .needs_graph = true,
	.binary = true, .run = run,
};
