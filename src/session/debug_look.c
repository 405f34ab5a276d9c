/* The interactive session: looking at threads, events, stacks, timelines. */
#include "session/debug.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "diagnose/describe.h"
#include "session/show_stack.h"
#include "trace/text.h"

#define EVENTS_SHOWN 200
#define FOUND_SHOWN 40

int debug_search(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	const struct tables *tables = debug->session.tables;
	unsigned shown = 0;

	if (words->count != 2)
		return err_set(err, -EINVAL, "search TEXT");
	for (uint32_t i = 1; i < tables->thread_count && shown < FOUND_SHOWN; i++) {
		const struct thread *t = &tables->threads[i];

		if (!strstr(t->comm, words->items[1]) && !strstr(t->command, words->items[1]) && !strstr(t->exe, words->items[1]))
			continue;
		buf_printf(out, "%s  ", debug_who(debug, i, t->end_ns));
		buf_escaped(out, t->command, strlen(t->command), NULL);
		buf_char(out, '\n');
		shown++;
	}
	for (size_t i = 0; i < tables->descriptor_count && shown < FOUND_SHOWN; i++) {
		const struct descriptor *d = &tables->descriptors[i];

		if (!strstr(d->text, words->items[1]))
			continue;
		buf_printf(out, "object 0x%" PRIx64 " descriptor %" PRId32 " of process %" PRIu32 " at %.3f s: ", d->at.object,
			   (int32_t)d->at.fd, d->pid, debug_seconds(debug, d->time));
		buf_escaped(out, d->text, strlen(d->text), NULL);
		buf_char(out, '\n');
		shown++;
	}
	for (uint32_t i = 0; i < debug->session.scene->mark_count; i++)
		if (strstr(debug->session.scene->marks[i].text, words->items[1])) {
			buf_printf(out, "mark at %.3f s: ", debug_seconds(debug, debug->session.scene->marks[i].time));
			buf_escaped(out, debug->session.scene->marks[i].text, strlen(debug->session.scene->marks[i].text), NULL);
			buf_char(out, '\n');
		}
	if (shown == FOUND_SHOWN)
		buf_text(out, "... and more\n");
	if (!out->length)
		buf_text(out, "nothing found\n");
	return 0;
}

int debug_events(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	struct trace_filter filter = { .from_ns = debug->request.from_ns, .to_ns = debug->request.to_ns };
	struct trace_cursor *cursor;
	uint64_t tid = 0;
	unsigned shown = 0;
	int r = 0;

	if (words->count == 1)
		r = debug_need_answer(debug, err);
	else if (words->count < 3 || words->count > 4)
		r = err_set(err, -EINVAL, "events [FROM TO [TID]]");
	if (!r && words->count > 2)
		r = session_time(&debug->session, words->items[1], &filter.from_ns, err);
	if (!r && words->count > 2)
		r = session_time(&debug->session, words->items[2], &filter.to_ns, err);
	if (!r && words->count > 3 && parse_number(words->items[3], &tid))
		r = err_set(err, -EINVAL, "'%s' is not a thread's number", words->items[3]);
	if (r)
		return r;
	if (words->count == 1)
		tid = debug->diagnosis->victim.tid;
	cursor = trace_cursor_new(debug->session.trace, &filter);
	for (const struct event *e; (e = trace_cursor_next(cursor)) && shown < EVENTS_SHOWN; ) {
		if (tid && e->tid != tid)
			continue;
		buf_printf(out, "%" PRIu64 " ", e->number);
		text_format(out, e);
		shown++;
	}
	trace_cursor_free(cursor);
	if (shown == EVENTS_SHOWN)
		buf_printf(out, "... the first %u; give a narrower stretch for more\n", shown);
	return 0;
}

/* Stacks are the fields of that kind. */
static void show_stacks(struct debug *debug, const struct event *e, struct buf *out)
{
	const struct event_info *info = &event_infos[e->type];

	for (unsigned i = 0; i < info->field_count; i++) {
		uint32_t node;

		if (info->fields[i].kind != FIELD_STACK || info->fields[i].bytes != sizeof(node))
			continue;
		memcpy(&node, (const char *)e->data + info->fields[i].offset, sizeof(node));
		if (!node)
			continue;
		buf_printf(out, "%s:\n", info->fields[i].doc);
		show_stack_text(out, debug->session.names, debug->session.tables, node, "    ");
	}
}

