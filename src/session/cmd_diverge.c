/* argus diverge: where a good and a bad run of the same code part, and which memory decided it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "probe/diverge.h"
#include "session/command.h"
#include "trace/tables.h"
#include "trace/trace.h"

#define VERSION 1
#define PLAN_MOST 2u           /* places that are watched at once: the machine has four watchpoints */

static const struct option_spec options[] = {
	{ "base-tid", 0, OPTION_NUMBER, "TID", "the thread of the good run (that passed most, of those called as the bad run's)",
	  .least = 1, .most = OPTION_PID_MOST },
	{ "tid", 't', OPTION_NUMBER, "TID", "the thread of the bad run (the one that passed most)", .least = 1, .most = OPTION_PID_MOST },
	OPTION_JSON,
	{ NULL },
};

/* What is to be stepped through next, where the value is the result of a call that was stepped over. */
struct deeper {
	const char *places;      /* NULL: nothing is */
	unsigned depth;
	const char *into[CODE_FILES];
	unsigned into_count;
};

struct both {
	struct command_context *context;
	struct step_run base, buggy;
	struct diverge diverge;
	struct deeper deeper;
	struct buf buf;
};

/* A --watch PLACE for the origin: in any run, else at its address in the bad one. */
static const char *watch_of(const struct both *both, const struct diverge_origin *origin)
{
	if (origin->kind != DIVERGE_memory)
		return NULL;
	if (origin->spec)
		return origin->spec;
	return origin->buggy_address ? arena_printf(both->context->arena, "0x%" PRIx64 "%%%u", origin->buggy_address, origin->bytes) : NULL;
}

static const char *place_of(struct both *both, uint64_t address)
{
	return code_name(&both->buggy.code, both->context->arena, address);
}

static const char *file_of(const struct both *both, uint64_t address)
{
	uint64_t linked;

	return code_file(&both->base.code, address, &linked)->path;
}

static void add_registers(struct both *both, const char *who, const struct step_pass *pass)
{
	buf_printf(&both->buf, "  %s, event %" PRIu64 ":", who, pass->number);
	for (unsigned i = 0; i < REGISTER_count; i++)
		buf_printf(&both->buf, "%s%s=%" PRIx64, i % 8 ? " " : "\n      ", register_name(i), pass->registers[i]);
	buf_char(&both->buf, '\n');
}

static void add_origin(struct both *both, const struct diverge_origin *origin)
{
	char text[INSTRUCTION_TEXT];

	code_text(&both->buggy.code, origin->at, text);
	buf_printf(&both->buf, "  %s: %s\n      ", place_of(both, origin->at), text);
	switch (origin->kind) {
	case DIVERGE_memory:
		buf_printf(&both->buf, "reads %u bytes of memory", origin->bytes);
		if (origin->base_address)
			buf_printf(&both->buf, ", at 0x%" PRIx64 " in the good run", origin->base_address);
		if (origin->buggy_address)
			buf_printf(&both->buf, ", at 0x%" PRIx64 " in the bad one", origin->buggy_address);
		if (origin->spec)
			buf_printf(&both->buf, ": %s", origin->spec);
		break;
	case DIVERGE_result:
		buf_printf(&both->buf, "the value is what %s returned, which was not stepped through (step into it, or deeper)",
			   origin->callee[0] ? origin->callee : "the function called");
		break;
	case DIVERGE_unknown:
		buf_printf(&both->buf, "the value came from before what was looked at");
		break;
	}
	buf_char(&both->buf, '\n');
}

/* ---- deeper ---- */

/* The file's function that the address is in, as stacks write it: its offset; UINT64_MAX it is in none. */
static uint64_t function_offset(const struct code *code, uint64_t address)
{
	uint64_t start, end, linked, offset;
	const struct code *file;

	if (!code_function(code, address, &start, &end))
		return UINT64_MAX;
	file = code_file(code, start, &linked);
	return elf_file_offset(&file->elf, linked, &offset) ? offset : UINT64_MAX;
}

