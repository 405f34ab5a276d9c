/* argus diff: what took longer in one run than in another. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "infer/heat_map.h"
#include "infer/tree_picture.h"
#include "session/artifact.h"
#include "session/profiling.h"

static const struct option_spec diff_options[] = {
	PROFILING_OPTIONS,
	{ "base-tid", 0, OPTION_TEXT, "TID|NAME", "the thread in BASE, where numbers differ" },
	{ "base-pid", 0, OPTION_TEXT, "PID|NAME", "the process in BASE, where numbers differ" },
	{ 0 }
};

static const struct option_rule diff_rules[] = {
	PROFILING_RULES, { .one_of = "base-tid base-pid" }, { 0 }
};

struct run {
	struct profiling base, buggy;
	struct functions functions;
	struct comparison comparison;
	struct report report;
};

/* The base's scope is the buggy run's but for what is given apart. */
static void base_scope(struct command_context *context, const struct profile_options *buggy,
		       struct profile_options *ret_options)
{
	const char *thread = options_text(context->options, "base-tid", NULL);
	const char *process = options_text(context->options, "base-pid", NULL), *given = thread ? thread : process;
	uint32_t *number = arena_new(context->arena, uint32_t);
	uint64_t value;

	*ret_options = *buggy;
	if (!given)
		return;
	ret_options->scope.tids = ret_options->scope.pids = NULL;
	ret_options->scope.name = NULL;
	if (parse_number(given, &value) || value > UINT32_MAX) {
		ret_options->scope.name = given;
		return;
	}
	*number = (uint32_t)value;
	if (thread) {
		ret_options->scope.tids = number;
		ret_options->scope.tid_count = 1;
	} else {
		ret_options->scope.pids = number;
		ret_options->scope.pid_count = 1;
	}
}

static void as_json(struct buf *buf, const struct run *run)
{
	struct json json;

	json_init(&json, buf);
	json_object(&json, NULL);
	json_text(&json, "schema", "argus-diff");
	json_u64(&json, "version", 1);
	json_text(&json, "base", trace_path(run->base.trace));
	json_text(&json, "buggy", trace_path(run->buggy.trace));
	json_text(&json, "time", profiling_time_name(run->report.time));
	report_counts_json(&json, "looked_at_base", run->base.profile);
	report_counts_json(&json, "looked_at", run->buggy.profile);
	json_u64(&json, "only_here", run->comparison.new_contexts);
	report_paths_json(&json, "paths", &run->report);
	report_functions_json(&json, "functions", &run->report);
	json_end(&json);
	buf_char(buf, '\n');
}

static void one_line(struct buf *buf, const char *what, const struct profiling *p, enum rank_time time)
{
	uint64_t all = 0;

	for (size_t i = 0; i < p->profile->contexts.programs.length; i++)
		all += rank_total(&p->profile->tree.costs.items[p->profile->contexts.programs.items[i].node], time);
	buf_printf(buf, "%-6s %" PRIu64 " stacks of %u thread%s in ", what, p->profile->observer.counts.stacks,
		   p->profile->observer.counts.threads, p->profile->observer.counts.threads == 1 ? "" : "s");
	report_duration(buf, (int64_t)(p->profile->observer.counts.to_ns - p->profile->observer.counts.from_ns));
	buf_text(buf, time == RANK_cpu ? ", on the processor " : time == RANK_wait ? ", waiting " : ", in all ");
	report_duration(buf, (int64_t)all);
	buf_char(buf, '\n');
}

static void as_text(struct buf *buf, const struct command_context *context, const struct run *run)
{
	one_line(buf, "base:", &run->base, run->report.time);
	one_line(buf, "buggy:", &run->buggy, run->report.time);
	buf_printf(buf, "%u contexts only in the buggy run\n\n", run->comparison.new_contexts);
	if (!run->report.path_count) {
		buf_text(buf, "nothing took longer than in the base, for the work that was done\n");
		return;
	}
	report_paths_text(buf, &run->report, context->out->width);
	buf_char(buf, '\n');
	report_functions_text(buf, &run->report, false);
}

