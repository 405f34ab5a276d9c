/* argus dump: a line for each event, or JSON, or the text form. */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/map.h"
#include "session/command.h"
#include "session/session.h"
#include "session/show_stack.h"
#include "trace/blocks.h"
#include "trace/probe_names.h"
#include "trace/tables.h"
#include "trace/text.h"
#include "trace/when.h"

#define DUMP_BLOCK (256u * 1024)
#define BEHIND_BLOCKS 16       /* so many the index may be behind: of a trace that was just written it is */
#define LATE_NS 2000000000ull /* so long behind a moment names are told that hold for it */

static const struct option_spec dump_options[] = {
	OPTION_FROM,
	OPTION_TO,
	{ "pid", 'p', OPTION_NUMBER, "PID", "events in threads of this process (repeatable)", .most = OPTION_PID_MOST },
	{ "tid", 't', OPTION_NUMBER, "TID", "events in this thread (repeatable)", .most = OPTION_PID_MOST },
	{ "comm", 0, OPTION_TEXT, "NAME", "events in threads of this name, * and ? allowed (repeatable)" },
	{ "type", 'e', OPTION_TEXT, "EVENT", "events of this type, or of several: switch,wake (repeatable)" },
	{ "number", 0, OPTION_TEXT, "N[-M]", "the event of this number, or of these" },
	{ "state", 0, OPTION_FLAG, NULL, "also state records (threads, waits, descriptors as found) and records about the trace itself" },
	{ "stacks", 0, OPTION_FLAG, NULL, "print each event's stacks after it, with names" },
	{ "lines", 0, OPTION_FLAG, NULL, "with --stacks: source lines and inlined functions too" },
	OPTION_SYMFS,
	{ "text", 0, OPTION_FLAG, NULL, "the text form, with state: `argus import --text` makes the same trace of it" },
	OPTION_JSON,
	{ 0 }
};

static const struct option_rule dump_rules[] = {
	{ .one_of = "text json" }, { .one_of = "text stacks" }, /* the text form has them as they are */
	{ .option = "lines", .without = "stacks" }, { .option = "symfs", .without = "stacks" }, { 0 }
};

struct dump {
	struct command_context *context;
	struct trace *trace;
	struct tables *tables;
	struct probe_names probes;
	struct thread_tracker tracker;
	struct trace_filter filter;
	struct trace_cursor *cursor;
	struct map pids, tids;
	uint64_t first_number, last_number;
	bool by_thread;               /* a filter asks who */
	bool state, text;
	struct names *names;          /* NULL: neither stacks nor functions of the kernel are shown */
	bool stacks;
	struct buf buf, words;
	struct json json;
	bool as_json;
};

/* ---- what is asked for ---- */

static int add_types(struct dump *dump, const char *list, struct err *err)
{
	while (*list) {
		size_t length = strcspn(list, ",");
		const char *name = arena_strndup(dump->context->arena, list, length);
		const struct event_info *info = event_info_find(name);

		if (!info)
			return err_set(err, -EINVAL, "no event is called '%s'; `argus info` lists those of a trace", name);
		trace_filter_add(&dump->filter, event_info_number(info));
		dump->state |= (info->categories & (STATE | META)) != 0;
		list += length + (list[length] == ',');
	}
	return 0;
}

static int read_numbers(struct map *map, const struct options *options, const char *name)
{
	const char *text;
	uint64_t number;

	for (size_t n = 0; (text = options_nth(options, name, n)); n++) {
		if (parse_number(text, &number))
			return -EINVAL;
		map_put(map, number, 1);
	}
	return 0;
}

static int read_range(struct dump *dump, const char *text, struct err *err)
{
	const char *dash = strchr(text, '-');
	const char *first = dash ? arena_strndup(dump->context->arena, text, (size_t)(dash - text)) : text;

	dump->last_number = UINT64_MAX;
	if (parse_number(first, &dump->first_number) || !dump->first_number ||
	    (!dash && (dump->last_number = dump->first_number, 0)) || (dash && dash[1] && parse_number(dash + 1, &dump->last_number)) ||
	    dump->last_number < dump->first_number)
		return err_set(err, -EINVAL, "'%s' is not an event number or a range of them (N-M)", text);
	return 0;
}

