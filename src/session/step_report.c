/* See step_report.h. */
#include "session/step_report.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "probe/code.h"
#include "probe/imports.h"
#include "probe/step_run.h"
#include "probe/taint.h"
#include "session/show_stack.h"
#include "symbols/names.h"
#include "trace/tables.h"

#define VERSION 1
#define LINES_MOST 400u      /* shown, unless all are asked for */
#define LOOP_MOST 64u        /* places of a turn that is recognised as the one before */
#define RESULT_KEPT_MOST 64u /* instructions between a call and the next place */

struct show {
	struct command_context *context;
	struct step_run run;
	struct taint taint;             /* no marks: not asked for */
	bool registers, stacks;
	struct trace *trace;            /* the file again, for its stacks */
	struct tables *tables;
	struct names *names;
	uint32_t stack;                 /* shown last */
	struct buf buf;
};

static bool same_marks(const struct taint_mark *a, const struct taint_mark *b)
{
	return a->derived == b->derived && a->behind == b->behind && a->decides == b->decides;
}

static bool same_places(const struct show *show, size_t a, size_t b, size_t count)
{
	const struct step_run *run = &show->run;

	for (size_t i = 0; i < count; i++)
		if (run->passes.items[a + i].address != run->passes.items[b + i].address ||
		    run->passes.items[a + i].taken != run->passes.items[b + i].taken ||
		    (show->taint.marks && !same_marks(&show->taint.marks[a + i], &show->taint.marks[b + i])))
			return false;
	return true;
}

/* How long the turn is that begins here and comes again at once, and how often it comes; 0 none. */
static size_t find_loop(const struct show *show, size_t at, size_t *ret_turns)
{
	size_t left = show->run.passes.length - at;

	for (size_t length = 1; length <= LOOP_MOST && 2 * length <= left; length++) {
		size_t turns = 1;

		while ((turns + 1) * length <= left && same_places(show, at, at + turns * length, length))
			turns++;
		if (turns > 2 || (turns == 2 && length > 1)) {
			*ret_turns = turns;
			return length;
		}
	}
	return 0;
}

static void add_registers(struct show *show, const struct step_pass *pass)
{
	for (unsigned i = 0; i < REGISTER_count; i++)
		buf_printf(&show->buf, "%s%s=%" PRIx64, i % 8 ? " " : i ? "\n            " : "            ", register_name(i), pass->registers[i]);
	buf_char(&show->buf, '\n');
}

/* Whether rax is still at `to` what it was at `from`, straight on. */
static bool keeps_result(struct step_run *run, uint64_t from, uint64_t to)
{
	for (unsigned i = 0; i < RESULT_KEPT_MOST; i++) {
		const struct instruction *instruction = from == to ? NULL : code_at(&run->code, from);

		if (!instruction)
			return from == to;
		if (instruction->written & 1u << REGISTER_rax)
			return false;
		if (instruction->kind == INSTRUCTION_jump && instruction->direct)
			from = instruction->target;
		else if (instruction->kind == INSTRUCTION_plain)
			from += instruction->length;
		else
			return false;
	}
	return false;
}

#define NO_CALL SIZE_MAX

/* The call that was stepped over right before, whose result is still there. A stub by which it went may have been
 * passed between. */
static size_t returned_call(struct step_run *run, size_t at)
{
	const struct step_pass *passes = run->passes.items;
	size_t back = at && passes[at - 1].registers[REGISTER_rsp] < passes[at].registers[REGISTER_rsp] ? 2 : 1;
	const struct instruction *jump = back == 2 ? code_at(&run->code, passes[at - 1].address) : NULL, *call;
	uint64_t behind;

	if (at < back || (back == 2 && (!jump || jump->kind != INSTRUCTION_jump)))
		return NO_CALL;
	call = code_at(&run->code, passes[at - back].address);
	if (!call || call->kind != INSTRUCTION_call || passes[at].registers[REGISTER_rsp] != passes[at - back].registers[REGISTER_rsp])
		return NO_CALL;
	behind = passes[at - back].address + call->length;
	return keeps_result(run, behind, passes[at].address) ? at - back : NO_CALL;
}

