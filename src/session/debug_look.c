/* The interactive session: looking for things, and at events and stacks. */
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
		return debug_usage(words, err);
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

/* Times as the rest of the session tells them. */
static void put_event(struct debug *debug, const struct event *e, struct buf *out)
{
	const char *name = e->type < EVENT_MAX ? event_infos[e->type].name : NULL;

	buf_printf(out, "%8" PRIu64 " %12.6f s [%u] ", e->number, debug_seconds(debug, e->time), e->cpu);
	if (e->tid) {
		const char *comm = tables_comm(debug->session.tables, tables_thread(debug->session.tables, e->tid, e->time), e->time);

		buf_escaped(out, comm, strlen(comm), NULL);
		buf_printf(out, "[%" PRIu32 "] ", e->tid);
	}
	buf_text(out, name ? name : "?");
	text_format_fields(out, e);
	buf_char(out, '\n');
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
		r = debug_usage(words, err);
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
		put_event(debug, e, out);
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
		return debug_usage(words, err);
	e = trace_event(debug->session.trace, &debug->arena, number);
	if (!e)
		return err_set(err, -ENOENT, "the trace has no event %" PRIu64, number);
	put_event(debug, e, out);
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
		return err_set(err, -ENOENT, "no place on a slice is chosen yet: `why` begins a slice, `here TID TIME` too");
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