/* What was stepped through already, by the options of the recording. */
static void take_options(struct arena *arena, const char *recorded, struct deeper *deeper)
{
	static const char depth[] = "--depth=", into[] = "--into=";

	for (const char *at = recorded; at && *at; at += strcspn(at, " "), at += *at == ' ') {
		size_t length = strcspn(at, " ");

		if (!strncmp(at, depth, sizeof(depth) - 1))
			deeper->depth = (unsigned)strtoul(at + sizeof(depth) - 1, NULL, 0);
		else if (!strncmp(at, into, sizeof(into) - 1) && deeper->into_count + 1 < CODE_FILES)
			deeper->into[deeper->into_count++] = arena_strndup(arena, at + sizeof(into) - 1, length - (sizeof(into) - 1));
	}
}

/* The library that has the function, of those that the recording tells of. */
static const char *library_of(const struct trace *trace, struct arena *arena, const char *function)
{
	struct tables *tables;
	const char *found = NULL;

	if (tables_build_parts(trace, TABLES_STACKS, &tables, NULL))
		return NULL;
	for (uint32_t i = 1; i < tables->module_count && !found; i++) {
		struct symbol_table symbols = { 0 };
		struct elf_file elf;

		if (!strstr(tables->modules[i].path, ".so") || elf_file_open(tables->modules[i].path, &elf, NULL))
			continue;
		arena_init(&symbols.arena);
		symbol_table_add(&symbols, &elf);
		for (size_t j = 0; j < symbols.symbols.length && !found; j++)
			if (symbols.symbols.items[j].kind == SYMBOL_function && !strcmp(symbols.symbols.items[j].name, function))
				found = arena_strdup(arena, tables->modules[i].path);
		symbol_table_done(&symbols);
		elf_file_close(&elf);
	}
	tables_free(tables);
	return found;
}

/* The functions with the branch and with the call, one call deeper than before, or into the library. */
static void find_deeper(struct both *both)
{
	struct arena *arena = both->context->arena;
	const struct diverge *d = &both->diverge;
	const struct diverge_origin *origin = d->origins;
	uint64_t branch = both->base.passes.items[d->base_pass].address, linked, call_offset, branch_offset;
	struct deeper deeper = { .depth = 1 };
	const char *library;
	struct trace *trace;

	/* best first: where memory is told, that is to be watched */
	if (!d->origin_count || origin->kind != DIVERGE_result || code_file_number(branch) || trace_open(both->buggy.path, &trace, NULL))
		return;
	take_options(arena, trace_machine(trace, "options"), &deeper);
	library = origin->imported ? library_of(trace, arena, origin->callee) : NULL;
	trace_close(trace);
	call_offset = function_offset(&both->buggy.code, origin->at);
	branch_offset = function_offset(&both->buggy.code, branch);
	if (branch_offset == UINT64_MAX || (origin->imported && !library))
		return;
	deeper.places = arena_printf(arena, "%s+0x%" PRIx64, code_file(&both->buggy.code, branch, &linked)->path, branch_offset);
	if (!code_file_number(origin->at) && call_offset != UINT64_MAX && call_offset != branch_offset)
		deeper.places = arena_printf(arena, "%s,+0x%" PRIx64, deeper.places, call_offset);
	if (library)
		deeper.into[deeper.into_count++] = library;
	else
		deeper.depth++;
	both->deeper = deeper;
}

static void add_deeper_text(struct both *both)
{
	const struct deeper *deeper = &both->deeper;
	struct buf how;

	if (!deeper->places)
		return;
	buf_init(&how);
	buf_printf(&how, "%s --depth %u", deeper->places, deeper->depth);
	for (unsigned i = 0; i < deeper->into_count; i++)
		buf_printf(&how, " --into %s", deeper->into[i]);
	buf_printf(&both->buf, "Step into it, in a good run and in a bad one, and compare these:\n  argus record --step %s -- COMMAND\n  argus step PID %s\n",
		   buf_str(&how), buf_str(&how));
	buf_done(&how);
}

