/* The graph's critique of itself, as text and JSON. */
#include <inttypes.h>

#include "graph/check.h"
#include "session/graph_show.h"
#include "trace/text.h"

static const char *const flaw_names[] = {
	[FLAW_over] = "over-connection", [FLAW_unwoken] = "under-connection", [FLAW_poll_loop] = "poll loop",
	[FLAW_handed_over] = "missing edge",
};

static void show_what(struct buf *buf, const struct graph_flaw *flaw)
{
	const char *wait = kind_value_name(FIELD_WAIT_KIND, flaw->wait);

	buf_printf(buf, "%s", wait ? wait : "?");
	if (flaw->syscall != SYSCALL_NONE) {
		buf_text(buf, " in ");
		text_format_value(buf, FIELD_SYSCALL, flaw->syscall);
	}
	if (flaw->object) {
		buf_text(buf, " on ");
		text_format_value(buf, FIELD_OBJECT, flaw->object);
	}
}

static void show_flaw(struct buf *buf, const struct graph *graph, const struct graph_flaw *flaw)
{
	buf_printf(buf, "%s: ", flaw_names[flaw->kind]);
	graph_show_thread(buf, graph, flaw->thread);
	switch (flaw->kind) {
	case FLAW_over:
		buf_printf(buf, " %s %u applications in one segment",
			   flaw->receives && flaw->sends ? "receives from and sends to" : flaw->receives ? "receives from" : "sends to",
			   flaw->peer_count);
		break;
	case FLAW_unwoken:
		buf_printf(buf, " came back %" PRIu64 " time%s though nothing known woke it (", flaw->count,
			   flaw->count == 1 ? "" : "s");
		show_what(buf, flaw);
		buf_text(buf, ")");
		break;
	case FLAW_poll_loop:
		buf_printf(buf, " looked again %" PRIu64 " times, every ", flaw->count);
		graph_show_duration(buf, flaw->period_ns);
		buf_text(buf, " (");
		show_what(buf, flaw);
		buf_text(buf, "): it waits for something that wakes nobody, ");
		if (!flaw->flag)
			buf_text(buf, "likely a flag");
		else if (graph_flag_name(graph, flaw->flag))
			buf_printf(buf, "the flag %s at 0x%" PRIx64, graph_flag_name(graph, flaw->flag), flaw->flag);
		else
			buf_printf(buf, "the flag at 0x%" PRIx64, flaw->flag);
		buf_text(buf, flaw->always ? ", or does nothing else all its life" : "");
		break;
	case FLAW_handed_over:
		buf_printf(buf, ": %s, %" PRIu64 " times from another thread, and no rule joins them", flaw->words, flaw->count);
		break;
	}
	buf_text(buf, "; ");
	graph_show_duration(buf, flaw->harm_ns);
	buf_printf(buf, " in all; segment %u, event %" PRIu64 "\n", flaw->segment, flaw->first_event);
	for (uint32_t i = 0; flaw->kind == FLAW_over && i < flaw->peer_count && i < 4; i++) {
		buf_printf(buf, "  event %" PRIu64 " with ", flaw->peer_events[i]);
		graph_show_thread(buf, graph, flaw->peers[i]);
		buf_char(buf, '\n');
	}
	if (flaw->proposal[0])
		buf_printf(buf, "  a rule: %s\n", flaw->proposal);
}

