/* argus infer: where the time went, by the latencies that stacks imply. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "infer/heat_map.h"
#include "infer/tree_picture.h"
#include "session/artifact.h"
#include "session/profiling.h"
#include "session/session.h"

#define SUGGESTED 8

static const struct option_spec infer_options[] = {
	PROFILING_OPTIONS,
	{ "own", 0, OPTION_FLAG, NULL, "order functions by their own time (the default)" },
	{ "inclusive", 0, OPTION_FLAG, NULL, "order functions by their time with all that they called" },
	OPTION_FROM,
	OPTION_TO,
	{ "hang", 0, OPTION_NUMBER, "N", "the thread and the time of the Nth hang that `argus hangs` lists" },
	{ "function", 'f', OPTION_TEXT, "NAME", "each call of this function, in the order of time" },
	{ 0 }
};

static const struct option_rule infer_rules[] = {
	PROFILING_RULES, { .one_of = "own inclusive" }, { .one_of = "hang tid" }, { .one_of = "hang pid" }, { .one_of = "hang from" },
	{ .one_of = "hang to" }, { 0 }
};

static int read_window(struct command_context *context, struct trace *trace, struct observe_scope *scope,
		       struct err *err)
{
	const char *from = options_text(context->options, "from", NULL), *to = options_text(context->options, "to", NULL);
	const struct session session = { .trace = trace };
	int result = 0;

	if (from)
		result = session_time(&session, from, &scope->from_ns, err);
	if (!result && to)
		result = session_time(&session, to, &scope->to_ns, err);
	if (!result && from && to && scope->from_ns >= scope->to_ns)
		result = err_set(err, -EINVAL, "the window is empty: --from is not before --to");
	return result;
}

/* The hang's thread and window. */
static int read_hang(struct command_context *context, uint64_t number, struct observe_scope *scope, struct err *err)
{
	struct hangs_options options = { 0 };
	const struct hang *hangs;
	struct session session;
	uint32_t *tid;
	size_t count;
	int result = session_open(command_trace_or_ring(context), &session, err);

	if (result)
		return result;
	options.root_pid = session.root_pid;
	result = session_hangs(&session, context->arena, &options, &hangs, &count, err);
	if (!result && (!number || number > count)) {
		result = err_set(err, -ENOENT, "there is no hang %" PRIu64 ": `argus hangs` lists %zu", number, count);
	} else if (!result) {
		tid = arena_new(context->arena, uint32_t);
		*tid = hangs[number - 1].tid;
		scope->tids = tid;
		scope->tid_count = 1;
		scope->from_ns = hangs[number - 1].start_ns;
		scope->to_ns = hangs[number - 1].end_ns;
	}
	session_close(&session);
	return result;
}

static void as_json(struct buf *buf, const struct profiling *p, const struct report *report)
{
	struct json json;

	json_init(&json, buf);
	json_object(&json, NULL);
	json_text(&json, "schema", "argus-infer");
	json_u64(&json, "version", 1);
	json_text(&json, "trace", trace_path(p->trace));
	json_text(&json, "time", profiling_time_name(report->time));
	report_counts_json(&json, "looked_at", p->profile);
	json_u64(&json, "all_ns", report->all_ns);
	report_paths_json(&json, "paths", report);
	report_functions_json(&json, "functions", report);
	if (p->profile->instances.function) {
		report_instances_json(&json, "instances", p->profile);
		json_u64(&json, "instances_left_out", p->profile->instances.passed_over);
	}
	json_end(&json);
	buf_char(buf, '\n');
}

/* Functions that may have been meant: with the text in their names. */
static void suggest(struct buf *buf, const struct functions *functions, const char *text)
{
	unsigned shown = 0;

	for (size_t i = 0; i < functions->list.length && shown < SUGGESTED; i++) {
		struct arena arena;
		const char *name;

		if (!strstr(functions->list.items[i].name, text))
			continue;
		arena_init(&arena);
		name = report_brief(&arena, functions->list.items[i].name, 0);
		buf_text(buf, shown++ ? ", " : "names with that in them: ");
		buf_escaped(buf, name, strlen(name), NULL);
		arena_done(&arena);
	}
	if (shown)
		buf_char(buf, '\n');
}