static void add_plan_option(struct json *json, const char *option, const char *value, const char *why)
{
	json_object(json, NULL);
	json_text(json, "option", option);
	json_text(json, "value", value);
	json_text(json, "why", why);
	json_end(json);
}

static void add_deeper_plan(struct both *both, struct json *json)
{
	const struct deeper *deeper = &both->deeper;
	static const char why[] = "what the branch looks at is what a function returned that was stepped over";

	if (!deeper->places)
		return;
	add_plan_option(json, "--step", deeper->places, why);
	add_plan_option(json, "--depth", arena_printf(both->context->arena, "%u", deeper->depth), why);
	for (unsigned i = 0; i < deeper->into_count; i++)
		add_plan_option(json, "--into", deeper->into[i], why);
}

/* ---- what is found ---- */

static void add_text(struct both *both)
{
	const struct diverge *d = &both->diverge;
	const struct step_pass *base = &both->base.passes.items[d->base_pass], *buggy = &both->buggy.passes.items[d->buggy_pass];
	char text[INSTRUCTION_TEXT];
	bool first = true;

	code_text(&both->buggy.code, base->address, text);
	buf_printf(&both->buf, "The runs part at %s of %s:\n  %s\n", place_of(both, base->address), file_of(both, base->address), text);
	buf_printf(&both->buf, "The good run came there %" PRIu64 " time%s and the branch was %s; the bad one came %" PRIu64 " time%s and it ",
		   d->base_times, d->base_times == 1 ? "" : "s", base->taken ? "taken" : "not taken", d->buggy_times, d->buggy_times == 1 ? "" : "s");
	if (d->buggy_left)
		buf_printf(&both->buf, "was only %" PRIu64 " time%s: %" PRIu64 " times in a row, for %.6f s, it was not.\n", d->buggy_left,
			   d->buggy_left == 1 ? "" : "s", d->buggy_row, (double)d->buggy_row_ns / 1e9);
	else
		buf_text(&both->buf, "never was.\n");
	if (d->condition_at) {
		code_text(&both->buggy.code, d->condition_at, text);
		buf_printf(&both->buf, "It asks what this found:\n  %s: %s\n", place_of(both, d->condition_at), text);
	}
	if (d->origin_count)
		buf_printf(&both->buf, "Its value came from:\n");
	for (size_t i = 0; i < d->origin_count; i++)
		add_origin(both, &d->origins[i]);
	buf_printf(&both->buf, "Registers before the branch:\n");
	add_registers(both, "good", base);
	add_registers(both, "bad", buggy);
	add_deeper_text(both);
	for (size_t i = 0; i < d->origin_count; i++) {
		const char *watch = watch_of(both, &d->origins[i]);

		if (!watch)
			continue;
		buf_printf(&both->buf, first ? "See who writes it, in a good run and in a bad one:\n" : "Or:\n");
		buf_printf(&both->buf, "  argus record --watch '%s' -- COMMAND\n  argus watch PID '%s'\n", watch, watch);
		first = false;
	}
}

/* What `record --plan` takes: the best of the places. */
static void add_plan(struct both *both, struct json *json)
{
	size_t count = 0;

	json_array(json, "plan");
	for (size_t i = 0; i < both->diverge.origin_count && count < PLAN_MOST; i++) {
		const char *watch = both->diverge.origins[i].spec;

		if (!watch)
			continue;
		add_plan_option(json, "--watch", watch, "who writes what the branch looks at, in a good run and in a bad one");
		count++;
	}
	add_deeper_plan(both, json);
	json_end(json);
}

