/* argus graph: the event graph, its parts, and its own critique. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>

#include "graph/check.h"
#include "base/vec.h"
#include "graph/search.h"
#include "session/command.h"
#include "session/graph_show.h"
#include "symbols/names.h"
#include "trace/when.h"

#define FORWARD_LIMIT 2000
#define SEARCH_LIMIT 100
#define CHECK_LIMIT 20

static const struct option_spec graph_options[] = {
	{ "segment", 0, OPTION_NUMBER, "N", "a segment, or the one that a stretch belongs to, with its neighbours" },
	{ "event", 0, OPTION_NUMBER, "N", "the segment that holds this event" },
	{ "search", 0, OPTION_TEXT, "WHAT", "segments by what they hold; see below; may be repeated: all must match" },
	{ "forward", 0, OPTION_NUMBER, "N", "what this segment set off" },
	{ "list", 0, OPTION_FLAG, NULL, "every segment with its waits and the edges from it" },
	{ "check", 0, OPTION_FLAG, NULL, "what looks wrong in the graph, most harmful first" },
	{ "unread", 0, OPTION_FLAG, NULL, "messages that lay unread for 100 ms and more, longest first" },
	{ "dot", 0, OPTION_FLAG, NULL, "the segments chosen (or all) as Graphviz's language" },
	{ "weak", 0, OPTION_FLAG, NULL, "weak edges too" },
	{ "removed", 0, OPTION_FLAG, NULL, "also edges that rules removed" },
	{ "rules", 0, OPTION_TEXT, "FILE", "more rules (docs/rules.md); may be repeated" },
	{ "only-rules", 0, OPTION_TEXT, "FILE", "these rules instead of the default ones" },
	{ "top", 'n', OPTION_NUMBER, "N", "show at most N results" },
	OPTION_JSON,
	{ 0 }
};

static const struct option_rule graph_rules[] = {
	{ .one_of = "segment event forward search list check unread" }, { .one_of = "dot json" }, { .one_of = "check dot" },
	{ .one_of = "unread dot" }, { .one_of = "unread json" },
	{ .option = "top", .without = "search forward check unread" }, { 0 }
};

struct request {
	struct command_context *context;
	struct trace *trace;
	struct rules *rules;
	struct graph *graph;
	struct buf buf;
	bool json, dot;
	unsigned choice;
	size_t limit;           /* 0: each question's own */
};

static uint64_t peak_rss_bytes(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) ? 0 : (uint64_t)usage.ru_maxrss * 1024;
}

static int load_rules(struct request *r, struct err *err)
{
	const struct options *options = r->context->options;
	const char *path;
	int code = 0;

	r->rules = rules_new();
	if (!options_has(options, "only-rules"))
		code = graph_add_rules(r->rules, r->trace, err);
	for (size_t i = 0; !code && (path = options_nth(options, "only-rules", i)); i++)
		code = rules_add_file(r->rules, path, mechanism_find, err);
	for (size_t i = 0; !code && (path = options_nth(options, "rules", i)); i++)
		code = rules_add_file(r->rules, path, mechanism_find, err);
	return code;
}

static void show_segments(struct request *r, const uint32_t *segments, size_t count)
{
	if (r->dot) {
		graph_show_dot(&r->buf, r->graph, segments, count);
	} else if (r->json) {
		struct json json;

		json_init(&json, &r->buf);
		json_object(&json, NULL);
		json_u64(&json, "version", 1);
		json_array(&json, "segments");
		for (size_t i = 0; i < count; i++)
			graph_json_segment(&json, NULL, r->graph, segments[i], r->choice);
		json_end(&json);
		json_end(&json);
		buf_char(&r->buf, '\n');
	} else {
		for (size_t i = 0; i < count; i++)
			graph_show_segment(&r->buf, r->graph, segments[i]);
		if (!count)
			buf_text(&r->buf, "no segment of the trace is like that\n");
	}
}