static void as_text(struct buf *buf, struct command_context *context, const struct profiling *p,
		    const struct report *report)
{
	const struct observe_counts *counts = &p->profile->observer.counts;
	bool by_total = options_has(context->options, "inclusive");
	const char *function = p->profile->instances.function;
	size_t contexts = p->profile->contexts.nodes.length - 1 - p->profile->contexts.programs.length;

	if (function) {
		report_instances_text(buf, p->profile, trace_summary(p->trace)->start_ns);
		if (!p->profile->instances.list.length) {
			buf_text(buf, "no call of it was seen\n");
			suggest(buf, p->profile->functions, function);
		}
		return;
	}
	buf_printf(buf, "%" PRIu64 " stack%s of %u thread%s in ", counts->stacks, counts->stacks == 1 ? "" : "s", counts->threads,
		   counts->threads == 1 ? "" : "s");
	report_duration(buf, (int64_t)(counts->to_ns - counts->from_ns));
	buf_printf(buf, ": %" PRIu64 " call%s told apart in %zu context%s; %s ", p->profile->tree.instances,
		   p->profile->tree.instances == 1 ? "" : "s", contexts, contexts == 1 ? "" : "s",
		   report->time == RANK_cpu ? "on the processor" : report->time == RANK_wait ? "waiting" : "in all");
	report_duration(buf, (int64_t)report->all_ns);
	buf_text(buf, "\n\n");
	report_functions_text(buf, report, by_total);
	buf_text(buf, "\n");
	report_paths_text(buf, report, context->out->width);
}

static int show(struct command_context *context, const struct profiling *p, const struct report *report, struct err *err)
{
	const struct options *options = context->options;
	double least = (double)options_number(options, "least", 5) / 1000;
	const char *heat = options_text(options, "map-svg", NULL), *tree = options_text(options, "tree-svg", NULL);
	struct buf buf;
	int result = 0;

	buf_init(&buf);
	if (heat) {
		heat_map_svg(&buf, report, trace_path(p->trace));
		result = artifact_write(heat, &buf, err);
		buf_clear(&buf);
	}
	if (!result && tree) {
		tree_picture_svg(&buf, report, trace_path(p->trace), least);
		result = artifact_write(tree, &buf, err);
		buf_clear(&buf);
	}
	if (!result)
		result = profiling_page(context, p, NULL, report, err);
	if (!result) {
		if (options_has(options, "json"))
			as_json(&buf, p, report);
		else if (options_has(options, "folded"))
			report_folded(&buf, report);
		else if (options_has(options, "tree"))
			tree_picture_text(&buf, report, least);
		else if (options_has(options, "map"))
			heat_map_text(&buf, report, context->out->colour, context->out->width);
		else
			as_text(&buf, context, p, report);
		result = sink_buf(context->out, &buf);
	}
	buf_done(&buf);
	return result;
}

static int run_infer(struct command_context *context, struct err *err)
{
	const struct options *options = context->options;
	struct profile_options profile_options;
	struct profiling p = { 0 };
	struct report report;
	enum rank_time time;
	bool narrow;
	int result;

	profiling_options(context, &profile_options);
	if (options_has(options, "hang")) {
		result = read_hang(context, options_number(options, "hang", 0), &profile_options.scope, err);
		if (result)
			return result;
	}
	narrow = profile_options.scope.tids || options_has(options, "from") || options_has(options, "to");
	time = profiling_time(context, narrow);
	profile_options.instances_of = options_text(options, "function", NULL);
	profile_options.max_instances = 1000000;
	result = profiling_open(&p, command_trace_or_ring(context), options_text(options, "symfs", NULL), err);
	if (!result)
		result = read_window(context, p.trace, &profile_options.scope, err);
	if (!result)
		result = profiling_infer(context->arena, &p, &profile_options, NULL, err);
	if (!result) {
		report_make(context->arena, p.profile, NULL, time, options_text(options, "module", NULL),
			    options_has(options, "inclusive"), options_number(options, "top", 10), &report);
		profiling_notes(context, &p);
		result = show(context, &p, &report, err);
	}
	profiling_close(&p);
	return result;
}

const struct command command_infer = {
	.name = "infer",
	.arguments = "[FILE]",
	.summary = "where the time went: calling contexts and functions, their latencies inferred from stacks",
	.help = "Of a recording of a command or of chosen processes only those are looked at, and what they started, unless\n"
		"--tid or --pid names others.\n"
		"Calls are told apart by the continuity of the stacks that events left. A latency is given by the\n"
		"paper's two estimates, by bounds that hold as long as it was one call, and by an estimate between them.\n",
	.options = infer_options,
	.rules = infer_rules,
	.pages = true,
	.narrow = "Fewer threads take less: --tid, --pid; and so does a shorter trace.",
	.run = run_infer,
};
