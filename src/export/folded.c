#include "export/folded.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "trace/text.h"

struct weighed {
	uint32_t thread;                 /* entry whose name the stack goes under */
	uint32_t ustack, kstack;
	uint64_t weight;
};

struct open_wait {
	uint64_t since_ns;
	uint32_t ustack, kstack;
};

struct folding {
	const struct tables *tables;
	struct names *names;
	const struct folded_options *options;
	struct map by_key;               /* hash of thread name and stacks -> place in the list + 1 */
	struct vec(struct weighed) list;
	struct map waits;                /* tid -> place in open + 1 */
	struct vec(struct open_wait) open;
	struct folded_counts counts;
};

static void add(struct folding *f, uint32_t tid, uint64_t time_ns, uint32_t ustack, uint32_t kstack, uint64_t weight)
{
	uint32_t thread = tables_thread(f->tables, tid, time_ns);
	const struct thread *t = &f->tables->threads[thread];
	bool is_new;

	if (f->options->pid && t->pid != f->options->pid)
		return;
	if (!ustack && !kstack) {
		f->counts.without++;
		return;
	}
	f->counts.stacks++;
	uint64_t who = f->options->threads ? (uint64_t)thread << 1 | 1 : hash_bytes(t->comm, strlen(t->comm));
	uint64_t *place = map_at(&f->by_key, hash_u64(who) ^ hash_u64((uint64_t)ustack << 32 | kstack), &is_new);
	if (is_new) {
		struct weighed w = { .thread = thread, .ustack = ustack, .kstack = kstack };
		vec_push(&f->list, w);
		*place = f->list.length;
	}
	f->list.items[*place - 1].weight += weight;
}

static void wait_begin(struct folding *f, const struct event *e, const struct event_switch *s)
{
	bool is_new;
	if (!s->wait || !e->tid)
		return;
	uint64_t *place = map_at(&f->waits, e->tid, &is_new);
	if (is_new) {
		struct open_wait none = { 0 };
		vec_push(&f->open, none);
		*place = f->open.length;
	}
	f->open.items[*place - 1] = (struct open_wait){ e->time, s->ustack, s->kstack };
}

static void wait_end(struct folding *f, uint32_t tid, uint64_t time_ns)
{
	const uint64_t *place = map_find(&f->waits, tid);
	struct open_wait *w = place ? &f->open.items[*place - 1] : NULL;
	if (!w || !w->since_ns)
		return;
	add(f, tid, w->since_ns, w->ustack, w->kstack, (time_ns - w->since_ns) / 1000);
	w->since_ns = 0;
}

static void take(struct folding *f, const struct event *e)
{
	const struct event_switch *s = e->type == EVENT_switch ? event_as(e, switch) : NULL;
	const struct event_info *info = &event_infos[e->type];

	switch (f->options->weight) {
	case FOLDED_WAIT_US:
		if (s) {
			wait_begin(f, e, s);
			wait_end(f, s->next, e->time);
		}
		return;
	case FOLDED_WAITS:
		if (s && s->wait)
			add(f, e->tid, e->time, s->ustack, s->kstack, 1);
		return;
	case FOLDED_SAMPLES:
	case FOLDED_EVENTS:
		break;
	}
	const struct field_info *user = field_info_find(info, "ustack"), *kernel = field_info_find(info, "kstack");
	if (e->data && (user || kernel))
		add(f, e->tid, e->time, user ? (uint32_t)field_value(user, e->data) : 0,
		    kernel ? (uint32_t)field_value(kernel, e->data) : 0, 1);
}

/* A frame's name as part of a line: no separator, no control characters. */
static void add_word(struct buf *buf, const char *text)
{
	size_t from = buf->length;
	buf_escaped(buf, text, strlen(text), ";");
	for (size_t i = from; i < buf->length; i++)
		if (buf->data[i] == ' ')
			buf->data[i] = '_';
}

