/* See flag_writes.h. */
#include "diagnose/flag_writes.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_NS 1000000u   /* from the end of a sleep to the look behind it, on a machine with room */

static uint64_t key_of(uint32_t thread, uint64_t address)
{
	return hash_u64(hash_u64(address) ^ thread);
}

static uint32_t point_of(const struct flag_writes *flags, uint32_t number)
{
	for (size_t i = 0; number && i < flags->points.length; i++)
		if (flags->points.items[i].number == number)
			return (uint32_t)i + 1;
	return 0;
}

static void take_point(struct flag_writes *flags, const struct event *e)
{
	const struct event_watch_point *at = event_as(e, watch_point);

	if (!point_of(flags, at->watch))
		vec_push(&flags->points, ((struct flag_point){ .number = at->watch, .pid = at->pid,
			.memory = at->memory,
			.name = arena_strndup(&flags->arena, e->tail, strnlen(e->tail, e->tail_length)) }));
}

/* Reads, writes and accesses have the same fields. */
static void take_access(struct flag_writes *flags, const struct event *e, uint32_t thread)
{
	const struct event_flag_write *at = event_as(e, flag_write);

	if (e->type == EVENT_flag_read) {
		map_put(&flags->read, key_of(thread, at->address), 1);
		map_put(&flags->readers, thread, 1);
		return;
	}
	/* Imported text may not tell the old value. */
	if (at->value == at->old && at->watch)
		return;
	vec_push(&flags->writes, ((struct flag_write){ .time = e->time, .number = e->number, .address = at->address,
		.value = at->value, .thread = thread, .watch = point_of(flags, at->watch), .ustack = at->ustack }));
}

struct flag_writes *flag_writes_new(const struct scene *scene)
{
	struct flag_writes *flags = mem_zalloc(sizeof(*flags));
	const uint64_t *counts = scene->trace ? trace_summary(scene->trace)->counts : NULL;
	struct trace_filter filter = { 0 };
	struct thread_tracker tracker;
	struct trace_cursor *cursor;
	const struct event *e;

	arena_init(&flags->arena);
	map_init(&flags->read);
	map_init(&flags->readers);
	if (!counts || !(counts[EVENT_flag_write] | counts[EVENT_flag_access]))
		return flags;
	trace_filter_add(&filter, EVENT_watch_point);
	trace_filter_add(&filter, EVENT_flag_write);
	trace_filter_add(&filter, EVENT_flag_read);
	trace_filter_add(&filter, EVENT_flag_access);
	thread_tracker_init(&tracker, scene->tables);
	cursor = trace_cursor_new(scene->trace, &filter);
	while ((e = trace_cursor_next(cursor))) {
		if (!e->data)
			continue;
		if (e->type == EVENT_watch_point)
			take_point(flags, e);
		else
			take_access(flags, e, thread_tracker_find(&tracker, e->tid, e->time));
	}
	trace_cursor_free(cursor);
	thread_tracker_done(&tracker);
	return flags;
}

void flag_writes_free(struct flag_writes *flags)
{
	if (!flags)
		return;
	vec_done(&flags->writes);
	vec_done(&flags->points);
	map_done(&flags->read);
	map_done(&flags->readers);
	arena_done(&flags->arena);
	free(flags);
}

static bool looks_at(const struct flag_writes *flags, const struct scene *scene, uint32_t looker, const struct flag_write *write)
{
	const struct flag_point *point = write->watch ? &flags->points.items[write->watch - 1] : NULL;

	if (scene_same_process(scene, looker, write->thread))
		return !map_find(&flags->readers, looker) || map_find(&flags->read, key_of(looker, write->address));
	/* Elsewhere the same memory has another address, and a watchpoint of its own. */
	if (!point || !point->memory)
		return false;
	for (size_t i = 0; i < flags->points.length; i++)
		if (flags->points.items[i].pid == scene_pid(scene, looker) && flags->points.items[i].memory == point->memory)
			return true;
	return false;
}

/* The first write behind the time. */
static size_t writes_behind(const struct flag_writes *flags, uint64_t time)
{
	size_t low = 0, high = flags->writes.length;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (flags->writes.items[middle].time <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct flag_write *flag_writes_last(const struct flag_writes *flags, const struct scene *scene, uint32_t looker,
					  uint64_t from_ns, uint64_t to_ns)
{
	for (size_t i = writes_behind(flags, to_ns); i-- > 0 && flags->writes.items[i].time >= from_ns; ) {
		const struct flag_write *w = &flags->writes.items[i];

		if (w->thread && w->thread != looker && looks_at(flags, scene, looker, w))
			return w;
	}
	return NULL;
}

const struct flag_write *flag_writes_by(const struct flag_writes *flags, const struct scene *scene, uint32_t writer, uint32_t looker,
					uint64_t from_ns, uint64_t to_ns)
{
	for (size_t i = writes_behind(flags, to_ns); i-- > 0 && flags->writes.items[i].time >= from_ns; ) {
		const struct flag_write *w = &flags->writes.items[i];

		if (w->thread == writer && looks_at(flags, scene, looker, w))
			return w;
	}
	return NULL;
}

const struct flag_write *flag_writes_ended(const struct flag_writes *flags, const struct scene *scene, const struct episode *loop)
{
	const struct wait *last = &scene->waits[loop->last];
	uint32_t first = scene_waits_from(scene, loop->thread, loop->start_ns);
	/* What is written between the wake-up and the look ends the loop without another sleep. */
	uint64_t from = loop->last > first ? scene->waits[loop->last - 1].end_ns : last->start_ns, to = last->end_ns + LOOK_NS;

	if (last->end == WAIT_END_OPEN || loop->end_ns >= scene->end_ns)
		return NULL;
	return flag_writes_last(flags, scene, loop->thread, from, to);
}

const char *flag_write_name(const struct flag_writes *flags, const struct flag_write *write)
{
	return write->watch ? flags->points.items[write->watch - 1].name : NULL;
}
