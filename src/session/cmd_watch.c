/* argus watch: who writes (and reads) a variable of a process that runs. */
#include <errno.h>

#include "session/process_recording.h"
#include "session/recording.h"
#include "session/watch_report.h"

static const struct option_spec options[] = {
	OPTION_OUTPUT_TRACE,
	{ "duration", 0, OPTION_DURATION, "TIME", "stop after this time", .least = 1 },
	RECORDING_LIMIT,
	{ "show", 0, OPTION_FLAG, NULL, "record nothing: the argument is a trace whose watchpoints are to be shown" },
	OPTION_JSON,
	{ NULL },
};

static const struct option_rule rules[] = {
	{ .one_of = "show duration" }, { .one_of = "show output" }, { .one_of = "show limit" }, { 0 }
};

static int run(struct command_context *context, struct err *err)
{
	const struct options *given = context->options;
	const char *path = options_text(given, "output", COMMAND_TRACE);
	bool as_json = options_has(given, "json");
	struct recorder_options want = { .path = path, .stacks = STACKS_WATCHES | STACKS_WAITS | STACKS_WAKES, .options = "watch" };
	struct watch_wishes *wishes;
	pid_t pid;
	int r;

	if (options_has(given, "show")) {
		if (given->argument_count > 1)
			return err_set(err, -EINVAL, "watch --show takes one trace");
		return watch_report(context, command_trace_path(context), as_json, err);
	}
	if (given->argument_count < 2)
		return err_set(err, -EINVAL, "say which process and which memory: argus watch PID PLACE...");
	r = process_find(given->arguments[0], &pid, err);
	if (!r)
		r = recording_watch_specs(context->arena, given->arguments + 1, given->argument_count - 1, given, &wishes, err);
	if (r)
		return r;
	wishes->pids = &pid;
	wishes->pid_count = 1;
	want.watches = wishes;
	r = process_record(context, pid, &want, arena_printf(context->arena, "watching %zu place%s of process %d", wishes->spec_count,
							     wishes->spec_count == 1 ? "" : "s", (int)pid), err);
	return r ? r : watch_report(context, path, as_json, err);
}

const struct command command_watch = {
	.name = "watch",
	.arguments = "PID PLACE...",
	.summary = "who writes a variable of a running process",
	.help = "Sets hardware watchpoints, at most four at once, in all threads of the process, records\n"
		"each write (PLACE%access: each read too) with value and stack, and tells who came to it.\n"
		"PID may be what the process is called.\n"
		"A PLACE is 0xADDRESS, VARIABLE, FILE:VARIABLE, or a way from one: pool:queue->first->done;\n"
		"docs/watch.md. The recording is a trace as any other: `argus why`, `argus dump`.\n",
	.options = options,
	.rules = rules,
	.many_arguments = true,
	.run = run,
};
