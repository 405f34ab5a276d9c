/* argus symbolize: names for the frames of a trace, shown or written into a
 * copy of it, so that it can be read where the programs are not. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/vec.h"
#include "session/command.h"
#include "session/show_stack.h"
#include "symbols/names.h"
#include "trace/writer.h"

static const struct option_spec symbolize_options[] = {
	{ "output", 'o', OPTION_TEXT, "FILE", "write a copy of the trace that has the names in it" },
	OPTION_SYMFS,
	{ "no-lines", 0, OPTION_FLAG, NULL, "functions only: no source lines, no inlined functions" },
	OPTION_JSON,
	{ 0 }
};

struct place {
	uint32_t module;
	uint64_t address;
	const struct name *name;
};

struct symbolizing {
	struct command_context *context;
	struct trace *trace;
	struct tables *tables;
	struct names *names;
	struct vec(struct place) places;     /* distinct, by module and address */
	uint64_t named;
};

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static void find_places(struct symbolizing *s)
{
	size_t kept = 0;
	for (uint32_t node = 0; tables_next_node(s->tables, &node); ) {
		struct place place = { .module = s->tables->frames[node].module, .address = s->tables->frames[node].address };
		vec_push(&s->places, place);
	}
	if (s->places.length)
		qsort(s->places.items, s->places.length, sizeof(s->places.items[0]), by_place);
	for (size_t i = 0; i < s->places.length; i++)
		if (!kept || by_place(&s->places.items[kept - 1], &s->places.items[i]))
			s->places.items[kept++] = s->places.items[i];
	s->places.length = kept;
	for (size_t i = 0; i < kept; i++) {
		struct place *p = &s->places.items[i];
		p->name = names_place(s->names, p->module, p->address);
		s->named += p->name->function[0] != 0;
	}
}

static void add_source(struct buf *buf, const char *file, uint32_t line)
{
	if (!file[0])
		return;
	buf_char(buf, ' ');
	buf_escaped(buf, file, strlen(file), NULL);
	buf_printf(buf, ":%" PRIu32, line);
}

static void add_text(struct buf *buf, const struct place *p)
{
	const struct name *name = p->name;
	buf_escaped(buf, name->module, strlen(name->module), NULL);
	buf_printf(buf, "+0x%" PRIx64 " ", p->address);
	if (name->function[0])
		buf_escaped(buf, name->text, strlen(name->text), NULL);
	else
		buf_char(buf, '?');
	add_source(buf, name->file, name->line);
	for (uint32_t i = name->inline_count; i-- > 0;) {
		buf_text(buf, " > ");
		buf_escaped(buf, name->inlines[i].function, strlen(name->inlines[i].function), NULL);
		add_source(buf, name->inlines[i].file, name->inlines[i].line);
	}
	buf_char(buf, '\n');
}

static void add_json(struct json *json, const struct symbolizing *s, const struct place *p)
{
	const struct name *name = p->name;
	json_object(json, NULL);
	json_text(json, "module", name->path);
	json_text(json, "build_id", p->module < s->tables->module_count ? s->tables->modules[p->module].build_id : "");
	json_u64(json, "address", p->address);
	json_u64(json, "function_start", name->function_start);
	json_text(json, "function", name->function);
	json_bool(json, "guessed", name->guessed);
	json_text(json, "file", name->file);
	json_u64(json, "line", name->line);
	show_inlined_json(json, name);
	json_end(json);
}

static int show(struct symbolizing *s)
{
	struct buf buf = { 0 };
	struct json json;
	bool as_json = options_has(s->context->options, "json");

	if (as_json) {
		json_init(&json, &buf);
		json_object(&json, NULL);
		json_u64(&json, "version", 1);
		json_array(&json, "frames");
	}
	for (size_t i = 0; i < s->places.length; i++) {
		if (as_json)
			add_json(&json, s, &s->places.items[i]);
		else
			add_text(&buf, &s->places.items[i]);
	}
	if (as_json) {
		json_end(&json);
		json_end(&json);
		buf_char(&buf, '\n');
	}
	int status = sink_buf(s->context->out, &buf);
	buf_done(&buf);
	return status;
}