static void json_flaw(struct json *json, const struct graph *graph, const struct graph_flaw *flaw)
{
	struct graph_thread thread;
	const char *wait = kind_value_name(FIELD_WAIT_KIND, flaw->wait);

	graph_thread(graph, flaw->thread, &thread);
	json_object(json, NULL);
	json_text(json, "kind", flaw_names[flaw->kind]);
	json_text(json, "thread", thread.name);
	json_u64(json, "tid", thread.tid);
	json_u64(json, "pid", thread.pid);
	json_u64(json, "segment", flaw->segment);
	json_u64(json, "first_event", flaw->first_event);
	json_u64(json, "count", flaw->count);
	json_u64(json, "harm_ns", flaw->harm_ns);
	json_text(json, "wait", flaw->kind == FLAW_over || flaw->kind == FLAW_handed_over ? NULL : wait);
	json_u64(json, "object", flaw->object);
	json_u64(json, "period_ns", flaw->period_ns);
	json_bool(json, "always", flaw->always);
	json_u64(json, "flag", flaw->flag);
	json_text(json, "flag_name", flaw->flag ? graph_flag_name(graph, flaw->flag) : NULL);
	json_array(json, "peers");
	for (uint32_t i = 0; i < flaw->peer_count && i < 4; i++) {
		graph_thread(graph, flaw->peers[i], &thread);
		json_object(json, NULL);
		json_text(json, "thread", thread.name);
		json_u64(json, "tid", thread.tid);
		json_u64(json, "pid", thread.pid);
		json_u64(json, "event", flaw->peer_events[i]);
		json_end(json);
	}
	json_end(json);
	json_text(json, "words", flaw->words);
	json_text(json, "proposal", flaw->proposal);
	json_end(json);
}

static uint64_t lay_ns(const struct graph *graph, const struct graph_unread *unread)
{
	uint64_t end = unread->read_ns == UINT64_MAX ? trace_summary(graph_trace(graph))->end_ns : unread->read_ns;

	return end > unread->send_ns ? end - unread->send_ns : 0;
}

void graph_show_unread(struct buf *buf, const struct graph *graph, size_t limit)
{
	size_t count;
	const struct graph_unread *all = graph_unread(graph, &count);
	uint64_t above = UINT64_MAX;

	/* A selection by length, the longest first; equal ones together. */
	for (size_t shown = 0; shown < limit; ) {
		uint64_t longest = 0;

		for (size_t i = 0; i < count; i++)
			if (lay_ns(graph, &all[i]) < above && lay_ns(graph, &all[i]) > longest)
				longest = lay_ns(graph, &all[i]);
		if (!longest)
			break;
		for (size_t i = 0; i < count && shown < limit; i++) {
			const char *kind = kind_value_name(FIELD_MESSAGE_KIND, all[i].kind);

			if (lay_ns(graph, &all[i]) != longest)
				continue;
			buf_printf(buf, "%s of %" PRIu64 " bytes from ", kind ? kind : "message", all[i].bytes);
			graph_show_thread(buf, graph, all[i].sender);
			if (all[i].receiver != GRAPH_NONE) {
				buf_text(buf, " to ");
				graph_show_thread(buf, graph, all[i].receiver);
			} else if (all[i].receiver_pid) {
				buf_printf(buf, " to process %u", all[i].receiver_pid);
			}
			buf_text(buf, all[i].read_event ? " lay unread for " : " never read, for ");
			graph_show_duration(buf, longest);
			buf_printf(buf, "; event %" PRIu64, all[i].send_event);
			if (all[i].read_event)
				buf_printf(buf, ", read at %" PRIu64, all[i].read_event);
			buf_char(buf, '\n');
			shown++;
		}
		above = longest;
	}
}

void graph_check_show(struct buf *buf, const struct graph *graph, size_t limit, bool as_json)
{
	struct arena arena;
	struct graph_flaw *flaws;
	size_t count;

	arena_init(&arena);
	flaws = graph_check(&arena, graph, limit, &count);
	if (as_json) {
		struct json json;

		json_init(&json, buf);
		json_object(&json, NULL);
		json_u64(&json, "version", 1);
		json_array(&json, "flaws");
		for (size_t i = 0; i < count; i++)
			json_flaw(&json, graph, &flaws[i]);
		json_end(&json);
		json_end(&json);
		buf_char(buf, '\n');
	} else {
		for (size_t i = 0; i < count; i++)
			show_flaw(buf, graph, &flaws[i]);
		if (!count)
			buf_text(buf, "nothing looks wrong\n");
	}
	arena_done(&arena);
}
