/* argus step: the way that a thread takes through a function, branch by branch. */
#include <errno.h>

#include "probe/process.h"
#include "session/process_recording.h"
#include "session/step_report.h"
#include "session/stepping.h"

#define STEP_FILE "argus.step"

static const struct option_spec options[] = {
	{ "output", 'o', OPTION_TEXT, "FILE", "the file to write (" STEP_FILE ")" },
	{ "tid", 't', OPTION_NUMBER, "TID", "this thread only; with --show: this one's way", .least = 1, .most = OPTION_PID_MOST },
	{ "thread", 0, OPTION_TEXT, "NAME", "threads of this name only" },
	{ "event", 0, OPTION_TEXT, "TRACE:NUMBER",
	  "in place of FUNCTION: step the first thread that comes with the stack that this event of a trace has, from its innermost function "
	  "outside of the C library on" },
	{ "until", 0, OPTION_TEXT, "wait|return|N", "step the first thread that comes: to its next wait, the function's return, or N instructions" },
	STEPPING_OPTIONS,
	{ "results", 0, OPTION_FLAG, NULL, "also the return values of calls that are not stepped through (costs one more place after each)" },
	{ "most", 0, OPTION_NUMBER, "N", "end after this many places (1000000)", .least = 1 },
	{ "duration", 0, OPTION_DURATION, "TIME", "end after this time", .least = 1 },
	{ "show", 0, OPTION_FLAG, NULL, "record nothing: print the way in the file that is named" },
	{ "whole", 0, OPTION_FLAG, NULL, "with --show: all of it, not the first 400 lines" },
	{ "registers", 0, OPTION_FLAG, NULL, "with --show: the registers at each place too" },
	{ "stacks", 0, OPTION_FLAG, NULL, "with --show: the stack at each call too, not only where the function is entered" },
	{ "taint", 0, OPTION_TEXT, "INPUT",
	  "with --show: mark what derives from this input: FUNCTION:REGISTER (as work:rdi), or FUNCTION:REGISTER:BYTES of memory there" },
	OPTION_JSON,
	{ NULL },
};

static const struct option_rule rules[] = {
	{ .one_of = "show output" }, { .one_of = "show duration" }, { .one_of = "show most" }, { .one_of = "show depth" }, { .one_of = "show results" },
	{ .one_of = "show into" }, { .one_of = "show until" }, { .one_of = "show event" }, { .one_of = "show thread" },
	{ .option = "stacks", .without = "show" },
	{ .option = "whole", .without = "show" }, { .option = "registers", .without = "show" }, { .option = "json", .without = "show" },
	{ .option = "taint", .without = "show" }, { 0 }
};

static int record(struct command_context *context, struct err *err)
{
	const struct options *given = context->options;
	struct step_wishes wishes = { .wish = { .tid = (uint32_t)options_number(given, "tid", 0), .most = options_number(given, "most", STEPPING_MOST) } };
	struct recorder_options want = {
		.path = options_text(given, "output", STEP_FILE), .stacks = STACKS_WAITS, .steps = &wishes, .narrow = true,
		.options = stepping_options(context->arena, given),
	};
	struct process process;
	struct stepping stepping = {
		.text = given->arguments[1], .process = &process, .into = given, .depth = (unsigned)options_number(given, "depth", STEPPING_DEPTH),
		.results = options_has(given, "results"),
	};
	pid_t pid;
	int r;

	r = process_find(given->arguments[0], &pid, err);
	if (r)
		return r;
	wishes.wish.pid = (uint32_t)pid;
	r = process_look(context->arena, pid, &process, err);
	if (!r)
		r = stepping_bounds(context->arena, given, &process, &stepping, &wishes.wish, err);
	if (!r)
		r = stepping_find(context->arena, &stepping, context->notes, &wishes, err);
	if (!r)
		r = process_record(context, pid, &want, "stepping", err);
	return r;
}

static int run(struct command_context *context, struct err *err)
{
	const struct options *given = context->options;

	if (options_has(given, "show")) {
		if (given->argument_count > 1)
			return err_set(err, -EINVAL, "step --show takes one file");
		return step_report(context, given->argument_count ? given->arguments[0] : STEP_FILE, err);
	}
	if (given->argument_count != (options_has(given, "event") ? 1 : 2))
		return err_set(err, -EINVAL, "say which process and which function: argus step PID FILE:FUNCTION, or argus step PID --event TRACE:NUMBER");
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
		"returned. Where the function is entered, and at calls, the whole stack is recorded.\n"
		"FUNCTION is a name, FILE:NAME, FILE:0xADDRESS of any place in it, as FILE was linked, or\n"
		"FILE+0xOFFSET, as stacks write what has no name; FILE+0xOFFSET,+0xOFFSET are several of FILE.\n"
		"With --show, --taint marks which arguments, return values and branches derive from an input.\n"
		"PID may be what the process is called.\n"
		"Nobody is stopped; `argus step --show` prints the way, `argus diverge` compares two.\n",
	.options = options,
	.rules = rules,
	.many_arguments = true,
	.run = run,
};
