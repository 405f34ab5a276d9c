/* See loop_tasks.h. */
#include "session/loop_tasks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "trace/trace.h"

#define LINES_MOST 20
#define NAMES_MOST 3                /* of tasks that stand alike */
#define FRAMES_SHOWN 3

struct loop_tasks_found {
	struct vec(struct loop_task) tasks;
	struct vec(struct loop_frame) frames; /* of the last task */
	uint32_t all;
};

/* ---- what the trace has ---- */

static void end_task(struct arena *arena, struct loop_tasks_found *found)
{
	if (found->tasks.length && found->frames.length) {
		struct loop_task *t = &found->tasks.items[found->tasks.length - 1];

		t->frames = arena_array(arena, struct loop_frame, found->frames.length);
		memcpy(t->frames, found->frames.items, found->frames.length * sizeof(t->frames[0]));
		t->frame_count = found->frames.length;
	}
	vec_clear(&found->frames);
}

static void add_task(struct arena *arena, struct loop_tasks_found *found, uint32_t thread, const struct event *e)
{
	const struct event_async_task *a = event_as(e, async_task);
	struct loop_task task = { .thread = thread, .tid = e->tid, .number = a->task, .awaits = a->awaits, .others = a->others, .state = a->state,
				  .cut = a->cut, .name = arena_strndup(arena, e->tail, e->tail_length) };

	end_task(arena, found);
	vec_push(&found->tasks, task);
	found->all = a->all;
}

static void add_frame(struct arena *arena, struct loop_tasks_found *found, const struct event *e)
{
	const struct event_async_frame *f = event_as(e, async_frame);
	size_t length = strnlen(e->tail, e->tail_length), rest = e->tail_length - length;
	struct loop_frame frame = { .line = f->line, .function = arena_strndup(arena, e->tail, length),
				    .file = rest > 1 ? arena_strndup(arena, e->tail + length + 1, strnlen(e->tail + length + 1, rest - 1)) : "" };

	if (found->tasks.length && found->tasks.items[found->tasks.length - 1].number == f->task)
		vec_push(&found->frames, frame);
}

/* Names with numbers in them by these. */
static int by_name(const char *a, const char *b)
{
	while (*a && *b) {
		if (strspn(a, "0123456789") && strspn(b, "0123456789")) {
			char *after_a, *after_b;
			unsigned long long x = strtoull(a, &after_a, 10), y = strtoull(b, &after_b, 10);

			if (x != y)
				return x < y ? -1 : 1;
			a = after_a;
			b = after_b;
		} else if (*a != *b) {
			return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
		} else {
			a++;
			b++;
		}
	}
	return *a ? 1 : *b ? -1 : 0;
}

static int by_state(const void *x, const void *y)
{
	const struct loop_task *a = x, *b = y;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->state != b->state)
		return a->state > b->state ? -1 : 1;
	if (!a->awaits != !b->awaits)
		return a->awaits ? -1 : 1;
	return by_name(a->name, b->name);
}

struct loop_tasks loop_tasks_find(struct arena *arena, const struct session *session, uint32_t pid, uint64_t from_ns, uint64_t to_ns)
{
	struct trace_filter filter = { .unnumbered = true, .from_ns = from_ns, .to_ns = to_ns };
	const struct tables *tables = session->tables;
	struct loop_tasks_found found = { .all = 0 };
	struct loop_tasks tasks = { .count = 0 };
	bool begins = true;