static int read_filters(struct dump *dump, struct err *err)
{
	const struct options *options = dump->context->options;
	const char *text;
	int status = 0;

	dump->text = options_has(options, "text");
	dump->as_json = options_has(options, "json");
	dump->state = dump->text || options_has(options, "state");
	dump->by_thread = options_has(options, "pid") || options_has(options, "tid") || options_has(options, "comm");
	if (options_has(options, "from"))
		status = trace_time_parse(dump->trace, options_text(options, "from", ""), &dump->filter.from_ns, err);
	if (!status && options_has(options, "to"))
		status = trace_time_parse(dump->trace, options_text(options, "to", ""), &dump->filter.to_ns, err);
	for (size_t n = 0; !status && (text = options_nth(options, "type", n)); n++)
		status = add_types(dump, text, err);
	if (!status && options_has(options, "number"))
		status = read_range(dump, options_text(options, "number", ""), err);
	if (status)
		return status;
	read_numbers(&dump->pids, options, "pid");
	read_numbers(&dump->tids, options, "tid");
	return 0;
}

static bool comm_passes(const struct dump *dump, const char *comm)
{
	const char *pattern;
	size_t n;

	for (n = 0; (pattern = options_nth(dump->context->options, "comm", n)); n++)
		if (!fnmatch(pattern, comm, 0))
			return true;
	return n == 0;
}

static bool passes(const struct dump *dump, const struct event *e, uint32_t thread, const char *comm)
{
	if (!dump->state && event_infos[e->type].categories & (STATE | META))
		return false;
	if (!dump->by_thread)
		return true;
	if (dump->tids.length && !map_find(&dump->tids, e->tid))
		return false;
	if (dump->pids.length && !map_find(&dump->pids, dump->tables->threads[thread].pid))
		return false;
	return comm_passes(dump, comm);
}

/* ---- what is shown ---- */

static void add_texts(struct json *json, const struct event *e, bool several)
{
	const char *at = e->tail, *end = at + e->tail_length;

	if (!several) {
		json_text_length(json, "text", at, e->tail_length);
		return;
	}
	json_array(json, "texts");
	for (; at < end; at += strlen(at) + 1)
		json_text(json, NULL, at);
	json_end(json);
}

static bool shown_as_number(enum field_kind kind)
{
	return kind < FIELD_TEXT && kind != FIELD_HEX && kind != FIELD_OBJECT && kind != FIELD_CHANNEL && kind != FIELD_CGROUP &&
	       kind != FIELD_KERNEL_ADDRESS && kind != FIELD_SYSCALL && kind != FIELD_SIGNAL && kind != FIELD_DEVICE;
}

static bool is_stack(const struct event *e, const struct field_info *field)
{
	return field->kind == FIELD_STACK && e->type != EVENT_frame && e->data && field_value(field, e->data);
}

static void add_stacks(struct dump *dump, const struct event *e)
{
	const struct event_info *info = &event_infos[e->type];

	/* the kernel's part is the inner one */
	for (int kernel = 1; kernel >= 0; kernel--)
		for (const struct field_info *field = info->fields; field < info->fields + info->field_count; field++)
			if (is_stack(e, field) && (strcmp(field->name, "kstack") == 0) == kernel)
				show_stack_text(&dump->buf, dump->names, dump->tables, (uint32_t)field_value(field, e->data), "        ");
}

/* Name of the kernel's function that a field holds; NULL when it holds none, or
 * one that is not known. */
static const char *kernel_function(struct dump *dump, const struct event *e, const struct field_info *field)
{
	const struct name *name;

	if (!dump->names || field->kind != FIELD_KERNEL_ADDRESS || !e->data || !field_value(field, e->data))
		return NULL;
	name = names_kernel(dump->names, field_value(field, e->data));
	return name->function[0] ? name->function : NULL;
}

