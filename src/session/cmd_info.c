/* argus info: what a trace holds, and what it lacks. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/options.h"
#include "session/command.h"
#include "session/stack_health.h"
#include "session/thread_times.h"
#include "trace/probe_names.h"
#include "trace/text.h"
#include "trace/trace.h"
#include "trace/when.h"

#define GAPS_SHOWN 20
#define REACH_SHORT_NS 10000000u /* a processor that ends less before the others is not worth a word */
#define STACKS_COUNTED 8000000u /* events: beyond it counting takes more than a moment, and is left to --check */

static const struct option_spec info_options[] = {
	{ "check", 0, OPTION_FLAG, NULL, "read the whole trace: only this finds damage in large files, and how many of their stacks are whole" },
	{ "threads", 0, OPTION_FLAG, NULL, "also each thread's time by state: running, runnable, waiting, stopped, unknown" },
	OPTION_JSON,
	{ 0 }
};

struct type_count {
	uint64_t count;
	unsigned type;
};

static int by_count(const void *a, const void *b)
{
	const struct type_count *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->type < y->type ? -1 : x->type > y->type;
}

/* Types with their counts, the most frequent first. */
static size_t list_types(const struct trace_summary *summary, struct type_count list[EVENT_MAX], bool state)
{
	size_t n = 0;

	for (unsigned type = 0; type < EVENT_MAX; type++)
		if (summary->counts[type] && !(event_infos[type].categories & (STATE | META)) == !state)
			list[n++] = (struct type_count){ summary->counts[type], type };
	qsort(list, n, sizeof(list[0]), by_count);
	return n;
}

static uint64_t duration_ns(const struct trace_summary *summary)
{
	return summary->end_ns - summary->start_ns;
}

static double bytes_per_event(const struct trace_summary *summary)
{
	return summary->events ? (double)summary->bytes / (double)summary->events : 0;
}

/* A probe was turned off for what it cost, or on again. */
struct probe_turn {
	uint64_t time_ns;
	uint32_t probe;
	bool on;
};

/* Each probe with its hits. */
struct probe_counts {
	struct probe_names names;
	uint64_t hits[PROBES_MOST + 1];
	struct probe_turn *turns;  /* in the order of time, in the arena */
	size_t turn_count;
};

static void count_probes(struct arena *arena, const struct trace *trace, struct probe_counts *ret_counts)
{
	struct trace_filter filter = { .unnumbered = true };
	struct trace_cursor *cursor;
	const struct event *e;

	memset(ret_counts->hits, 0, sizeof(ret_counts->hits));
	ret_counts->turn_count = 0;
	ret_counts->turns = arena_array(arena, struct probe_turn, trace_summary(trace)->counts[EVENT_probe_switch]);
	probe_names_read(arena, trace, &ret_counts->names);
	if (ret_counts->names.count < 2 || !trace_summary(trace)->counts[EVENT_probe])
		return;
	trace_filter_add(&filter, EVENT_probe);
	trace_filter_add(&filter, EVENT_probe_switch);
	cursor = trace_cursor_new(trace, &filter);
	while ((e = trace_cursor_next(cursor)))
		if (e->type == EVENT_probe_switch && e->data)
			ret_counts->turns[ret_counts->turn_count++] =
				(struct probe_turn){ e->time, event_as(e, probe_switch)->probe, event_as(e, probe_switch)->on != 0 };
		else if (e->type == EVENT_probe && event_as(e, probe)->probe <= PROBES_MOST)
			ret_counts->hits[event_as(e, probe)->probe]++;
	trace_cursor_free(cursor);
}

/* The turn that ends the one of that index; 0: none does. */
static size_t on_again(const struct probe_counts *probes, size_t off)
{
	for (size_t i = off + 1; i < probes->turn_count; i++)
		if (probes->turns[i].probe == probes->turns[off].probe && probes->turns[i].on)
			return i;
	return 0;
}

static const char *probe_kind(const struct probe_name *probe)
{
	const char *kind = kind_value_name(FIELD_PROBE_KIND, probe->kind);

	return kind ? kind : "?";
}