/* Of a call that was stepped over, where its result is told; NULL it is not. */
static const struct step_pass *result_of(struct step_run *run, size_t call)
{
	for (size_t at = call + 1; at <= call + 2 && at < run->passes.length; at++)
		if (returned_call(run, at) == call)
			return &run->passes.items[at];
	return NULL;
}

/* Its stack was taken for it begins a function that was called from outside. */
static bool is_entry(const struct step_pass *pass, enum instruction_kind kind)
{
	return pass->ustack && kind != INSTRUCTION_call;
}

static const char *function_of(struct show *show, uint64_t address)
{
	uint64_t start, end;

	return code_name(&show->run.code, show->context->arena, code_function(&show->run.code, address, &start, &end) ? start : address);
}

static void add_first_arguments(struct show *show, const char *function, const struct step_pass *pass)
{
	buf_printf(&show->buf, "%s(0x%" PRIx64 ", 0x%" PRIx64 ", 0x%" PRIx64 ")", function, pass->registers[REGISTER_rdi],
		   pass->registers[REGISTER_rsi], pass->registers[REGISTER_rdx]);
}

/* Where a function was entered: the stack, where it is another one than before. At calls: only where all are asked for. */
static void add_stack(struct show *show, const struct step_pass *pass, bool entry, const char *indent)
{
	if (!pass->ustack || !show->names || (!show->stacks && (!entry || pass->ustack == show->stack)))
		return;
	show_stack_text(&show->buf, show->names, show->tables, pass->ustack, arena_printf(show->context->arena, "%s      ", indent));
	show->stack = pass->ustack;
}

static const unsigned argument_registers[] = { REGISTER_rdi, REGISTER_rsi, REGISTER_rdx, REGISTER_rcx, 8, 9 };

/* "; from the input: rdi, what rsi points to": of a call its arguments, of a return its value. */
static void add_derived(struct show *show, const struct taint_mark *mark, enum instruction_kind kind)
{
	const char *between = "; from the input: ";

	if (mark->decides)
		buf_text(&show->buf, kind == INSTRUCTION_branch ? ", which depends on the input" : ", where to depends on the input");
	if (kind == INSTRUCTION_return && mark->derived & 1u << REGISTER_rax)
		buf_text(&show->buf, ", from the input");
	for (size_t i = 0; kind == INSTRUCTION_call && i < sizeof(argument_registers) / sizeof(argument_registers[0]); i++) {
		unsigned reg = argument_registers[i];

		if (!((mark->derived | mark->behind) & 1u << reg))
			continue;
		buf_printf(&show->buf, "%s%s%s", between, mark->derived & 1u << reg ? "" : "what is behind ", register_name(reg));
		between = ", ";
	}
}

static const char *called(struct show *show, uint64_t address, const struct instruction *call)
{
	const char *name = imports_name(&show->run.code, call->direct ? call->target : address);

	return name ? name : call->direct ? code_name(&show->run.code, show->context->arena, call->target) : "";
}