	if (!trace_summary(session->trace)->counts[EVENT_async_task])
		return tasks;
	trace_filter_add(&filter, EVENT_snapshot);
	trace_filter_add(&filter, EVENT_async_task);
	trace_filter_add(&filter, EVENT_async_frame);
	struct trace_cursor *cursor = trace_cursor_new(session->trace, &filter);
	for (const struct event *e; (e = trace_cursor_next(cursor));) {
		uint32_t thread = e->tid ? tables_thread(tables, e->tid, e->time) : 0;

		if (e->type == EVENT_snapshot) {
			begins |= !event_as(e, snapshot)->end;
			continue;
		}
		if (!thread || tables->threads[thread].pid != pid)
			continue;
		if (e->type == EVENT_async_task && begins) {
			vec_clear(&found.tasks);
			vec_clear(&found.frames);
			begins = false;
		}
		if (e->type == EVENT_async_task)
			add_task(arena, &found, thread, e);
		else
			add_frame(arena, &found, e);
	}
	trace_cursor_free(cursor);
	end_task(arena, &found);
	if (found.tasks.length)
		qsort(found.tasks.items, found.tasks.length, sizeof(found.tasks.items[0]), by_state);
	tasks.tasks = arena_array(arena, struct loop_task, found.tasks.length + 1);
	for (size_t i = 0; i < found.tasks.length; i++)
		tasks.tasks[tasks.count++] = found.tasks.items[i];
	tasks.all = found.all;
	vec_done(&found.tasks);
	vec_done(&found.frames);
	return tasks;
}

/* ---- in words ---- */

static const struct loop_task *task_numbered(const struct loop_tasks *tasks, uint64_t number)
{
	for (size_t i = 0; number && i < tasks->count; i++)
		if (tasks->tasks[i].number == number)
			return &tasks->tasks[i];
	return NULL;
}

static void put_name(const struct loop_task *task, struct buf *buf)
{
	if (task->name[0])
		buf_escaped(buf, task->name, strlen(task->name), NULL);
	else
		buf_printf(buf, "task 0x%" PRIx64, task->number);
}

static bool same_place(const struct loop_task *a, const struct loop_task *b)
{
	if (a->frame_count != b->frame_count || a->cut != b->cut)
		return false;
	for (size_t i = 0; i < a->frame_count; i++)
		if (a->frames[i].line != b->frames[i].line || strcmp(a->frames[i].function, b->frames[i].function) != 0 ||
		    strcmp(a->frames[i].file, b->frames[i].file) != 0)
			return false;
	return true;
}

/* Told in one line. */
static bool alike(const struct loop_task *a, const struct loop_task *b)
{
	return a->tid == b->tid && a->state == b->state && !a->awaits && !b->awaits && same_place(a, b);
}

static void put_frame(const struct loop_frame *f, struct buf *buf)
{
	const char *slash = strrchr(f->file, '/'), *file = slash ? slash + 1 : f->file;

	buf_escaped(buf, f->function, strlen(f->function), NULL);
	buf_text(buf, " (");
	buf_escaped(buf, file, strlen(file), NULL);
	if (f->line)
		buf_printf(buf, ":%" PRIu32, f->line);
	buf_char(buf, ')');
}

/* The innermost, and that with which the task began. */
static void put_frames(const struct loop_task *task, struct buf *buf)
{
	for (size_t i = 0; i < task->frame_count; i++) {
		if (task->frame_count > FRAMES_SHOWN && i == FRAMES_SHOWN - 1 && i + 1 < task->frame_count) {
			buf_text(buf, ", ...");
			i = task->frame_count - 1;
		}
		buf_text(buf, i ? ", called by " : " in ");
		put_frame(&task->frames[i], buf);
	}
}

static void put_line(const struct loop_tasks *tasks, size_t first, size_t count, struct buf *buf)
{
	const struct loop_task *task = &tasks->tasks[first], *awaited = task_numbered(tasks, task->awaits);
	size_t named = 0;

	buf_text(buf, "  ");
	for (size_t i = first; i < tasks->count && named < NAMES_MOST && named < count; i++) {
		if (i != first && !alike(task, &tasks->tasks[i]))
			continue;
		if (named++)
			buf_text(buf, ", ");
		put_name(&tasks->tasks[i], buf);
	}
	if (count > named)
		buf_printf(buf, " and %zu more", count - named);
	switch (task->state) {
	case ASYNC_STATE_running: buf_text(buf, " runs"); break;
	case ASYNC_STATE_ready: buf_text(buf, count > 1 ? " are ready to run" : " is ready to run"); break;
	default: buf_text(buf, count > 1 ? " wait" : " waits"); break;
	}
	if (task->awaits) {
		buf_text(buf, " for ");
		if (awaited)
			put_name(awaited, buf);
		else
			buf_printf(buf, "task 0x%" PRIx64, task->awaits);
		if (task->others)
			buf_printf(buf, " and %" PRIu32 " more", task->others);
		buf_text(buf, task->frame_count ? "," : "");
	}
	put_frames(task, buf);
	buf_text(buf, task->cut ? "; its innermost functions could not be read\n" : "\n");
}

