/* argus export: a trace in other programs' forms. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "export/folded.h"
#include "session/command.h"
#include "trace/when.h"

static const struct option_spec export_options[] = {
	{ "folded", 0, OPTION_FLAG, NULL, "folded stacks, for flamegraph.pl, speedscope, inferno" },
	{ "by", 0, OPTION_WORD, "WEIGHT", "what a stack counts: samples, waits, wait-time (microseconds), events (samples)",
	  .choices = "samples waits wait-time events" },
	{ "type", 'e', OPTION_TEXT, "EVENT", "with --by events: of this type, or of several: switch,wake" },
	{ "pid", 'p', OPTION_NUMBER, "PID", "this process only", .most = OPTION_PID_MOST },
	{ "threads", 0, OPTION_FLAG, NULL, "each thread apart" },
	{ "lines", 0, OPTION_FLAG, NULL, "inlined functions too" },
	OPTION_SYMFS,
	OPTION_FROM,
	OPTION_TO,
	{ 0 }
};

static enum folded_weight read_weight(const char *text)
{
	static const char *const words[] = { [FOLDED_SAMPLES] = "samples", [FOLDED_WAITS] = "waits", [FOLDED_WAIT_US] = "wait-time",
					     [FOLDED_EVENTS] = "events" };
	unsigned i = 0;

	while (i + 1 < sizeof(words) / sizeof(words[0]) && strcmp(words[i], text))
		i++;
	return (enum folded_weight)i;
}

static int read_types(struct arena *arena, const char *list, struct trace_filter *filter, struct err *err)
{
	while (*list) {
		size_t length = strcspn(list, ",");
		const char *name = arena_strndup(arena, list, length);
		const struct event_info *info = event_info_find(name);
		if (!info)
			return err_set(err, -EINVAL, "no event is called '%s'; `argus info` lists those of a trace", name);
		trace_filter_add(filter, event_info_number(info));
		list += length + (list[length] == ',');
	}
	return 0;
}

static int read_options(struct command_context *context, const struct trace *trace, struct folded_options *folded,
			struct trace_filter *filter, struct err *err)
{
	const struct options *given = context->options;
	int status = 0;

	folded->weight = read_weight(options_text(given, "by", options_has(given, "type") ? "events" : "samples"));
	if (options_has(given, "from"))
		status = trace_time_parse(trace, options_text(given, "from", ""), &filter->from_ns, err);
	if (!status && options_has(given, "to"))
		status = trace_time_parse(trace, options_text(given, "to", ""), &filter->to_ns, err);
	if (!status && options_has(given, "type"))
		status = read_types(context->arena, options_text(given, "type", ""), filter, err);
	if (!status && options_has(given, "type") && folded->weight != FOLDED_EVENTS)
		status = err_set(err, -EINVAL, "--type chooses what --by events counts; it means nothing with --by %s",
				 options_text(given, "by", ""));
	folded->pid = (uint32_t)options_number(given, "pid", 0);
	folded->threads = options_has(given, "threads");
	folded->filter = filter;
	return status;
}

static int write_folded(struct command_context *context, const struct trace *trace,
			const struct folded_options *folded, struct err *err)
{
	struct names_options options = { .symfs = options_text(context->options, "symfs", NULL),
					 .lines = options_has(context->options, "lines") };
	struct folded_counts counts;
	struct tables *tables;
	struct names *names;
	struct buf buf = { 0 };
	int status = tables_build_parts(trace, TABLES_THREADS | TABLES_STACKS, &tables, err);

	if (status)
		return status;
	status = names_open(trace, tables, &options, &names, err);
	if (!status) {
		folded_export(trace, tables, names, folded, &buf, &counts);
		status = sink_buf(context->out, &buf);
		if (!counts.stacks)
			sink_printf(context->notes, "no such event has a stack; `argus info` tells what there is, --by what to count\n");
		else if (counts.without)
			sink_printf(context->notes, "%" PRIu64 " events without a stack are left out\n", counts.without);
		names_close(names);
	}
	buf_done(&buf);
	tables_free(tables);
	return status;
}

static int run_export(struct command_context *context, struct err *err)
{
	struct folded_options folded = { 0 };
	struct trace_filter filter = { 0 };
	struct trace *trace;
	int status;

	if (!options_has(context->options, "folded"))
		return err_set(err, -EINVAL, "say in which form: --folded");
	status = trace_open(command_trace_path(context), &trace, err);
	if (status)
		return status;
	status = read_options(context, trace, &folded, &filter, err);
	if (!status)
		status = write_folded(context, trace, &folded, err);
	trace_close(trace);
	return status;
}

const struct command command_export = {
	.name = "export",
	.arguments = "[FILE]",
	.summary = "write a trace in another program's form",
	.options = export_options,
	.run = run_export,
};