static void add_frames(struct folding *f, struct buf *buf, uint32_t node, bool kernel)
{
	struct vec(uint32_t) path = { 0 };
	uint32_t status = 0;
	for (; node && node < f->tables->frame_count; node = f->tables->frames[node].parent) {
		vec_push(&path, node);
		status = f->tables->frames[node].status;
	}
	if (status) {
		buf_text(buf, ";[");
		add_word(buf, kind_value_name(FIELD_STACK_STATUS, status) ? kind_value_name(FIELD_STACK_STATUS, status) : "cut");
		buf_char(buf, ']');
	}
	while (path.length) {
		const struct name *name = names_frame(f->names, path.items[--path.length]);
		buf_char(buf, ';');
		add_word(buf, name->text);
		if (kernel)
			buf_text(buf, "_[k]");
		for (uint32_t i = name->inline_count; i-- > 0;) {
			buf_char(buf, ';');
			add_word(buf, name->inlines[i].function);
			buf_text(buf, "_[i]");
		}
	}
	vec_done(&path);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Different nodes can have the same names: lines are merged by their text. */
static void write_lines(struct folding *f, struct buf *buf)
{
	struct arena arena = { 0 };
	struct buf line = { 0 };
	struct map by_text_hash = { 0 };
	struct vec(char *) lines = { 0 };
	struct vec(uint64_t) weights = { 0 };
	bool is_new;

	for (size_t i = 0; i < f->list.length; i++) {
		const struct weighed *w = &f->list.items[i];
		const struct thread *t = &f->tables->threads[w->thread];
		buf_clear(&line);
		add_word(&line, t->comm[0] ? t->comm : "?");
		if (f->options->threads)
			buf_printf(&line, "-%" PRIu32 "/%" PRIu32, t->pid, t->tid);
		add_frames(f, &line, w->ustack, false);
		add_frames(f, &line, w->kstack, true);
		uint64_t *place = map_at(&by_text_hash, hash_bytes(line.data, line.length), &is_new);
		if (is_new) {
			vec_push(&lines, arena_strndup(&arena, line.data, line.length));
			vec_push(&weights, 0);
			*place = weights.length;
		}
		weights.items[*place - 1] += w->weight;
	}
	for (size_t i = 0; i < lines.length; i++)
		lines.items[i] = arena_printf(&arena, "%s %" PRIu64 "\n", lines.items[i], weights.items[i]);
	if (lines.length)
		qsort(lines.items, lines.length, sizeof(lines.items[0]), by_text);
	for (size_t i = 0; i < lines.length; i++)
		buf_text(buf, lines.items[i]);
	vec_done(&lines);
	vec_done(&weights);
	map_done(&by_text_hash);
	buf_done(&line);
	arena_done(&arena);
}

void folded_export(const struct trace *trace, const struct tables *tables, struct names *names, const struct folded_options *options,
		   struct buf *buf, struct folded_counts *ret_counts)
{
	struct folding f = { .tables = tables, .names = names, .options = options };
	struct trace_filter filter = { 0 };

	if (options->filter)
		filter = *options->filter;
	if (options->weight != FOLDED_EVENTS) {
		memset(filter.types, 0, sizeof(filter.types));
		trace_filter_add(&filter, options->weight == FOLDED_SAMPLES ? EVENT_sample : EVENT_switch);
	}
	struct trace_cursor *cursor = trace_cursor_new(trace, &filter);
	for (const struct event *e; (e = trace_cursor_next(cursor));)
		take(&f, e);
	trace_cursor_free(cursor);
	uint64_t end_ns = filter.to_ns ? filter.to_ns : trace_summary(trace)->end_ns;
	size_t at = 0;
	for (const struct map_slot *slot; (slot = map_next(&f.waits, &at));)
		wait_end(&f, (uint32_t)slot->key, end_ns);
	write_lines(&f, buf);
	*ret_counts = f.counts;
	map_done(&f.by_key);
	map_done(&f.waits);
	vec_done(&f.list);
	vec_done(&f.open);
}