static const char *name_of_probe(const struct dump *dump, const struct event *e)
{
	if (e->type == EVENT_probe_text && e->data)
		return probe_name(&dump->probes, event_as(e, probe_text)->probe)->name;
	return e->type == EVENT_probe && e->data ? probe_name(&dump->probes, event_as(e, probe)->probe)->name : "";
}

static uint64_t value_of_probe(const struct event_probe *e, unsigned i)
{
	return i == 0 ? e->arg1 : i == 1 ? e->arg2 : e->arg3;
}

/* "put q->length=5, name=0x55d0": the values that have names. */
static const char *words_of_probe(struct dump *dump, const struct event *e)
{
	struct buf *words = &dump->words;
	const struct probe_name *probe;

	if (!name_of_probe(dump, e)[0])
		return "";
	buf_clear(words);
	buf_text(words, name_of_probe(dump, e));
	if (e->type != EVENT_probe)
		return buf_str(words);
	probe = probe_name(&dump->probes, event_as(e, probe)->probe);
	for (unsigned i = 0; i < 3 && probe->values[i][0]; i++) {
		uint64_t value = value_of_probe(event_as(e, probe), i);

		buf_printf(words, value >> 32 && value >> 32 != UINT32_MAX ? "%s %s=0x%" PRIx64 : "%s %s=%" PRId64, i ? "," : "", probe->values[i],
			   value);
	}
	return buf_str(words);
}

/* As a comment of the text form, behind the line's fields. */
static void add_comment(struct buf *buf, const char *text)
{
	buf->length--; /* the line's end */
	buf_text(buf, " # ");
	buf_escaped(buf, text, strlen(text), NULL);
	buf_char(buf, '\n');
}

static void add_functions(struct dump *dump, const struct event *e)
{
	const struct event_info *info = &event_infos[e->type];

	for (const struct field_info *field = info->fields; field < info->fields + info->field_count; field++) {
		const char *function = kernel_function(dump, e, field);

		if (function)
			add_comment(&dump->buf, function);
	}
}

static bool names_functions(const struct trace *trace)
{
	const uint64_t *counts = trace_summary(trace)->counts;

	for (unsigned type = 0; type < EVENT_MAX; type++)
		for (unsigned i = 0; event_infos[type].name && counts[type] && i < event_infos[type].field_count; i++)
			if (event_infos[type].fields[i].kind == FIELD_KERNEL_ADDRESS)
				return true;
	return false;
}

/* A field's key: with the event's type where it has the name of one of the event's own. */
static const char *json_key(struct buf *key, const struct event_info *info, const struct field_info *field)
{
	static const char *const own[] = { "number", "time_ns", "cpu", "tid", "comm", "type" };

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		if (strcmp(field->name, own[i]))
			continue;
		buf_clear(key);
		buf_printf(key, "%s_%s", info->name, field->name);
		return buf_str(key);
	}
	return field->name;
}

/* By the names they were asked for by. */
static void add_values(struct json *json, const struct probe_name *probe, const struct event_probe *e)
{
	json_object(json, "values");
	for (unsigned i = 0; i < 3 && probe->values[i][0]; i++)
		json_i64(json, probe->values[i], (int64_t)value_of_probe(e, i));
	json_end(json);
}