/* ---- JSON ---- */

static void add_probes(struct json *json, const struct probe_counts *probes)
{
	json_array(json, "probes");
	for (uint32_t i = 1; i < probes->names.count; i++) {
		const struct probe_name *probe = &probes->names.items[i];

		if (!probe->name[0])
			continue;
		json_object(json, NULL);
		json_u64(json, "probe", i);
		json_text(json, "name", probe->name);
		json_text(json, "kind", probe_kind(probe));
		json_text(json, "file", probe->file);
		json_text(json, "place", probe->place);
		json_u64(json, "hits", probes->hits[i]);
		json_array(json, "off");
		for (size_t k = 0, to; k < probes->turn_count; k++) {
			if (probes->turns[k].probe != i || probes->turns[k].on)
				continue;
			to = on_again(probes, k);
			json_object(json, NULL);
			json_u64(json, "from_ns", probes->turns[k].time_ns);
			json_u64(json, "to_ns", to ? probes->turns[to].time_ns : 0);
			json_end(json);
		}
		json_end(json);
		json_end(json);
	}
	json_end(json);
}

static void add_types(struct json *json, const char *key, const struct trace_summary *summary, bool state)
{
	struct type_count types[EVENT_MAX];
	size_t n = list_types(summary, types, state);

	json_object(json, key);
	for (size_t i = 0; i < n; i++)
		json_u64(json, event_infos[types[i].type].name, types[i].count);
	json_end(json);
}

static void add_machine(struct json *json, const struct trace *trace)
{
	json_object(json, "machine");
	for (const char *const *text = trace_summary(trace)->machine; *text; text++) {
		const char *equals = strchr(*text, '=');
		char key[64];

		if ((size_t)(equals - *text) >= sizeof(key))
			continue;
		memcpy(key, *text, (size_t)(equals - *text));
		key[equals - *text] = 0;
		json_text(json, key, equals + 1);
	}
	json_end(json);
}

static void add_reach(struct json *json, const struct trace_summary *summary)
{
	json_array(json, "reach");
	for (uint32_t cpu = 0; cpu < summary->cpus; cpu++) {
		if (!summary->reach_ns[cpu])
			continue;
		json_object(json, NULL);
		json_u64(json, "cpu", cpu);
		json_u64(json, "last_ns", summary->reach_ns[cpu]);
		json_end(json);
	}
	json_end(json);
}

static void add_gaps(struct json *json, const struct trace *trace)
{
	const struct trace_summary *summary = trace_summary(trace);

	json_array(json, "gaps");
	for (size_t i = 0; i < summary->gap_count; i++) {
		const struct trace_gap *gap = &summary->gaps[i];

		json_object(json, NULL);
		json_u64(json, "from_ns", gap->from_ns);
		json_u64(json, "to_ns", gap->to_ns);
		json_u64(json, "from_wall_ns", trace_wall_ns(trace, gap->from_ns));
		json_u64(json, "lost", gap->lost);
		if (gap->cpu == UINT32_MAX)
			json_null(json, "cpu");
		else
			json_u64(json, "cpu", gap->cpu);
		json_text(json, "reason", kind_value_name(FIELD_GAP_REASON, gap->reason));
		json_end(json);
	}
	json_end(json);
}