/* What the kernel runs in a work item. */
static int show_function(struct request *r, const struct graph_segment *s, struct err *err)
{
	struct arena arena;
	const struct event *e;
	struct names *names;
	int code = 0;

	if (s->kind != SEGMENT_work)
		return 0;
	arena_init(&arena);
	e = trace_event(r->trace, &arena, s->first_event);
	if (e && e->type == EVENT_work_start && e->data)
		code = names_open(r->trace, graph_tables(r->graph), NULL, &names, err);
	if (!code && e && e->type == EVENT_work_start && e->data) {
		const struct name *name = names_kernel(names, event_as(e, work_start)->function);

		buf_text(&r->buf, "runs ");
		buf_escaped(&r->buf, name->text, strlen(name->text), NULL);
		buf_char(&r->buf, '\n');
		names_close(names);
	}
	arena_done(&arena);
	return code;
}

static int show_one(struct request *r, uint32_t segment, struct err *err)
{
	struct graph_segment s;

	if (!graph_segment(r->graph, segment, &s))
		return err_set(err, -ENOENT, "there is no segment %u", segment);
	if (r->json || r->dot) {
		show_segments(r, &s.segment, 1);
		return 0;
	}
	graph_show_around(&r->buf, r->graph, s.segment, true, r->choice);
	return show_function(r, &s, err);
}

static int show_list(struct request *r)
{
	int code = 0;

	if (r->json || r->dot) {
		struct vec(uint32_t) all = { 0 };

		for (uint32_t s = GRAPH_NONE; (s = graph_segment_walk(r->graph, s)) != GRAPH_NONE; )
			vec_push(&all, s);
		show_segments(r, all.items, all.length);
		vec_done(&all);
		return 0;
	}
	for (uint32_t s = GRAPH_NONE; !code && (s = graph_segment_walk(r->graph, s)) != GRAPH_NONE; ) {
		graph_show_around(&r->buf, r->graph, s, false, r->choice);
		if (r->buf.length > 256 * 1024) {
			code = sink_buf(r->context->out, &r->buf);
			buf_clear(&r->buf);
		}
	}
	return code;
}

static int show_search(struct request *r, struct err *err)
{
	struct graph_search search;
	const char *what;
	const uint32_t *found;
	size_t count;
	int code = 0;

	graph_search_init(&search, r->graph);
	for (size_t i = 0; !code && (what = options_nth(r->context->options, "search", i)); i++)
		code = graph_search_add(&search, what, err);
	if (code)
		return code;
	found = graph_search_run(r->context->arena, &search, r->limit ? r->limit : SEARCH_LIMIT, &count);
	show_segments(r, found, count);
	if (count == (r->limit ? r->limit : SEARCH_LIMIT))
		sink_printf(r->context->notes, "argus: only the first %zu; --top shows more\n", count);
	return 0;
}

static int show_forward(struct request *r, struct err *err)
{
	uint32_t segment = (uint32_t)options_number(r->context->options, "forward", 0), *found;
	struct graph_segment s;
	size_t count;

	if (!graph_segment(r->graph, segment, &s))
		return err_set(err, -ENOENT, "there is no segment %u", segment);
	found = graph_forward(r->context->arena, r->graph, segment, r->limit ? r->limit : FORWARD_LIMIT, &count);
	show_segments(r, found, count);
	return 0;
}

static void show_stats(struct request *r)
{
	const struct graph_stats *stats = graph_stats(r->graph);

	if (r->json) {
		struct json json;

		json_init(&json, &r->buf);
		json.pretty = true;
		json_object(&json, NULL);
		json_u64(&json, "version", 1);
		graph_json_stats(&json, r->graph);
		json_u64(&json, "peak_rss_bytes", peak_rss_bytes());
		json_end(&json);
		buf_char(&r->buf, '\n');
		return;
	}
	graph_show_stats(&r->buf, r->graph);
	sink_printf(r->context->notes, "argus: built in %.3f s, %.1f MB of columns, peak memory %.1f MB\n",
		    (double)stats->load_ns / 1e9, (double)stats->bytes / 1e6, (double)peak_rss_bytes() / 1e6);
}