static void add_pass(struct show *show, size_t at, const char *indent)
{
	const struct step_pass *pass = &show->run.passes.items[at], *result;
	const struct instruction *found = code_at(&show->run.code, pass->address);
	struct instruction instruction = found ? *found : (struct instruction){ 0 };
	struct arena_mark mark = arena_mark(show->context->arena);
	char text[INSTRUCTION_TEXT];

	code_text(&show->run.code, pass->address, text);
	buf_printf(&show->buf, "%s%s: %s", indent, code_name(&show->run.code, show->context->arena, pass->address), text);
	if (instruction.kind == INSTRUCTION_branch)
		buf_text(&show->buf, pass->taken ? "  taken" : "  not taken");
	else if (instruction.kind == INSTRUCTION_call) {
		buf_text(&show->buf, "  ");
		add_first_arguments(show, called(show, pass->address, &instruction), pass);
	} else if (instruction.kind == INSTRUCTION_return)
		buf_printf(&show->buf, "  returns 0x%" PRIx64, pass->registers[REGISTER_rax]);
	if (is_entry(pass, instruction.kind)) {
		buf_text(&show->buf, "  entered: ");
		add_first_arguments(show, function_of(show, pass->address), pass);
	}
	result = instruction.kind == INSTRUCTION_call ? result_of(&show->run, at) : NULL;
	if (result)
		buf_printf(&show->buf, "  returned 0x%" PRIx64, result->registers[REGISTER_rax]);
	if (show->taint.marks)
		add_derived(show, &show->taint.marks[at], instruction.kind);
	buf_char(&show->buf, '\n');
	add_stack(show, pass, is_entry(pass, instruction.kind), indent);
	if (show->registers)
		add_registers(show, pass);
	arena_rewind(show->context->arena, mark);
}

static void add_lines(struct show *show, bool all)
{
	struct step_run *run = &show->run;
	size_t lines = 0;

	for (size_t at = 0; at < run->passes.length;) {
		size_t turns = 1, length = find_loop(show, at, &turns);

		if (!all && lines >= LINES_MOST) {
			buf_printf(&show->buf, "... and %zu places more: --whole\n", run->passes.length - at);
			return;
		}
		if (!length) {
			add_pass(show, at++, "");
			lines++;
			continue;
		}
		for (size_t i = 0; i < length; i++)
			add_pass(show, at + i, i ? "  |  " : "  +- ");
		buf_printf(&show->buf, "  +- %zu times\n", turns);
		lines += length + 1;
		at += length * turns;
	}
}

static void add_registers_named(struct json *json, const char *key, uint16_t registers)
{
	json_array(json, key);
	for (unsigned i = 0; i < REGISTER_count; i++)
		if (registers & 1u << i)
			json_text(json, NULL, register_name(i));
	json_end(json);
}

static void add_json_taint(struct json *json, const struct taint_mark *mark)
{
	add_registers_named(json, "derived", mark->derived);
	add_registers_named(json, "behind", mark->behind);
	json_bool(json, "decides", mark->decides);
}

static void add_json(struct show *show)
{
	struct step_run *run = &show->run;
	struct json json;

	json_init(&json, &show->buf);
	json.pretty = true;
	json_object(&json, NULL);
	json_u64(&json, "version", VERSION);
	json_text(&json, "file", run->code.path);
	json_u64(&json, "pid", run->pid);
	json_u64(&json, "tid", run->tid);
	json_text(&json, "comm", run->comm);
	json_array(&json, "places");
	for (size_t i = 0; i < run->passes.length; i++) {
		const struct step_pass *pass = &run->passes.items[i];
		const struct instruction *found = code_at(&run->code, pass->address);
		enum instruction_kind kind = found ? found->kind : INSTRUCTION_plain;
		struct arena_mark mark = arena_mark(show->context->arena);
		char text[INSTRUCTION_TEXT];
		const struct code *file;
		uint64_t linked;

		code_text(&run->code, pass->address, text);
		json_object(&json, NULL);
		json_u64(&json, "event", pass->number);
		json_u64(&json, "time_ns", pass->time);
		file = code_file(&run->code, pass->address, &linked);
		json_u64(&json, "address", linked);
		if (file != &run->code)
			json_text(&json, "file", file->path);
		json_text(&json, "place", code_name(&run->code, show->context->arena, pass->address));
		json_text(&json, "instruction", text);
		if (kind == INSTRUCTION_branch)
			json_bool(&json, "taken", pass->taken);
		if (is_entry(pass, kind))
			json_text(&json, "entered", function_of(show, pass->address));
		if (pass->ustack && show->names)
			show_stack_json(&json, "stack", show->names, show->tables, pass->ustack);
		if (returned_call(run, i) != NO_CALL)
			json_u64(&json, "result", pass->registers[REGISTER_rax]);
		json_object(&json, "registers");
		for (unsigned r = 0; r < REGISTER_count; r++)
			json_u64(&json, register_name(r), pass->registers[r]);
		json_end(&json);
		if (show->taint.marks)
			add_json_taint(&json, &show->taint.marks[i]);
		json_end(&json);
		arena_rewind(show->context->arena, mark);
	}
	json_end(&json);
	if (show->taint.marks) {
		json_object(&json, "taint");
		json_u64(&json, "entered", show->taint.entered);
		json_u64(&json, "outside", show->taint.outside);
		json_u64(&json, "unknown", show->taint.unknown);
		json_u64(&json, "gaps", show->taint.gaps);
		json_end(&json);
	}
	json_end(&json);
	buf_char(&show->buf, '\n');
}

