/* argus step: the way that a thread takes through a function, branch by branch. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "probe/code.h"
#include "probe/imports.h"
#include "probe/process.h"
#include "probe/step_run.h"
#include "probe/taint.h"
#include "session/process_recording.h"
#include "session/stepping.h"

#define VERSION 1
#define STEP_FILE "argus.step"
#define LINES_MOST 400u      /* shown, unless all are asked for */
#define LOOP_MOST 64u        /* places of a turn that is recognised as the one before */

static const struct option_spec options[] = {
	{ "output", 'o', OPTION_TEXT, "FILE", "the file to write (" STEP_FILE ")" },
	{ "tid", 't', OPTION_NUMBER, "TID", "this thread only; with --show: this one's way", .least = 1, .most = OPTION_PID_MOST },
	{ "depth", 0, OPTION_NUMBER, "N", "through functions that it calls, so many calls deep (1)", .most = 16 },
	{ "into", 0, OPTION_TEXT, "LIBRARY", "also through functions of this file that they call (again for more)" },
	{ "results", 0, OPTION_FLAG, NULL, "also the return values of calls that are not stepped through (costs one more place after each)" },
	{ "most", 0, OPTION_NUMBER, "N", "end after this many places (1000000)", .least = 1 },
	{ "duration", 0, OPTION_DURATION, "TIME", "end after this time", .least = 1 },
	{ "show", 0, OPTION_FLAG, NULL, "record nothing: print the way in the file that is named" },
	{ "whole", 0, OPTION_FLAG, NULL, "with --show: all of it, not the first 400 lines" },
	{ "registers", 0, OPTION_FLAG, NULL, "with --show: the registers at each place too" },
	{ "taint", 0, OPTION_TEXT, "INPUT",
	  "with --show: mark what derives from this input: FUNCTION:REGISTER (as work:rdi), or FUNCTION:REGISTER:BYTES of memory there" },
	OPTION_JSON,
	{ NULL },
};

static const struct option_rule rules[] = {
	{ .one_of = "show output" }, { .one_of = "show duration" }, { .one_of = "show most" }, { .one_of = "show depth" }, { .one_of = "show results" },
	{ .one_of = "show into" },
	{ .option = "whole", .without = "show" }, { .option = "registers", .without = "show" }, { .option = "json", .without = "show" },
	{ .option = "taint", .without = "show" }, { 0 }
};

/* ---- showing ---- */