static void make_json(const struct trace *trace, const struct tables *tables, const struct stack_health *stacks,
		      const struct probe_counts *probes, const struct state_totals *times, struct buf *buf)
{
	const struct trace_summary *summary = trace_summary(trace);
	struct json json;

	json_init(&json, buf);
	json.pretty = true;
	json_object(&json, NULL);
	json_u64(&json, "version", 1);
	json_text(&json, "path", trace_path(trace));
	json_u64(&json, "events", summary->events);
	json_u64(&json, "state_events", summary->state_events);
	json_u64(&json, "lost", summary->lost);
	json_u64(&json, "bytes", summary->bytes);
	json_double(&json, "bytes_per_event", bytes_per_event(summary));
	json_u64(&json, "start_ns", summary->start_ns);
	json_u64(&json, "start_wall_ns", summary->start_wall_ns);
	json_u64(&json, "duration_ns", duration_ns(summary));
	json_u64(&json, "threads", summary->threads);
	json_u64(&json, "processes", summary->processes);
	json_u64(&json, "cpus", summary->busy_cpus);
	json_u64(&json, "files", summary->files);
	json_bool(&json, "complete", summary->complete);
	json_u64(&json, "unknown_events", summary->unknown_events);
	json_u64(&json, "damaged_chunks", summary->damaged_chunks);
	json_u64(&json, "unknown_chunks", summary->unknown_chunks);
	json_u64(&json, "damaged_bytes", summary->damaged_bytes);
	json_u64(&json, "truncated_bytes", summary->truncated_bytes);
	add_types(&json, "types", summary, false);
	add_types(&json, "state_types", summary, true);
	add_probes(&json, probes);
	if (stacks)
		stack_health_json(stacks, tables, &json);
	if (times)
		thread_times_json(&json, tables, times);
	add_gaps(&json, trace);
	if (!summary->complete)
		add_reach(&json, summary);
	add_machine(&json, trace);
	json_end(&json);
	buf_char(buf, '\n');
}

/* ---- text ---- */

static void show_times(const struct trace *trace, struct buf *buf)
{
	const struct trace_summary *summary = trace_summary(trace);

	buf_text(buf, "start      ");
	text_format_time(buf, summary->start_ns);
	if (summary->start_wall_ns) {
		buf_text(buf, " (");
		trace_wall_format(buf, summary->start_wall_ns);
		buf_char(buf, ')');
	}
	buf_text(buf, "\nduration   ");
	text_format_time(buf, duration_ns(summary));
	buf_text(buf, " s\n");
}

static void show_machine(const struct trace *trace, struct buf *buf)
{
	for (const char *const *text = trace_summary(trace)->machine; *text; text++) {
		const char *equals = strchr(*text, '=');
		size_t before = buf->length;

		if (!equals[1])
			continue;
		buf_escaped(buf, *text, (size_t)(equals - *text), NULL);
		do
			buf_char(buf, ' ');
		while (buf->length - before < 11);
		buf_escaped(buf, equals + 1, strlen(equals + 1), NULL);
		buf_char(buf, '\n');
	}
}

/* What the recorder itself notes, as marks, is of no processor of the machine's. */
static uint32_t processors_seen(const struct trace_summary *summary)
{
	static const char key[] = "processors=";
	uint64_t there;

	for (const char *const *text = summary->machine; *text; text++)
		if (!strncmp(*text, key, sizeof(key) - 1) && !parse_number(*text + sizeof(key) - 1, &there) && there &&
		    there < summary->busy_cpus)
			return (uint32_t)there;
	return summary->busy_cpus;
}

static void show_types(const struct trace_summary *summary, struct buf *buf)
{
	struct type_count types[EVENT_MAX];
	size_t n = list_types(summary, types, false);

	for (size_t i = 0; i < n; i++)
		buf_printf(buf, "  %12" PRIu64 "  %s\n", types[i].count, event_infos[types[i].type].name);
	n = list_types(summary, types, true);
	if (n)
		buf_printf(buf, "state      %" PRIu64 " records\n", summary->state_events);
	for (size_t i = 0; i < n; i++)
		buf_printf(buf, "  %12" PRIu64 "  %s\n", types[i].count, event_infos[types[i].type].name);
}

