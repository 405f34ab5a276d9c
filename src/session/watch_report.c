/* See watch_report.h. */
#include "session/watch_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/map.h"
#include "base/vec.h"
#include "session/show_stack.h"
#include "symbols/names.h"
#include "trace/tables.h"

#define VERSION 1
#define VISITORS_MOST 20   /* shown of each watchpoint, in text */

/* One thread's accesses of one kind from one stack. */
struct visitor {
	uint32_t watch, thread, ustack;
	uint16_t type;
	bool kernel;
	uint64_t count, changes;     /* of which changed the value */
	uint64_t first_ns, last_ns, first_number, value;
	const char *comm;
	uint32_t tid;
};

struct point {
	struct event_watch_point at;
	const char *name, *file, *place;
	uint64_t hits;
	uint64_t off_ns;
	uint32_t off_tid;
	bool known;
};

struct report {
	struct command_context *context;
	struct trace *trace;
	struct tables *tables;
	struct names *names;
	struct vec(struct visitor) visitors;
	struct vec(struct point) points;     /* by number */
	struct map by_key;
	uint64_t start_ns;
};

static struct point *point_of(struct report *report, uint32_t watch)
{
	while (report->points.length <= watch)
		vec_push(&report->points, ((struct point){ .name = "", .file = "", .place = "" }));
	return &report->points.items[watch];
}

static const char *tail_part(const struct event *e, unsigned n)
{
	const char *at = e->tail, *end = e->tail + e->tail_length;

	while (n-- && at < end)
		at += strnlen(at, (size_t)(end - at)) + 1;
	return at < end ? at : "";
}

static void take_point(struct report *report, const struct event *e)
{
	struct arena *arena = report->context->arena;
	const struct event_watch_point *at = event_as(e, watch_point);
	struct point *point;

	if (at->watch > UINT16_MAX)
		return;
	point = point_of(report, at->watch);
	if (point->known)
		return;
	point->at = *at;
	point->known = true;
	point->name = arena_strdup(arena, tail_part(e, 0));
	point->file = arena_strdup(arena, tail_part(e, 1));
	point->place = arena_strdup(arena, tail_part(e, 2));
}

static void take_access(struct report *report, const struct event *e, struct thread_tracker *tracker)
{
	const struct event_flag_write *at = event_as(e, flag_write); /* reads and accesses have the same fields */
	uint32_t thread = thread_tracker_find(tracker, e->tid, e->time);
	uint64_t key = hash_u64(hash_u64(hash_u64(at->watch * 4ull + e->type) ^ thread) ^ at->ustack), *number;
	struct visitor *visitor;
	bool is_new;

	if (at->watch > UINT16_MAX)
		return;
	point_of(report, at->watch)->hits++;
	number = map_at(&report->by_key, key, &is_new);
	if (is_new) {
		*number = report->visitors.length;
		vec_push(&report->visitors, ((struct visitor){
			.watch = at->watch, .thread = thread, .ustack = at->ustack, .type = e->type, .tid = e->tid,
			.kernel = at->flags & FLAG_ACCESS_kernel, .first_ns = e->time, .first_number = e->number,
			.comm = arena_strdup(report->context->arena, tables_comm(report->tables, thread, e->time)) }));
	}
	visitor = &report->visitors.items[*number];
	visitor->count++;
	visitor->changes += at->value != at->old;
	visitor->last_ns = e->time;
	visitor->value = at->value;
}

static void read_all(struct report *report)
{
	struct trace_filter filter = { 0 };
	struct thread_tracker tracker;
	struct trace_cursor *cursor;
	const struct event *e;

	trace_filter_add(&filter, EVENT_watch_point);
	trace_filter_add(&filter, EVENT_watch_off);
	trace_filter_add(&filter, EVENT_flag_write);
	trace_filter_add(&filter, EVENT_flag_read);
	trace_filter_add(&filter, EVENT_flag_access);
	thread_tracker_init(&tracker, report->tables);
	cursor = trace_cursor_new(report->trace, &filter);
	while ((e = trace_cursor_next(cursor))) {
		if (!e->data)
			continue;
		if (e->type == EVENT_watch_point) {
			take_point(report, e);
		} else if (e->type == EVENT_watch_off && event_as(e, watch_off)->watch <= UINT16_MAX) {
			struct point *point = point_of(report, event_as(e, watch_off)->watch);

			point->off_ns = e->time;
			point->off_tid = e->tid;
		} else if (e->type != EVENT_watch_off) {
			take_access(report, e, &tracker);
		}
	}
	trace_cursor_free(cursor);
	thread_tracker_done(&tracker);
}

static int by_count(const void *a, const void *b)
{
	const struct visitor *x = a, *y = b;

	if (x->watch != y->watch)
		return x->watch < y->watch ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->first_number < y->first_number ? -1 : x->first_number > y->first_number;
}

static const char *did(const struct visitor *visitor)
{
	return visitor->type == EVENT_flag_write ? "wrote" : visitor->type == EVENT_flag_read ? "read" : "accessed";
}

static double seconds(const struct report *report, uint64_t ns)
{
	return (double)(int64_t)(ns - report->start_ns) / 1e9;
}