/* Tasks that wait for each other in a circle, each circle once: from its first in the list. */
static void put_circle(const struct loop_tasks *tasks, size_t first, struct buf *buf)
{
	const struct loop_task *begin = &tasks->tasks[first], *at = begin;
	size_t length = 0;

	do {
		at = task_numbered(tasks, at->awaits);
		if (!at || at < begin || ++length > tasks->count)
			return;
	} while (at != begin);
	buf_text(buf, length == 1 ? "  It waits for itself: " : "  They wait for each other in a circle: ");
	for (size_t i = 0; i <= length; i++) {
		buf_text(buf, i ? " -> " : "");
		put_name(at, buf);
		at = task_numbered(tasks, at->awaits);
	}
	buf_char(buf, '\n');
}

void loop_tasks_text(struct arena *arena, const struct loop_tasks *tasks, struct buf *buf)
{
	bool *told = arena_array(arena, bool, tasks->count + 1);
	size_t lines = 0, left = 0;

	memset(told, 0, tasks->count + 1);
	for (size_t i = 0; i < tasks->count; i++) {
		size_t count = 1;

		if (!i || tasks->tasks[i].tid != tasks->tasks[i - 1].tid)
			buf_printf(buf, "Tasks of the event loop that thread %" PRIu32 " runs:\n", tasks->tasks[i].tid);
		if (told[i])
			continue;
		for (size_t j = i + 1; j < tasks->count; j++)
			if (!told[j] && alike(&tasks->tasks[i], &tasks->tasks[j])) {
				told[j] = true;
				count++;
			}
		if (lines++ < LINES_MOST)
			put_line(tasks, i, count, buf);
		else
			left += count;
	}
	if (left || tasks->all > tasks->count)
		buf_printf(buf, "  and %zu more\n", left + (tasks->all > tasks->count ? tasks->all - tasks->count : 0));
	for (size_t i = 0; i < tasks->count; i++)
		put_circle(tasks, i, buf);
}

void loop_tasks_json(const struct loop_tasks *tasks, struct json *json)
{
	static const char *const states[] = { [ASYNC_STATE_waiting] = "waiting", [ASYNC_STATE_ready] = "ready", [ASYNC_STATE_running] = "running" };

	if (!tasks->count)
		return;
	json_object(json, "tasks");
	json_u64(json, "all", tasks->all);
	json_array(json, "told");
	for (size_t i = 0; i < tasks->count; i++) {
		const struct loop_task *t = &tasks->tasks[i], *awaited = task_numbered(tasks, t->awaits);

		json_object(json, NULL);
		json_text(json, "name", t->name);
		json_u64(json, "tid", t->tid);
		json_text(json, "state", t->state <= ASYNC_STATE_running ? states[t->state] : "waiting");
		if (awaited)
			json_text(json, "awaits", awaited->name);
		else
			json_null(json, "awaits");
		json_u64(json, "others", t->others);
		json_bool(json, "cut", t->cut);
		json_array(json, "frames");
		for (size_t j = 0; j < t->frame_count; j++) {
			json_object(json, NULL);
			json_text(json, "function", t->frames[j].function);
			json_text(json, "file", t->frames[j].file);
			json_u64(json, "line", t->frames[j].line);
			json_end(json);
		}
		json_end(json);
		json_end(json);
	}
	json_end(json);
	json_end(json);
}