static void show_probes(const struct probe_counts *probes, struct buf *buf)
{
	for (uint32_t i = 1; i < probes->names.count; i++) {
		const struct probe_name *probe = &probes->names.items[i];

		if (!probe->name[0])
			continue;
		buf_printf(buf, "probe      ");
		buf_escaped(buf, probe->name, strlen(probe->name), NULL);
		buf_printf(buf, ": %s ", probe_kind(probe));
		buf_escaped(buf, probe->place, strlen(probe->place), NULL);
		if (probe->file[0]) {
			buf_text(buf, " of ");
			buf_escaped(buf, probe->file, strlen(probe->file), NULL);
		}
		buf_printf(buf, ", %" PRIu64 " time%s\n", probes->hits[i], probes->hits[i] == 1 ? "" : "s");
		for (size_t k = 0, to; k < probes->turn_count; k++) {
			if (probes->turns[k].probe != i || probes->turns[k].on)
				continue;
			to = on_again(probes, k);
			buf_text(buf, "           off from ");
			text_format_time(buf, probes->turns[k].time_ns);
			buf_text(buf, " to ");
			if (to)
				text_format_time(buf, probes->turns[to].time_ns);
			else
				buf_text(buf, "the end");
			buf_text(buf, ": packs' probes took more than their budget\n");
		}
	}
}

static void show_gap(const struct trace *trace, const struct trace_gap *gap, struct buf *buf)
{
	const char *reason = kind_value_name(FIELD_GAP_REASON, gap->reason);
	uint64_t wall = trace_wall_ns(trace, gap->from_ns);

	buf_text(buf, "  ");
	text_format_time(buf, gap->from_ns);
	buf_text(buf, " to ");
	text_format_time(buf, gap->to_ns);
	if (wall) {
		buf_text(buf, " (");
		trace_wall_format(buf, wall);
		buf_char(buf, ')');
	}
	if (gap->cpu == UINT32_MAX)
		buf_text(buf, " all processors: ");
	else if (gap->reason == GAP_REASON_nested)
		buf_text(buf, " some processor: ");
	else
		buf_printf(buf, " processor %" PRIu32 ": ", gap->cpu);
	if (gap->lost)
		buf_printf(buf, "%" PRIu64 " events lost, ", gap->lost);
	else if (gap->reason == GAP_REASON_unwritten)
		buf_text(buf, "events may be lost, ");
	else
		buf_text(buf, "events lost, their number is not known, ");
	buf_printf(buf, "%s\n", reason ? reason : "for an unknown reason");
}

static void show_losses(const struct trace *trace, struct buf *buf)
{
	const struct trace_summary *summary = trace_summary(trace);

	buf_printf(buf, "lost       %" PRIu64 " events%s\n", summary->lost, summary->gap_count ? ":" : "");
	for (size_t i = 0; i < summary->gap_count && i < GAPS_SHOWN; i++)
		show_gap(trace, &summary->gaps[i], buf);
	if (summary->gap_count > GAPS_SHOWN)
		buf_printf(buf, "  ... and %zu more gaps (--json lists them)\n", summary->gap_count - GAPS_SHOWN);
}

/* What each processor had recorded last is written within a second, not at the same moment. */
static void show_reach(const struct trace_summary *summary, struct buf *buf)
{
	unsigned shown = 0;

	for (uint32_t cpu = 0; cpu < summary->cpus; cpu++) {
		uint64_t short_ns = summary->end_ns - summary->reach_ns[cpu];

		if (!summary->reach_ns[cpu] || short_ns < REACH_SHORT_NS)
			continue;
		if (++shown > GAPS_SHOWN)
			break;
		buf_printf(buf, "note: processor %" PRIu32 "'s last event is %.3f s before the end: it had none since, or they were not "
			   "written yet\n", cpu, (double)short_ns / 1e9);
	}
	if (shown > GAPS_SHOWN)
		buf_text(buf, "note: ... and so of other processors (--json lists all)\n");
}