static void add_json(struct both *both)
{
	static const char *const kinds[] = { "memory", "result", "unknown" };
	const struct diverge *d = &both->diverge;
	const struct step_pass *passes[2] = { &both->base.passes.items[d->base_pass], &both->buggy.passes.items[d->buggy_pass] };
	char text[INSTRUCTION_TEXT];
	struct json json;

	json_init(&json, &both->buf);
	json.pretty = true;
	json_object(&json, NULL);
	json_u64(&json, "version", VERSION);
	json_text(&json, "file", file_of(both, passes[0]->address));
	code_text(&both->buggy.code, passes[0]->address, text);
	json_u64(&json, "address", passes[0]->address & (code_file_base(1) - 1));
	json_text(&json, "place", place_of(both, passes[0]->address));
	json_text(&json, "instruction", text);
	json_bool(&json, "base_taken", passes[0]->taken);
	json_u64(&json, "base_times", d->base_times);
	json_u64(&json, "buggy_times", d->buggy_times);
	json_u64(&json, "buggy_left", d->buggy_left);
	json_u64(&json, "buggy_row", d->buggy_row);
	json_u64(&json, "buggy_row_ns", d->buggy_row_ns);
	if (d->condition_at) {
		code_text(&both->buggy.code, d->condition_at, text);
		json_text(&json, "condition", text);
	}
	for (unsigned i = 0; i < 2; i++) {
		json_object(&json, i ? "buggy_registers" : "base_registers");
		for (unsigned r = 0; r < REGISTER_count; r++)
			json_u64(&json, register_name(r), passes[i]->registers[r]);
		json_end(&json);
	}
	json_array(&json, "origins");
	for (size_t i = 0; i < d->origin_count; i++) {
		const struct diverge_origin *origin = &d->origins[i];

		json_object(&json, NULL);
		json_text(&json, "kind", kinds[origin->kind]);
		json_text(&json, "place", place_of(both, origin->at));
		if (origin->kind == DIVERGE_memory) {
			json_u64(&json, "bytes", origin->bytes);
			json_u64(&json, "base_address", origin->base_address);
			json_u64(&json, "buggy_address", origin->buggy_address);
			json_text(&json, "watch", watch_of(both, origin));
		} else if (origin->kind == DIVERGE_result) {
			json_text(&json, "callee", origin->callee);
		}
		json_end(&json);
	}
	json_end(&json);
	add_plan(both, &json);
	json_end(&json);
	buf_char(&both->buf, '\n');
}

static int run(struct command_context *context, struct err *err)
{
	const struct options *given = context->options;
	struct both both = { .context = context };
	int r;

	if (given->argument_count != 2)
		return err_set(err, -EINVAL, "diverge takes two files of `argus step`: the good run's and the bad one's");
	r = step_run_read(context->arena, given->arguments[1], (uint32_t)options_number(given, "tid", 0), NULL, &both.buggy, err);
	if (!r)
		r = step_run_read(context->arena, given->arguments[0], (uint32_t)options_number(given, "base-tid", 0), &both.buggy, &both.base, err);
	if (!r)
		r = diverge_find(context->arena, &both.base, &both.buggy, &both.diverge, err);
	if (!r) {
		find_deeper(&both);
		buf_init(&both.buf);
		if (options_has(given, "json"))
			add_json(&both);
		else
			add_text(&both);
		r = sink_buf(context->out, &both.buf);
		buf_done(&both.buf);
	}
	step_run_done(&both.base);
	step_run_done(&both.buggy);
	return r;
}

const struct command command_diverge = {
	.name = "diverge",
	.arguments = "BASE BUGGY",
	.summary = "where two stepped runs part, and the memory that decided it",
	.help = "Takes two files of `argus step` through the same function: of a run in which all went well,\n"
		"and of one that hangs. Finds the branch that only the good run left by, what its condition\n"
		"looked at, and where that lies: ready to be watched (`argus watch`, `record --watch`).\n",
	.options = options,
	.many_arguments = true,
	.run = run,
};
