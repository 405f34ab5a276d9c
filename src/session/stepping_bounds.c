/* See stepping.h: which thread is stepped, and how far. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "diagnose/places.h"
#include "session/stepping.h"
#include "trace/tables.h"
#include "trace/trace.h"

static int read_until(const char *text, struct step_wish *wish, struct err *err)
{
	if (!text)
		return 0;
	wish->one = 1;
	if (!strcmp(text, "wait"))
		wish->until = STEP_UNTIL_wait;
	else if (!strcmp(text, "return"))
		wish->until = STEP_UNTIL_return;
	else if (!parse_number(text, &wish->count) && wish->count)
		wish->until = STEP_UNTIL_count;
	else
		return err_set(err, -EINVAL, "--until takes wait, return, or a number of instructions, not '%s'", text);
	return 0;
}

/* The node of the event's user stack; 0 none. */
static uint32_t stack_of(const struct event *e)
{
	const struct event_info *info = &event_infos[e->type];
	uint32_t node = 0;

	for (unsigned i = 0; e->data && i < info->field_count; i++)
		if (info->fields[i].kind == FIELD_STACK && !strcmp(info->fields[i].name, "ustack"))
			memcpy(&node, (const char *)e->data + info->fields[i].offset, sizeof(node));
	return node;
}

/* Where the frame lies in the process; 0: it has not mapped that file. */
static uint64_t address_in(const struct process *process, const struct tables *tables, uint32_t node)
{
	const struct frame *frame = &tables->frames[node];
	const char *path = frame->module < tables->module_count ? tables->modules[frame->module].path : "";

	for (size_t i = 0; path[0] && i < process->count; i++) {
		const struct process_mapping *mapping = &process->mappings[i];

		if (!strcmp(mapping->path, path) && frame->address >= mapping->offset &&
		    frame->address - mapping->offset < mapping->end - mapping->start)
			return mapping->start + (frame->address - mapping->offset);
	}
	return 0;
}

/* The frames from the node outwards, as far as they lie in files that the process has mapped. */
static void take_frames(const struct process *process, const struct tables *tables, uint32_t node, struct step_wish *wish)
{
	for (; node && node < tables->frame_count && wish->frame_count < STEP_FRAMES_MOST; node = tables->frames[node].parent) {
		uint64_t address = address_in(process, tables, node);

		if (!address)
			return;
		wish->frames[wish->frame_count++] = address;
	}
}

static int read_stack(struct arena *arena, const struct trace *trace, const char *path, uint64_t number, const struct process *process,
		      struct stepping *stepping, struct step_wish *wish, struct err *err)
{
	const struct event *e = trace_event(trace, arena, number);
	struct tables *tables;
	uint32_t node;
	int r;

	if (!e)
		return err_set(err, -ENOENT, "%s has no event %" PRIu64, path, number);
	if (!stack_of(e))
		return err_set(err, -ENODATA, "event %" PRIu64 " of %s has no stack: take a switch, sample or probe that has one (argus dump)", number, path);
	r = tables_build_parts(trace, TABLES_STACKS, &tables, err);
	if (r)
		return r;
	node = places_own_frame(tables, stack_of(e));
	stepping->text = places_to_step(arena, tables, node);
	if (node)
		take_frames(process, tables, node, wish);
	if (!node)
		r = err_set(err, -ENODATA, "the stack of event %" PRIu64 " of %s is in no file outside of the C library", number, path);
	else if (!wish->frame_count)
		r = err_set(err, -ENOENT, "process %d has not mapped %s", (int)process->pid, tables->modules[tables->frames[node].module].path);
	tables_free(tables);
	return r;
}

static int read_event(struct arena *arena, const char *text, const struct process *process, struct stepping *stepping, struct step_wish *wish,
		      struct err *err)
{
	const char *colon = text ? strrchr(text, ':') : NULL, *path;
	struct trace *trace;
	uint64_t number;
	int r;

	if (!text)
		return 0;
	if (!colon || colon == text || parse_number(colon + 1, &number))
		return err_set(err, -EINVAL, "--event takes TRACE:NUMBER, a trace and the number of an event in it, not '%s'", text);
	path = arena_strndup(arena, text, (size_t)(colon - text));
	r = trace_open(path, &trace, err);
	if (r)
		return r;
	wish->one = 1;
	stepping->first = true;
	r = read_stack(arena, trace, path, number, process, stepping, wish, err);
	trace_close(trace);
	return r;
}

int stepping_bounds(struct arena *arena, const struct options *given, const struct process *process, struct stepping *stepping,
		    struct step_wish *wish, struct err *err)
{
	const char *name = options_text(given, "thread", NULL);
	int r = read_until(options_text(given, "until", NULL), wish, err);

	if (!r && name && (!name[0] || strlen(name) >= sizeof(wish->comm)))
		return err_set(err, -EINVAL, "--thread takes what threads are called: 1 to %zu characters, not '%s'", sizeof(wish->comm) - 1, name);
	if (!r && name)
		memcpy(wish->comm, name, strlen(name));
	return r ? r : read_event(arena, options_text(given, "event", NULL), process, stepping, wish, err);
}