struct show {
	struct command_context *context;
	struct step_run run;
	struct taint taint;             /* no marks: not asked for */
	bool registers;
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

/* It follows the call that was passed before it, which has returned. */
static bool is_result(struct step_run *run, size_t at)
{
	const struct step_pass *before = at ? &run->passes.items[at - 1] : NULL;
	const struct instruction *call = before ? code_at(&run->code, before->address) : NULL;

	return call && call->kind == INSTRUCTION_call && run->passes.items[at].address == before->address + call->length &&
	       run->passes.items[at].registers[REGISTER_rsp] == before->registers[REGISTER_rsp];
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
	const struct step_pass *pass = &show->run.passes.items[at];
	const struct instruction *found = code_at(&show->run.code, pass->address);
	struct instruction instruction = found ? *found : (struct instruction){ 0 };
	struct arena_mark mark = arena_mark(show->context->arena);
	char text[INSTRUCTION_TEXT];

	code_text(&show->run.code, pass->address, text);
	buf_printf(&show->buf, "%s%s: %s", indent, code_name(&show->run.code, show->context->arena, pass->address), text);
	if (instruction.kind == INSTRUCTION_branch)
		buf_text(&show->buf, pass->taken ? "  taken" : "  not taken");
	else if (instruction.kind == INSTRUCTION_call)
		buf_printf(&show->buf, "  %s(0x%" PRIx64 ", 0x%" PRIx64 ", 0x%" PRIx64 ")",
			   called(show, pass->address, &instruction),
			   pass->registers[REGISTER_rdi], pass->registers[REGISTER_rsi], pass->registers[REGISTER_rdx]);
	else if (instruction.kind == INSTRUCTION_return)
		buf_printf(&show->buf, "  returns 0x%" PRIx64, pass->registers[REGISTER_rax]);
	if (is_result(&show->run, at))
		buf_printf(&show->buf, "  the call returned 0x%" PRIx64, pass->registers[REGISTER_rax]);
	if (show->taint.marks)
		add_derived(show, &show->taint.marks[at], instruction.kind);
	buf_char(&show->buf, '\n');
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
		if (is_result(run, i))
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

static int show_run(struct command_context *context, const char *path, struct err *err)
{
	const struct options *given = context->options;
	struct show show = { .context = context, .registers = options_has(given, "registers") };
	int r = step_run_read(context->arena, path, (uint32_t)options_number(given, "tid", 0), NULL, &show.run, err);

	if (!r && options_has(given, "taint")) {
		r = find_taint(&show, options_text(given, "taint", NULL), err);
		if (r)
			step_run_done(&show.run);
	}
	if (r)
		return r;
	buf_init(&show.buf);
	if (options_has(given, "json")) {
		add_json(&show);
	} else {
		buf_escaped(&show.buf, show.run.comm, strlen(show.run.comm), NULL);
		buf_printf(&show.buf, " %u of process %u passed %zu places of %s", show.run.tid, show.run.pid, show.run.passes.length, show.run.code.path);
		for (unsigned i = 1; i < CODE_FILES; i++)
			if (show.run.code.joined[i])
				buf_printf(&show.buf, ", %s", show.run.code.joined[i]->path);
		buf_printf(&show.buf, " in %.6f s\n", (double)(show.run.passes.items[show.run.passes.length - 1].time - show.run.passes.items[0].time) / 1e9);
		add_lines(&show, options_has(given, "whole"));
		if (show.taint.marks)
			add_lost(&show);
	}
	r = sink_buf(context->out, &show.buf);
	buf_done(&show.buf);
	taint_done(&show.taint);
	step_run_done(&show.run);
	return r;
}

/* ---- recording ---- */

static int record(struct command_context *context, struct err *err)
{
	const struct options *given = context->options;
	struct step_wishes wishes = { .tid = (pid_t)options_number(given, "tid", 0), .most = options_number(given, "most", STEPPING_MOST) };
	struct recorder_options want = {
		.path = options_text(given, "output", STEP_FILE), .stacks = STACKS_WAITS, .steps = &wishes, .options = "step",
	};
	struct process process;
	struct stepping stepping = {
		.text = given->arguments[1], .process = &process, .into = given, .depth = (unsigned)options_number(given, "depth", STEPPING_DEPTH),
		.results = options_has(given, "results"),
	};
	uint64_t number;
	int r;

	if (parse_number(given->arguments[0], &number) || !number || number > OPTION_PID_MOST)
		return err_set(err, -EINVAL, "'%s' is not a process number", given->arguments[0]);
	wishes.pid = (pid_t)number;
	r = process_look(context->arena, wishes.pid, &process, err);
	if (!r)
		r = stepping_find(context->arena, &stepping, context->notes, &wishes, err);
	if (!r)
		r = process_record(context, wishes.pid, &want, "stepping", err);
	return r;
}

static int run(struct command_context *context, struct err *err)
{
	const struct options *given = context->options;

	if (options_has(given, "show")) {
		if (given->argument_count > 1)
			return err_set(err, -EINVAL, "step --show takes one file");
		return show_run(context, given->argument_count ? given->arguments[0] : STEP_FILE, err);
	}
	if (given->argument_count != 2)
		return err_set(err, -EINVAL, "say which process and which function: argus step PID FILE:FUNCTION");
	return record(context, err);
}

const struct command command_step = {
	.name = "step",
	.arguments = "PID FUNCTION",
	.summary = "the way of a running thread through a function, branch by branch",
	.help = "Records every conditional branch, call, indirect jump and return that threads of the\n"
		"process pass in the function and in those of its file that it calls (--depth), each with the registers\n"
		"before it; calls of other files are stepped over, but of those that --into names.\n"
		"With --results also behind calls of what is not stepped through, where rax holds what they\n"
		"returned. FUNCTION is a name, FILE:NAME, FILE:0xADDRESS of any place in it, as FILE was linked, or\n"
		"FILE+0xOFFSET, as stacks write what has no name; FILE+0xOFFSET,+0xOFFSET are several of FILE.\n"
		"With --show, --taint marks which arguments, return values and branches derive from an input.\n"
		"Nobody is stopped; `argus step --show` prints the way, `argus diverge` compares two.\n",
	.options = options,
	.rules = rules,
	.many_arguments = true,
	.run = run,
};