static int answer(struct request *r, struct err *err)
{
	const struct options *options = r->context->options;

	if (options_has(options, "segment"))
		return show_one(r, (uint32_t)options_number(options, "segment", 0), err);
	if (options_has(options, "event")) {
		uint64_t event = options_number(options, "event", 0);
		uint32_t segment = graph_segment_of_event(r->graph, event);

		if (segment == GRAPH_NONE)
			return err_set(err, -ENOENT, "event %" PRIu64 " is in no segment", event);
		return show_one(r, segment, err);
	}
	if (options_has(options, "forward"))
		return show_forward(r, err);
	if (options_has(options, "search"))
		return show_search(r, err);
	if (options_has(options, "check")) {
		graph_check_show(&r->buf, r->graph, r->limit ? r->limit : CHECK_LIMIT, r->json);
		return 0;
	}
	if (options_has(options, "unread")) {
		graph_show_unread(&r->buf, r->graph, r->limit ? r->limit : CHECK_LIMIT);
		return 0;
	}
	if (options_has(options, "list") || r->dot)
		return show_list(r);
	show_stats(r);
	return 0;
}

/* Rather than rows of zeros: what is missing. */
static int check_some(const struct graph *graph, struct err *err)
{
	const struct trace *trace = graph_trace(graph);
	const struct trace_summary *summary = trace_summary(trace);

	if (graph_stats(graph)->stretches)
		return 0;
	if (!summary->events && !summary->state_events)
		return err_set(err, -ENODATA, "'%s' holds no events: there is no graph to make of it", trace_path(trace));
	return err_set(err, -ENODATA, "'%s' holds %" PRIu64 " events and %" PRIu64 " state records, but none tells of a thread that runs, waits "
		       "or wakes another: there is no graph to make of them", trace_path(trace), summary->events, summary->state_events);
}

static int run_graph(struct command_context *context, struct err *err)
{
	const struct options *options = context->options;
	struct request r = { .context = context, .json = options_has(options, "json"), .dot = options_has(options, "dot"),
			     .choice = EDGES_STRONG, .limit = (size_t)options_number(options, "top", 0) };
	struct graph_options build = { 0 };
	int code;

	if (options_has(options, "weak"))
		r.choice |= EDGES_WEAK;
	if (options_has(options, "removed"))
		r.choice |= EDGES_REMOVED;
	code = trace_open(command_trace_or_ring(context), &r.trace, err);
	if (!code)
		code = load_rules(&r, err);
	build.rules = r.rules;
	if (!code)
		code = graph_build(r.trace, NULL, &build, &r.graph, err);
	if (!code)
		code = check_some(r.graph, err);
	if (!code) {
		buf_init(&r.buf);
		code = answer(&r, err);
		if (!code)
			code = sink_buf(context->out, &r.buf);
		buf_done(&r.buf);
	}
	graph_free(r.graph);
	trace_close(r.trace);
	rules_free(r.rules);
	return code;
}

const struct command command_graph = {
	.name = "graph",
	.arguments = "[FILE]",
	.summary = "the event graph: statistics, segments, edges, and what looks wrong in it",
	.help = "WHAT of --search is one of\n"
		"  at=TIME         segments that last at the time (as dump prints it, +1.5 from the\n"
		"                  start, or the wall clock's 14:03:59.25)\n"
		"  from=TIME, to=TIME  that overlap the window\n"
		"  thread=TID      of this thread, or of threads with this name\n"
		"  pid=PID         of threads of this process\n"
		"  object=OBJECT   that wait on it, or send to or receive from it\n"
		"  text=TEXT       with an event whose text (name, file, mark) holds TEXT\n"
		"  event=TYPE      with an event of the type: input, message, exec, ...\n"
		"  kind=KIND       plain, callout, work, interrupt, maintenance, gap\n"
		"  wait=KIND       that end in a wait of the kind: futex, epoll, ...\n"
		"  longer=TIME     that last longer, their wait counted: 100ms\n",
	.options = graph_options,
	.rules = graph_rules,
	.pages = true,
	.narrow = NARROW_TRACE,
	.run = run_graph,
};