/* What was not followed, so that nobody takes silence for independence. */
static void add_lost(struct show *show)
{
	const struct taint *taint = &show->taint;

	if (!taint->entered)
		buf_text(&show->buf, "The function of the input was not seen to be entered: nothing is marked.\n");
	if (taint->outside)
		buf_printf(&show->buf, "Not followed: what %" PRIu64 " calls of code that was not stepped through wrote of it; "
			   "what they returned counts as derived.\n", taint->outside);
	if (taint->unknown)
		buf_printf(&show->buf, "Not followed: %" PRIu64 " accesses of memory whose address is not known.\n", taint->unknown);
	if (taint->gaps)
		buf_printf(&show->buf, "Not followed: instructions at %" PRIu64 " places where the way is not known.\n", taint->gaps);
}

static int find_taint(struct show *show, const char *text, struct err *err)
{
	struct taint_input inputs[TAINT_INPUTS];
	unsigned count;
	int r = taint_parse(&show->run.code, text, inputs, &count, err);

	if (!r)
		taint_find(&show->run, inputs, count, &show->taint);
	return r;
}

static int open_stacks(struct show *show, const char *path, struct err *err)
{
	int r = trace_open(path, &show->trace, err);

	if (!r)
		r = tables_build_parts(show->trace, TABLES_STACKS, &show->tables, err);
	return r ? r : names_open(show->trace, show->tables, NULL, &show->names, err);
}

static void show_done(struct show *show)
{
	names_close(show->names);
	tables_free(show->tables);
	trace_close(show->trace);
	buf_done(&show->buf);
	taint_done(&show->taint);
	step_run_done(&show->run);
}

static void add_text(struct show *show, bool whole)
{
	const struct step_run *run = &show->run;

	buf_escaped(&show->buf, run->comm, strlen(run->comm), NULL);
	buf_printf(&show->buf, " %u of process %u passed %zu places of %s", run->tid, run->pid, run->passes.length, run->code.path);
	for (unsigned i = 1; i < CODE_FILES; i++)
		if (run->code.joined[i])
			buf_printf(&show->buf, ", %s", run->code.joined[i]->path);
	buf_printf(&show->buf, " in %.6f s\n", (double)(run->passes.items[run->passes.length - 1].time - run->passes.items[0].time) / 1e9);
	add_lines(show, whole);
	if (show->taint.marks)
		add_lost(show);
}

int step_report(struct command_context *context, const char *path, struct err *err)
{
	const struct options *given = context->options;
	struct show show = { .context = context, .registers = options_has(given, "registers"), .stacks = options_has(given, "stacks") };
	int r = step_run_read(context->arena, path, (uint32_t)options_number(given, "tid", 0), NULL, &show.run, err);

	if (r)
		return r;
	buf_init(&show.buf);
	r = open_stacks(&show, path, err);
	if (!r && options_has(given, "taint"))
		r = find_taint(&show, options_text(given, "taint", NULL), err);
	if (!r && options_has(given, "json"))
		add_json(&show);
	else if (!r)
		add_text(&show, options_has(given, "whole"));
	if (!r)
		r = sink_buf(context->out, &show.buf);
	show_done(&show);
	return r;
}