static void add_json(struct dump *dump, const struct event *e, const char *comm)
{
	const struct event_info *info = &event_infos[e->type];
	struct json *json = &dump->json;
	struct buf value, key;

	buf_init(&value);
	buf_init(&key);
	json_object(json, NULL);
	json_u64(json, "number", e->number);
	json_u64(json, "time_ns", e->time);
	json_u64(json, "cpu", e->cpu);
	json_u64(json, "tid", e->tid);
	json_text(json, "comm", comm);
	json_text(json, "type", info->name);
	for (const struct field_info *field = info->fields; e->data && field < info->fields + info->field_count; field++) {
		uint64_t number = field_value(field, e->data);

		if (number == field_default(field->kind))
			continue;
		if (field->kind == FIELD_I32 || field->kind == FIELD_I64) {
			json_i64(json, json_key(&key, info, field), (int64_t)number);
		} else if (shown_as_number(field->kind)) {
			json_u64(json, json_key(&key, info, field), number);
		} else {
			buf_clear(&value);
			text_format_value(&value, field->kind, number);
			json_text(json, json_key(&key, info, field), buf_str(&value));
		}
	}
	if (name_of_probe(dump, e)[0])
		json_text(json, "probe_name", name_of_probe(dump, e));
	if (e->type == EVENT_probe && name_of_probe(dump, e)[0] && probe_name(&dump->probes, event_as(e, probe)->probe)->values[0][0])
		add_values(json, probe_name(&dump->probes, event_as(e, probe)->probe), event_as(e, probe));
	if (e->tail_length)
		add_texts(json, e, info->tail == FIELD_TEXTS);
	for (const struct field_info *field = info->fields; dump->names && field < info->fields + info->field_count; field++) {
		const char *function = kernel_function(dump, e, field);

		if (function) {
			buf_clear(&value);
			buf_printf(&value, "%s_name", field->name);
			json_text(json, buf_str(&value), function);
		}
		if (dump->stacks && is_stack(e, field))
			show_stack_json(json, strcmp(field->name, "kstack") ? "stack" : "kernel_stack", dump->names, dump->tables,
					(uint32_t)field_value(field, e->data));
	}
	json_end(json);
	buf_done(&value);
	buf_done(&key);
}

static int show_events(struct dump *dump)
{
	struct sink *out = dump->context->out;
	const struct event *e;
	int status = 0;

	while (!status && (e = trace_cursor_next(dump->cursor)) && e->number <= dump->last_number) {
		uint32_t thread = dump->text && !dump->by_thread ? 0 : thread_tracker_find(&dump->tracker, e->tid, e->time);
		const char *comm = dump->text && !dump->by_thread ? "" : tables_comm(dump->tables, thread, e->time);

		if (!passes(dump, e, thread, e->tid && !thread ? "?" : comm))
			continue;
		if (dump->text)
			text_format(&dump->buf, e);
		else if (dump->as_json)
			add_json(dump, e, e->tid && !thread ? "?" : comm);
		else
			text_format_line(&dump->buf, e, e->tid && !thread ? "?" : comm);
		if (!dump->text && !dump->as_json && words_of_probe(dump, e)[0])
			add_comment(&dump->buf, buf_str(&dump->words));
		if (dump->names && !dump->text && !dump->as_json)
			add_functions(dump, e);
		if (dump->stacks && !dump->as_json)
			add_stacks(dump, e);
		if (dump->buf.length >= DUMP_BLOCK) {
			status = sink_buf(out, &dump->buf);
			buf_clear(&dump->buf);
		}
	}
	if (trace_cursor_unknown(dump->cursor))
		sink_printf(dump->context->notes, "%" PRIu64 " chunks are written in a way that this version does not know and were "
			    "passed over: a newer Argus reads them\n", trace_cursor_unknown(dump->cursor));
	if (trace_cursor_damaged(dump->cursor))
		sink_printf(dump->context->notes, "%" PRIu64 " damaged chunks were passed over; `argus info` tells of losses\n",
			    trace_cursor_damaged(dump->cursor));
	return status;
}

static int show(struct dump *dump)
{
	int status;

	dump->cursor = trace_cursor_new(dump->trace, &dump->filter);
	if (dump->first_number)
		trace_cursor_seek(dump->cursor, dump->first_number);
	if (dump->as_json) {
		json_init(&dump->json, &dump->buf);
		json_object(&dump->json, NULL);
		json_u64(&dump->json, "version", 1);
		json_array(&dump->json, "events");
	}
	status = show_events(dump);
	if (!status && dump->as_json) {
		json_end(&dump->json);
		json_end(&dump->json);
		buf_char(&dump->buf, '\n');
	}
	if (!status)
		status = sink_buf(dump->context->out, &dump->buf);
	trace_cursor_free(dump->cursor);
	return status;
}

