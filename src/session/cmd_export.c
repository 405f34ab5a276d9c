/* argus export: a trace in other programs' forms. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "diagnose/scene.h"
#include "export/export.h"
#include "export/folded.h"
#include "session/artifact.h"
#include "session/command.h"
#include "session/session.h"
#include "session/why.h"
#include "trace/when.h"

static const struct option_spec export_options[] = {
	{ "perfetto", 0, OPTION_FLAG, NULL, "for ui.perfetto.dev: threads' states, wake-ups and messages as flows, the answer" },
	{ "speedscope", 0, OPTION_FLAG, NULL, "for speedscope.app: a profile for each thread, its time by state and stack" },
	{ "firefox", 0, OPTION_FLAG, NULL, "for profiler.firefox.com: threads' time by state and stack, waits as markers" },
	{ "pprof", 0, OPTION_FLAG, NULL, "for pprof: time by thread, state and stack, compressed" },
	{ "folded", 0, OPTION_FLAG, NULL, "folded stacks, for flamegraph.pl, speedscope, inferno" },
	{ "output", 'o', OPTION_TEXT, "FILE", "the file to write (standard output)" },
	{ "by", 0, OPTION_WORD, "WEIGHT", "what a stack counts: samples, waits, wait-time (microseconds), events (samples)",
	  .choices = "samples waits wait-time events" },
	{ "type", 'e', OPTION_TEXT, "EVENT", "with --by events: of this type, or of several: switch,wake" },
	{ "pid", 'p', OPTION_NUMBER, "PID", "this process only", .most = OPTION_PID_MOST },
	{ "threads", 0, OPTION_FLAG, NULL, "keep threads apart" },
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

/* To the file that is asked for, or the standard output. */
static int write_text(struct command_context *context, const struct buf *buf, struct err *err)
{
	const char *path = options_text(context->options, "output", NULL);
	struct artifact file;
	int r;

	if (!path)
		return sink_buf(context->out, buf);
	r = artifact_open(&file, path, 0666, err);
	if (r)
		return r;
	if (fwrite(buf->data, 1, buf->length, file.file) != buf->length)
		r = err_sys(err, -errno, "writing '%s'", path);
	return artifact_close(&file, r, err);
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
		status = write_text(context, &buf, err);
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

/* ---- one of exporters.def ---- */

struct target {
	struct sink *sink;
	FILE *file;              /* NULL: the sink */
};

static int write_target(void *data, const void *bytes, size_t count)
{
	struct target *target = data;

	if (!target->file)
		return sink_write(target->sink, bytes, count);
	return fwrite(bytes, 1, count, target->file) == count ? 0 : -errno;
}

static int export_session(struct command_context *context, const struct exporter *exporter, struct export_source *source,
			  struct export_out *out, struct err *err)
{
	struct session session;
	struct why_question question = { .pid = source->pid };
	struct why_reply reply = { 0 };
	int r = session_open(command_trace_or_ring(context), &session, err);

	if (r)
		return r;
	source->trace = session.trace;
	source->tables = session.tables;
	source->names = session.names;
	source->graph = session.scene->graph;
	r = why_ask(context->arena, &session, NULL, &question, &reply, err);
	source->answer = reply.diagnosis;
	if (!r)
		r = exporter->run(source, out, err);
	session_close(&session);
	return r;
}

static int export_plain(struct command_context *context, const struct exporter *exporter, struct export_source *source,
			struct trace *trace, struct export_out *out, struct err *err)
{
	struct names_options options = { .symfs = options_text(context->options, "symfs", NULL) };
	struct tables *tables;
	struct names *names;
	int r = tables_build(trace, &tables, err);

	if (r)
		return r;
	r = names_open(trace, tables, &options, &names, err);
	if (!r) {
		source->trace = trace;
		source->tables = tables;
		source->names = names;
		r = exporter->run(source, out, err);
		names_close(names);
	}
	tables_free(tables);
	return r;
}

static int run_exporter(struct command_context *context, const struct exporter *exporter, struct trace *trace, struct err *err)
{
	const char *path = options_text(context->options, "output", NULL);
	struct target target = { .sink = context->out };
	struct artifact file;
	struct export_out out = { .write = write_target, .data = &target };
	struct export_source source = { .pid = (uint32_t)options_number(context->options, "pid", 0) };
	int r = 0;

	if (exporter->binary && !path && context->out->terminal)
		return err_set(err, -EINVAL, "this is not for a terminal: write it to a file, -o FILE");
	if (options_has(context->options, "from"))
		r = trace_time_parse(trace, options_text(context->options, "from", ""), &source.from_ns, err);
	if (!r && options_has(context->options, "to"))
		r = trace_time_parse(trace, options_text(context->options, "to", ""), &source.to_ns, err);
	if (r)
		return r;
	if (path) {
		r = artifact_open(&file, path, 0666, err);
		if (r)
			return r;
		target.file = file.file;
	}
	r = exporter->needs_graph ? export_session(context, exporter, &source, &out, err)
				  : export_plain(context, exporter, &source, trace, &out, err);
	export_flush(&out, true);
	buf_done(&out.buf);
	if (!r && out.status)
		r = path ? err_sys(err, out.status, "writing '%s'", path) : out.status;
	return path ? artifact_close(&file, r, err) : r;
}

static int run_export(struct command_context *context, struct err *err)
{
	struct folded_options folded = { 0 };
	struct trace_filter filter = { 0 };
	const struct exporter *exporter = NULL;
	struct trace *trace;
	int status;

	for (unsigned i = 0; exporters[i]; i++)
		if (options_has(context->options, exporters[i]->name))
			exporter = exporters[i];
	if (!exporter && !options_has(context->options, "folded"))
		return err_set(err, -EINVAL, "say in which form: --perfetto, --speedscope, --firefox, --pprof or --folded");
	status = trace_open(command_trace_or_ring(context), &trace, err);
	if (status)
		return status;
	command_note_damage(context, trace);
	if (exporter) {
		status = run_exporter(context, exporter, trace, err);
	} else {
		status = read_options(context, trace, &folded, &filter, err);
		if (!status)
			status = write_folded(context, trace, &folded, err);
	}
	trace_close(trace);
	return status;
}

static const struct option_rule export_rules[] = {
	{ .one_of = "perfetto speedscope firefox pprof folded" }, { .option = "by", .without = "folded" },
	{ .option = "type", .without = "folded" }, { .option = "threads", .without = "folded" }, { .option = "lines", .without = "folded" }, { 0 }
};

const struct command command_export = {
	.name = "export",
	.arguments = "[FILE]",
	.summary = "convert a trace for another program",
	.options = export_options,
	.rules = export_rules,
	.narrow = NARROW_TRACE,
	.run = run_export,
};