static int write_name(struct writer *writer, const struct place *p, uint64_t time_ns, struct buf *tail, struct err *err)
{
	const struct name *name = p->name;
	struct event_symbol symbol = { .address = p->address, .bytes = NAMES_EXACT, .module = p->module, .line = name->line };

	if (!name->function[0] || p->module == 0)
		return 0;
	buf_clear(tail);
	buf_add(tail, name->function, strlen(name->function) + 1);
	buf_add(tail, name->file, strlen(name->file) + 1);
	for (uint32_t i = 0; i < name->inline_count; i++) {
		buf_printf(tail, "%s@%s:%" PRIu32, name->inlines[i].function, name->inlines[i].file, name->inlines[i].line);
		buf_char(tail, 0);
	}
	struct event e = { .time = time_ns, .type = EVENT_symbol, .data = &symbol, .tail = tail->data,
			   .tail_length = (uint32_t)tail->length };
	return writer_add_event(writer, &e, err);
}

static int write_copy(struct symbolizing *s, const char *path, struct err *err)
{
	struct writer_options options = { .cpus = trace_summary(s->trace)->cpus + 1, .whole = true }; /* an empty trace has none */
	struct writer *writer;
	struct buf tail = { 0 };
	uint64_t last_ns = 0;
	int status = writer_create(path, true, &options, &writer, err);

	if (status)
		return status;
	struct trace_cursor *cursor = trace_cursor_new(s->trace, NULL);
	for (const struct event *e; !status && (e = trace_cursor_next(cursor));) {
		const struct event_symbol *old = e->type == EVENT_symbol ? event_as(e, symbol) : NULL;
		last_ns = e->time;
		/* what an earlier run wrote is written anew */
		if (!old || old->bytes != NAMES_EXACT)
			status = writer_add_event(writer, e, err);
	}
	trace_cursor_free(cursor);
	for (size_t i = 0; i < s->places.length && !status; i++)
		status = write_name(writer, &s->places.items[i], last_ns, &tail, err);
	buf_done(&tail);
	if (!status)
		return writer_close(writer, err);
	writer_drop(writer);
	return status;
}

static int run_symbolize(struct command_context *context, struct err *err)
{
	struct symbolizing s = { .context = context };
	struct names_options options = { .symfs = options_text(context->options, "symfs", NULL),
					 .lines = !options_has(context->options, "no-lines") };
	const char *output = options_text(context->options, "output", NULL);
	int status = trace_open(command_trace_path(context), &s.trace, err);

	if (status)
		return status;
	status = tables_build_parts(s.trace, TABLES_STACKS, &s.tables, err);
	if (!status)
		status = names_open(s.trace, s.tables, &options, &s.names, err);
	if (!status) {
		find_places(&s);
		status = output ? write_copy(&s, output, err) : show(&s);
	}
	if (!status) {
		sink_printf(context->notes, "%" PRIu64 " of %zu places named\n", s.named, s.places.length);
		for (uint32_t i = 0; names_complaint(s.names, i); i++)
			sink_printf(context->notes, "%s\n", names_complaint(s.names, i));
	}
	names_close(s.names);
	tables_free(s.tables);
	trace_close(s.trace);
	vec_done(&s.places);
	return status;
}

const struct command command_symbolize = {
	.name = "symbolize",
	.arguments = "[FILE]",
	.summary = "find the function names of a trace's stacks, also on another machine",
	.help = "Frames are kept as module, build-id and offset. Names come from the programs and their\n"
		"debug files of the same build-id: here, below --symfs, or from debuginfod when\n"
		"DEBUGINFOD_URLS is set. With -o they become part of the trace.\n",
	.options = symbolize_options,
	.pages = true,
	.narrow = NARROW_TRACE,
	.run = run_symbolize,
};