/* Where the index knows who was there as a block before the stretch began, nothing before that is read. */
static int build_from_index(struct dump *dump, unsigned parts, uint64_t from_ns, uint64_t to_ns, struct err *err)
{
	const struct blocks_options options = { .weight = session_block_weight() };
	uint64_t until_ns = to_ns && to_ns < UINT64_MAX - LATE_NS ? to_ns + LATE_NS : UINT64_MAX;
	struct blocks *blocks;
	struct trace *part;
	size_t first, least;
	int status = blocks_open(dump->trace, &options, &blocks, err);

	if (status)
		return status;
	first = blocks_find(blocks, from_ns);
	least = first > BEHIND_BLOCKS ? first - BEHIND_BLOCKS : 0;
	while (first > least && !blocks_at(blocks, first)->known)
		first--;
	/* what stands at the first one is not known from the index */
	if (first && blocks_at(blocks, first)->known &&
	    !blocks_part(blocks, first, blocks_find(blocks, until_ns), until_ns, dump->context->arena, &part, err)) {
		status = tables_build_parts(part, parts, &dump->tables, err);
		trace_close(part);
	}
	blocks_close(blocks);
	return status;
}

/* Of the stretch that is asked for. */
static int build_tables(struct dump *dump, unsigned parts, struct err *err)
{
	uint64_t from = dump->filter.from_ns, to = dump->filter.to_ns, first, last;

	if (dump->first_number) {
		trace_number_times(dump->trace, dump->first_number, dump->last_number, &first, &last);
		from = first > from ? first : from;
		to = !to || last < to ? last : to;
	}
	if (from > trace_summary(dump->trace)->start_ns) {
		int status = build_from_index(dump, parts, from, to, err);

		if (status || dump->tables)
			return status;
	}
	return tables_build_window(dump->trace, parts, from, to, &dump->tables, err);
}

static int run_dump(struct command_context *context, struct err *err)
{
	struct dump dump = { .context = context, .last_number = UINT64_MAX };
	int status = trace_open(command_trace_or_ring(context), &dump.trace, err);
	bool names_wanted;
	unsigned parts;

	if (status)
		return status;
	status = read_filters(&dump, err);
	dump.stacks = options_has(context->options, "stacks");
	names_wanted = dump.stacks || (!dump.text && names_functions(dump.trace));
	parts = TABLES_THREADS | (names_wanted ? TABLES_STACKS : 0);
	if (!status)
		status = build_tables(&dump, parts, err);
	if (!status && names_wanted) {
		struct names_options names = { .symfs = options_text(context->options, "symfs", NULL),
					       .lines = options_has(context->options, "lines") };
		status = names_open(dump.trace, dump.tables, &names, &dump.names, err);
	}
	if (!status) {
		probe_names_read(context->arena, dump.trace, &dump.probes);
		thread_tracker_init(&dump.tracker, dump.tables);
		buf_init(&dump.buf);
		buf_init(&dump.words);
		status = show(&dump);
		buf_done(&dump.buf);
		buf_done(&dump.words);
		thread_tracker_done(&dump.tracker);
	}
	for (uint32_t i = 0; dump.names && names_complaint(dump.names, i); i++)
		sink_printf(context->notes, "%s\n", names_complaint(dump.names, i));
	names_close(dump.names);
	tables_free(dump.tables);
	trace_close(dump.trace);
	map_done(&dump.pids);
	map_done(&dump.tids);
	return status;
}

const struct command command_dump = {
	.name = "dump",
	.arguments = "[FILE]",
	.summary = "print events, one a line",
	.help = "A line tells the event's number, time (the trace's own, in seconds), processor, thread\n"
		"(name and number), type, and the fields that are not 0. Filters of one kind add up,\n"
		"filters of different kinds must all match.\n",
	.options = dump_options,
	.rules = dump_rules,
	.pages = true,
	.narrow = "A part takes less: --from and --to.",
	.run = run_dump,
};