int debug_event(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	const struct event *e;
	uint64_t number;

	if (words->count != 2 || parse_number(words->items[1], &number))
		return err_set(err, -EINVAL, "event NUMBER");
	e = trace_event(debug->session.trace, &debug->arena, number);
	if (!e)
		return err_set(err, -ENOENT, "the trace has no event %" PRIu64, number);
	text_format(out, e);
	if (e->type < EVENT_MAX && event_infos[e->type].name && e->data)
		show_stacks(debug, e, out);
	return 0;
}

int debug_stack(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	const struct scene *scene = debug->session.scene;
	const struct debug_place *place;
	const struct episode *e;

	(void)words;
	if (!debug->slice.length)
		return err_set(err, -ENOENT, "one stands nowhere yet: `why` begins a slice, `here TID TIME` too");
	place = &debug->slice.items[debug->slice.length - 1];
	e = scene_episode(scene, place->thread, place->time_ns ? place->time_ns - 1 : 0);
	if (!e)
		return err_set(err, -ENOENT, "the thread does not wait there");
	show_stack_text(out, debug->session.names, debug->session.tables, scene->waits[e->last].ustack, "  ");
	show_stack_text(out, debug->session.names, debug->session.tables, scene->waits[e->last].kstack, "  ");
	if (!out->length)
		buf_text(out, "no stack was recorded\n");
	return 0;
}

static char state_letter(uint8_t state)
{
	switch ((enum span_state)state) {
	case SPAN_RUNNING: return '#';
	case SPAN_RUNNABLE: return '+';
	case SPAN_WAITING: return '.';
	case SPAN_STOPPED: return 'T';
	case SPAN_UNKNOWN: return '?';
	case SPAN_ABSENT: return ' ';
	}
	return '?';
}

/* One line of a timeline: in each column the state that filled most of it. */
static void put_row(struct debug *debug, uint32_t thread, uint64_t from, uint64_t to, unsigned columns, struct buf *out)
{
	buf_printf(out, "%-32.32s |", debug_who(debug, thread, from + (to - from) / 2));
	for (unsigned i = 0; i < columns; i++) {
		uint64_t begin = from + (uint64_t)((double)(to - from) * i / columns);
		uint64_t end = from + (uint64_t)((double)(to - from) * (i + 1) / columns);
		struct state_times times;
		uint8_t most = SPAN_UNKNOWN;

		scene_state_times(debug->session.scene, thread, begin, end > begin ? end : begin + 1, &times);
		for (uint8_t state = 0; state <= SPAN_ABSENT; state++)
			if (times.ns[state] > times.ns[most])
				most = state;
		buf_char(out, state_letter(most));
	}
	buf_text(out, "|\n");
}

int debug_timeline(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	const struct diagnosis *g = debug->diagnosis;
	uint32_t threads[24];
	unsigned count = 0;
	uint64_t columns = 80;
	int r = debug_need_answer(debug, err);

	if (r)
		return r;
	if (words->count > 1 && (parse_number(words->items[1], &columns) || columns < 10 || columns > 1000))
		return err_set(err, -EINVAL, "columns: a number from 10 to 1000");
	for (size_t i = 0; i < g->path_count + g->chain_count && count < 24; i++) {
		uint32_t thread = i < g->path_count ? g->path[i].actor.thread : g->chain[i - g->path_count].actor.thread;
		bool there = !thread;

		for (unsigned j = 0; j < count; j++)
			there |= threads[j] == thread;
		if (!there)
			threads[count++] = thread;
	}
	buf_printf(out, "%.3f s to %.3f s; # runs, + runnable, . waits, T stopped\n", debug_seconds(debug, g->start_ns),
		   debug_seconds(debug, g->end_ns));
	for (unsigned i = 0; i < count; i++)
		put_row(debug, threads[i], g->start_ns, g->end_ns, (unsigned)columns, out);
	return 0;
}

int debug_threads(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	const struct scene *scene = debug->session.scene;

	(void)err;
	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct thread *t = &scene->tables->threads[i];

		if (words->count > 1 && !strstr(t->comm, words->items[1]) && !strstr(t->command, words->items[1]))
			continue;
		buf_printf(out, "%-40s ran %10s, waited %" PRIu32 " times, woke others %" PRIu32 " times\n",
			   debug_who(debug, i, t->end_ns), describe_time(&debug->arena, scene->threads[i].running_ns),
			   scene->threads[i].wait_count, scene->threads[i].wake_count);
	}
	return 0;
}