static int show(struct command_context *context, const struct run *run, struct err *err)
{
	const struct options *options = context->options;
	double least = (double)options_number(options, "least", 5) / 1000;
	const char *tree = options_text(options, "tree-svg", NULL), *heat = options_text(options, "map-svg", NULL);
	struct buf buf, title;
	int result = 0;

	buf_init(&buf);
	buf_init(&title);
	buf_printf(&title, "%s compared with %s", trace_path(run->buggy.trace), trace_path(run->base.trace));
	if (tree) {
		tree_picture_svg(&buf, &run->report, title.data, least);
		result = artifact_write(tree, &buf, err);
		buf_clear(&buf);
	}
	if (!result && heat) {
		heat_map_svg(&buf, &run->report, title.data);
		result = artifact_write(heat, &buf, err);
		buf_clear(&buf);
	}
	if (!result)
		result = profiling_page(context, &run->buggy, trace_path(run->base.trace), &run->report, err);
	if (!result) {
		if (options_has(options, "json"))
			as_json(&buf, run);
		else if (options_has(options, "folded"))
			report_folded(&buf, &run->report);
		else if (options_has(options, "tree"))
			tree_picture_text(&buf, &run->report, least);
		else if (options_has(options, "map"))
			heat_map_text(&buf, &run->report, context->out->colour, context->out->width);
		else
			as_text(&buf, context, run);
		result = sink_buf(context->out, &buf);
	}
	buf_done(&title);
	buf_done(&buf);
	return result;
}

static int compare(struct command_context *context, struct run *run, struct err *err)
{
	const struct options *options = context->options;
	const char *symfs = options_text(options, "symfs", NULL);
	struct profile_options base_options, buggy_options;
	enum rank_time time = profiling_time(context, true);
	int result;

	profiling_options(context, &buggy_options);
	base_scope(context, &buggy_options, &base_options);
	result = profiling_open(&run->base, options->arguments[0], symfs, err);
	if (!result)
		result = profiling_open(&run->buggy, options->arguments[1], symfs, err);
	if (!result)
		result = profiling_infer(context->arena, &run->base, &base_options, &run->functions, err);
	if (!result)
		result = profiling_infer(context->arena, &run->buggy, &buggy_options, &run->functions, err);
	if (!result)
		result = compare_profiles(context->arena, run->base.profile, run->buggy.profile, time, &run->comparison, err);
	if (result)
		return result;
	report_make(context->arena, run->buggy.profile, &run->comparison, time, options_text(options, "module", NULL), false,
		    options_number(options, "top", 10), &run->report);
	profiling_notes(context, &run->base);
	profiling_notes(context, &run->buggy);
	return show(context, run, err);
}

static int run_diff(struct command_context *context, struct err *err)
{
	struct run run = { 0 };
	int result;

	if (context->options->argument_count != 2)
		return err_set(err, -EINVAL, "give two traces: BASE, of a run that was fine, and BUGGY");
	functions_init(&run.functions, context->arena);
	result = compare(context, &run, err);
	profiling_close(&run.base);
	profiling_close(&run.buggy);
	functions_done(&run.functions);
	return result;
}

const struct command command_diff = {
	.name = "diff",
	.arguments = "BASE BUGGY",
	.many_arguments = true,
	.summary = "what took longer than in a run that was fine: calling contexts, the function and module to look at",
	.help = "Runs are compared per piece of work: a context's time in BASE is scaled by how often the outermost call\n"
		"around it that both runs completed was made in each. For a command that ran from start to exit that is the\n"
		"whole run, in a server or a window's program each request or input. Of recordings of a command or of chosen\n"
		"processes only those are compared, and what they started, unless --tid or --pid names others.\n",
	.options = diff_options,
	.rules = diff_rules,
	.pages = true,
	.narrow = "Shorter recordings take less, and so do fewer threads: --tid, --pid.",
	.run = run_diff,
};
