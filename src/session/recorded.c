/* See recorded.h. */
#include "session/recorded.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

const char *recorded_command(const struct trace *trace)
{
	const char *command = trace_machine(trace, "command");

	return command && command[0] ? command : NULL;
}

uint32_t recorded_root(const struct trace *trace, const struct tables *tables)
{
	const char *recorder = trace_machine(trace, "recorder_pid");
	uint32_t parent = recorder ? (uint32_t)strtoul(recorder, NULL, 10) : 0;

	if (!recorded_command(trace) || !parent)
		return 0;
	for (uint32_t i = 1; i < tables->thread_count; i++) {
		const struct thread *t = &tables->threads[i];

		if (t->tid == t->pid && t->parent_pid == parent && !(t->flags & TASK_FLAGS_argus))
			return t->pid;
	}
	return 0;
}

/* What follows the word in the recorder's options; NULL when it is not there. */
static const char *option(const char *options, const char *word)
{
	const char *at = options;

	while ((at = strstr(at, word)))
		if (at == options || at[-1] == ' ')
			return at + strlen(word);
		else
			at++;
	return NULL;
}

bool recorded_whole_machine(const struct trace *trace)
{
	const char *options = trace_machine(trace, "options");

	return options && option(options, "--all=");
}

uint32_t recorded_only(const struct trace *trace)
{
	const char *options = trace_machine(trace, "options"), *list;
	unsigned long number;
	char *end;

	if (!options || recorded_whole_machine(trace))
		return 0;
	list = option(options, "--tid=");
	list = list ? list : option(options, "--pid=");
	number = list ? strtoul(list, &end, 10) : 0;
	return list && end != list && (!*end || *end == ' ') && number <= UINT32_MAX ? (uint32_t)number : 0;
}

/* "12,34 ...": the numbers up to what is none. */
static uint32_t *numbers(struct arena *arena, const char *text, size_t *ret_count)
{
	size_t commas = 0;
	uint32_t *list;

	for (const char *at = text; *at && *at != ' '; at++)
		commas += *at == ',';
	list = arena_array(arena, uint32_t, commas + 1);
	*ret_count = 0;
	for (char *end; *ret_count <= commas; text = end + 1) {
		list[*ret_count] = (uint32_t)strtoul(text, &end, 10);
		*ret_count += end != text;
		if (end == text || *end != ',')
			break;
	}
	return list;
}

void recorded_scope(struct arena *arena, const struct trace *trace, const struct tables *tables, struct observe_scope *scope)
{
	const char *options = trace_machine(trace, "options"), *list;
	uint32_t root;

	if (scope->tids || scope->pids || scope->name || scope->roots || !options || option(options, "--all="))
		return;
	if ((list = option(options, "--tid="))) {
		scope->tids = numbers(arena, list, &scope->tid_count);
	} else if ((list = option(options, "--pid="))) {
		scope->roots = numbers(arena, list, &scope->root_count);
	} else if ((root = recorded_root(trace, tables))) {
		uint32_t *only = arena_new(arena, uint32_t);

		*only = root;
		scope->roots = only;
		scope->root_count = 1;
	}
}