static void show_notes(const struct trace_summary *summary, struct buf *buf)
{
	if (!summary->complete) {
		buf_text(buf, "note: not closed: cut off, or still being written; all whole chunks were recovered\n");
		show_reach(summary, buf);
	}
	if (summary->truncated_bytes)
		buf_printf(buf, "note: the last %" PRIu64 " bytes are a torn chunk and cannot be read\n", summary->truncated_bytes);
	if (summary->damaged_heads)
		buf_printf(buf, "note: the head of %" PRIu64 " files is damaged; read as this version writes\n", summary->damaged_heads);
	if (summary->damaged_stretches)
		buf_printf(buf, "note: %" PRIu64 " damaged stretches, %" PRIu64 " bytes in all, were passed over\n",
			   summary->damaged_stretches, summary->damaged_bytes);
	if (summary->damaged_chunks)
		buf_printf(buf, "note: %" PRIu64 " damaged chunks were passed over\n", summary->damaged_chunks);
	if (summary->unknown_chunks)
		buf_printf(buf, "note: %" PRIu64 " chunks are written in a way that this version does not know and were passed over: "
			   "a newer Argus reads them\n", summary->unknown_chunks);
	if (summary->unknown_events)
		buf_printf(buf, "note: %" PRIu64 " events of types that this version does not know were passed over\n",
			   summary->unknown_events);
	if (summary->unreadable_files)
		buf_printf(buf, "note: %" PRIu64 " files of the recording could not be read\n", summary->unreadable_files);
	if (summary->foreign_files)
		buf_printf(buf, "note: %" PRIu64 " files of other recordings in the directory were left out\n", summary->foreign_files);
}

static void show_all(const struct trace *trace, const struct tables *tables, const struct stack_health *stacks,
		     const struct probe_counts *probes, const struct state_totals *times, struct buf *buf)
{
	const struct trace_summary *summary = trace_summary(trace);

	buf_text(buf, "trace      ");
	buf_escaped(buf, trace_path(trace), strlen(trace_path(trace)), NULL);
	buf_char(buf, '\n');
	show_machine(trace, buf);
	show_times(trace, buf);
	buf_printf(buf, "size       %" PRIu64 " bytes in %" PRIu32 " file%s, %.2f bytes an event\n", summary->bytes, summary->files,
		   summary->files == 1 ? "" : "s", bytes_per_event(summary));
	buf_printf(buf, "seen       %" PRIu32 " thread%s in %" PRIu32 " process%s on %" PRIu32 " processor%s\n", summary->threads,
		   summary->threads == 1 ? "" : "s", summary->processes, summary->processes == 1 ? "" : "es",
		   processors_seen(summary), processors_seen(summary) == 1 ? "" : "s");
	buf_printf(buf, "events     %" PRIu64 "\n", summary->events);
	show_types(summary, buf);
	show_probes(probes, buf);
	if (stacks)
		stack_health_text(stacks, tables, buf);
	if (times)
		thread_times_text(buf, tables, times);
	show_losses(trace, buf);
	show_notes(summary, buf);
}

static int run_info(struct command_context *context, struct err *err)
{
	struct trace *trace;
	struct buf buf;
	int (*open)(const char *path, struct trace **ret_trace, struct err *err) =
		options_has(context->options, "check") ? trace_open_checked : trace_open;
	int status = open(command_trace_or_ring(context), &trace, err);

	if (status)
		return status;
	const struct trace_summary *summary = trace_summary(trace);
	struct stack_health health, *stacks = NULL;
	struct probe_counts probes;
	struct state_totals *times = NULL;
	struct tables *tables = NULL;

	if (summary->counts[EVENT_frame] && (summary->events <= STACKS_COUNTED || options_has(context->options, "check")) &&
	    (options_has(context->options, "threads") ? tables_build(trace, &tables, NULL)
						       : tables_build_parts(trace, TABLES_STACKS, &tables, NULL)) == 0) {
		stacks = &health;
		stack_health_count(trace, tables, stacks);
	}
	if (options_has(context->options, "threads") && (tables || tables_build(trace, &tables, NULL) == 0))
		times = states_total(context->arena, trace, tables);
	count_probes(context->arena, trace, &probes);
	buf_init(&buf);
	if (options_has(context->options, "json"))
		make_json(trace, tables, stacks, &probes, times, &buf);
	else
		show_all(trace, tables, stacks, &probes, times, &buf);
	tables_free(tables);
	status = sink_buf(context->out, &buf);
	buf_done(&buf);
	trace_close(trace);
	return status;
}

const struct command command_info = {
	.name = "info",
	.arguments = "[FILE]",
	.summary = "tell what a trace holds: machine, time, counts, losses",
	.options = info_options,
	.pages = true,
	.narrow = NARROW_TRACE,
	.run = run_info,
};
