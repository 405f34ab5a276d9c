#include "export/export.h"

#include <inttypes.h>
#include <string.h>

#define FLUSH_BYTES (256u << 10)

#define EXPORTER(name) extern const struct exporter exporter_##name;
#include "export/exporters.def"
#undef EXPORTER

const struct exporter *const exporters[] = {
#define EXPORTER(name) &exporter_##name,
#include "export/exporters.def"
#undef EXPORTER
	NULL
};

void export_flush(struct export_out *out, bool all)
{
	if (!out->buf.length || (!all && out->buf.length < FLUSH_BYTES))
		return;
	if (!out->status)
		out->status = out->write(out->data, out->buf.data, out->buf.length);
	buf_clear(&out->buf);
}

bool export_has(const struct export_source *source, uint32_t thread)
{
	return !source->pid || (thread < source->tables->thread_count && source->tables->threads[thread].pid == source->pid);
}

struct passing {
	const struct export_source *source;
	void (*interval)(void *data, const struct state_interval *i);
	void *data;
};

static void pass_on(void *data, const struct state_interval *interval)
{
	const struct passing *p = data;
	struct state_interval i = *interval;

	if (i.from_ns < p->source->from_ns)
		i.from_ns = p->source->from_ns;
	if (p->source->to_ns && i.to_ns > p->source->to_ns)
		i.to_ns = p->source->to_ns;
	if (i.from_ns < i.to_ns && export_has(p->source, i.thread))
		p->interval(p->data, &i);
}

void export_intervals(const struct export_source *source, void (*interval)(void *data, const struct state_interval *i), void *data)
{
	struct passing passing = { source, interval, data };
	struct states *states = states_new(source->trace, source->tables, pass_on, &passing);
	struct trace_filter filter = { 0 };
	struct trace_cursor *cursor;

	states_filter(&filter);
	cursor = trace_cursor_new(source->trace, &filter);
	for (const struct event *e; (e = trace_cursor_next(cursor)); )
		states_take(states, e);
	trace_cursor_free(cursor);
	states_finish(states);
}

unsigned export_state(const struct state_interval *i)
{
	return i->state == THREAD_WAITING ? THREAD_STATES + i->wait % 64u : i->state;
}

enum thread_state export_state_of(unsigned state)
{
	return state < THREAD_STATES ? (enum thread_state)state : THREAD_WAITING;
}

const char *export_state_text(struct arena *arena, unsigned state)
{
	const char *kind;

	if (state < THREAD_STATES)
		return thread_state_name((enum thread_state)state);
	kind = kind_value_name(FIELD_WAIT_KIND, state - THREAD_STATES);
	return arena_printf(arena, "waiting: %s", kind ? kind : "other");
}

const char *export_thread_text(struct arena *arena, const struct thread *thread)
{
	struct buf buf;
	const char *text;

	buf_init(&buf);
	buf_escaped(&buf, thread->comm, strlen(thread->comm), NULL);
	buf_printf(&buf, " %" PRIu32 "/%" PRIu32, thread->pid, thread->tid);
	text = arena_strdup(arena, buf_str(&buf));
	buf_done(&buf);
	return text;
}