static void show_point(const struct report *report, const struct point *point, uint32_t number, struct buf *buf)
{
	size_t shown = 0, left = 0;

	buf_escaped(buf, point->name, strlen(point->name), NULL);
	buf_printf(buf, ": %u bytes at 0x%" PRIx64 " of process %u", point->at.bytes, point->at.address, point->at.pid);
	if (point->place[0]) {
		buf_text(buf, " (");
		buf_escaped(buf, point->place, strlen(point->place), NULL);
		if (point->file[0]) {
			buf_text(buf, " of ");
			buf_escaped(buf, point->file, strlen(point->file), NULL);
		}
		buf_text(buf, ")");
	}
	buf_printf(buf, ", %" PRIu64 " (0x%" PRIx64 ") at the start; %" PRIu64 " %s\n", point->at.value, point->at.value, point->hits,
		   point->at.kind == WATCH_KIND_access ? "accesses" : "writes");
	if (point->off_ns)
		buf_printf(buf, "  disarmed at %.6f: thread %u came to it more often in a second than --limit allows\n",
			   seconds(report, point->off_ns), point->off_tid);
	for (size_t i = 0; i < report->visitors.length; i++) {
		const struct visitor *visitor = &report->visitors.items[i];

		if (visitor->watch != number)
			continue;
		if (shown++ >= VISITORS_MOST) {
			left++;
			continue;
		}
		buf_printf(buf, "  ");
		buf_escaped(buf, visitor->comm, strlen(visitor->comm), NULL);
		buf_printf(buf, " %u %s it %" PRIu64 " time%s", visitor->tid, did(visitor), visitor->count, visitor->count == 1 ? "" : "s");
		if (visitor->type == EVENT_flag_write)
			buf_printf(buf, " (%" PRIu64 " changed it), last %" PRIu64 " (0x%" PRIx64 ")", visitor->changes, visitor->value,
				   visitor->value);
		if (visitor->count == 1)
			buf_printf(buf, ", at %.6f%s, event %" PRIu64 "\n", seconds(report, visitor->first_ns),
				   visitor->kernel ? ", in a system call" : "", visitor->first_number);
		else
			buf_printf(buf, ", from %.6f to %.6f%s, first event %" PRIu64 "\n", seconds(report, visitor->first_ns),
				   seconds(report, visitor->last_ns), visitor->kernel ? ", in a system call" : "", visitor->first_number);
		show_stack_text(buf, report->names, report->tables, visitor->ustack, "      ");
	}
	if (left)
		buf_printf(buf, "  and %zu more ways to it\n", left);
}

static void add_point(struct json *json, const struct report *report, const struct point *point, uint32_t number)
{
	json_object(json, NULL);
	json_u64(json, "watch", number);
	json_text(json, "name", point->name);
	json_text(json, "file", point->file);
	json_text(json, "place", point->place);
	json_u64(json, "pid", point->at.pid);
	json_u64(json, "address", point->at.address);
	json_u64(json, "bytes", point->at.bytes);
	json_u64(json, "value", point->at.value);
	json_bool(json, "access", point->at.kind == WATCH_KIND_access);
	json_u64(json, "hits", point->hits);
	if (point->off_ns)
		json_u64(json, "disarmed_ns", point->off_ns);
	json_array(json, "visitors");
	for (size_t i = 0; i < report->visitors.length; i++) {
		const struct visitor *visitor = &report->visitors.items[i];

		if (visitor->watch != number)
			continue;
		json_object(json, NULL);
		json_u64(json, "tid", visitor->tid);
		json_text(json, "comm", visitor->comm);
		json_text(json, "access", event_infos[visitor->type].name);
		json_u64(json, "count", visitor->count);
		json_u64(json, "changes", visitor->changes);
		json_u64(json, "value", visitor->value);
		json_u64(json, "first_ns", visitor->first_ns);
		json_u64(json, "last_ns", visitor->last_ns);
		json_u64(json, "first_event", visitor->first_number);
		json_bool(json, "kernel", visitor->kernel);
		show_stack_json(json, "stack", report->names, report->tables, visitor->ustack);
		json_end(json);
	}
	json_end(json);
	json_end(json);
}

static int show(const struct report *report, bool as_json)
{
	struct json json;
	struct buf buf;
	int r;

	buf_init(&buf);
	json_init(&json, &buf);
	json.pretty = true;
	if (as_json) {
		json_object(&json, NULL);
		json_u64(&json, "version", VERSION);
		json_array(&json, "watches");
	}
	for (uint32_t i = 1; i < report->points.length; i++) {
		const struct point *point = &report->points.items[i];

		if (!point->known)
			continue;
		if (as_json)
			add_point(&json, report, point, i);
		else
			show_point(report, point, i, &buf);
	}
	if (as_json) {
		json_end(&json);
		json_end(&json);
		buf_char(&buf, '\n');
	}
	r = sink_buf(report->context->out, &buf);
	buf_done(&buf);
	return r;
}

int watch_report(struct command_context *context, const char *path, bool as_json, struct err *err)
{
	struct report report = { .context = context };
	int r = trace_open(path, &report.trace, err);

	if (r)
		return r;
	report.start_ns = trace_summary(report.trace)->start_ns;
	r = tables_build(report.trace, &report.tables, err);
	if (!r)
		r = names_open(report.trace, report.tables, NULL, &report.names, err);
	if (!r) {
		read_all(&report);
		if (report.visitors.length)
			qsort(report.visitors.items, report.visitors.length, sizeof(struct visitor), by_count);
		r = show(&report, as_json);
	}
	names_close(report.names);
	tables_free(report.tables);
	vec_done(&report.visitors);
	vec_done(&report.points);
	map_done(&report.by_key);
	trace_close(report.trace);
	return r;
}
