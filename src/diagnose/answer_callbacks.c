/* The callbacks and pieces of work of an answer's threads: what packs make visible, see answer.h.
 *
 * The graph has each callback as a segment with its level, and what was handed on as an edge
 * into it; the rule that made either says how it is called (`called`). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/answer.h"
#include "diagnose/callbacks_open.h"
#include "graph/graph.h"
#include "symbols/address_names.h"
#include "symbols/demangle.h"
#include "trace/probe_names.h"

#define TEXT_EVENTS_MOST 1000u /* of other threads' probes, between a probe and its text */
#define EVENTS_BEFORE_MOST 5000u /* between a probe and the one whose text belongs to it */

/* ---- what it is called ---- */

static void put_function(const struct describer *d, uint32_t thread, uint64_t time_ns, uint64_t address, struct buf *buf)
{
	const struct name *name = d->addresses ? address_names_find(d->addresses, thread, address, time_ns) : NULL;

	if (!name)
		buf_printf(buf, "0x%" PRIx64, address);
	else if (name->function[0] && name->module[0])
		buf_printf(buf, "%s (%s)", demangle_brief(d->arena, name->text), name->module);
	else
		buf_text(buf, name->text);
}

/* "2 words,31 other words": those of the number; false when it has none. */
static bool put_word_of(const char *list, size_t length, uint64_t value, struct buf *buf)
{
	for (const char *at = list, *end = list + length; at < end;) {
		const char *comma = memchr(at, ',', (size_t)(end - at)), *words;
		size_t part = comma ? (size_t)(comma - at) : (size_t)(end - at);

		words = memchr(at, ' ', part);
		if (words && strtoull(at, NULL, 10) == value) {
			buf_add(buf, words + 1, part - (size_t)(words + 1 - at));
			return true;
		}
		at += part + 1;
	}
	return false;
}

/* The event's own text; of a probe the first that was read there, which has an event of its own, just behind. */
static const char *text_of(const struct describer *d, const struct event *e)
{
	struct trace_filter filter = { 0 };
	struct trace_cursor *cursor;
	const struct event *next;
	const char *text = "";
	unsigned looked = 0;

	if (e->type != EVENT_probe || !e->data)
		return e->tail;
	trace_filter_add(&filter, EVENT_probe);
	trace_filter_add(&filter, EVENT_probe_text);
	cursor = trace_cursor_new(d->scene->trace, &filter);
	trace_cursor_seek(cursor, e->number + 1);
	while ((next = trace_cursor_next(cursor)) && looked++ < TEXT_EVENTS_MOST) {
		if (next->tid != e->tid)
			continue;
		if (next->type == EVENT_probe_text && next->data && event_as(next, probe_text)->probe == event_as(e, probe)->probe)
			text = arena_strdup(d->arena, next->tail);
		break;
	}
	trace_cursor_free(cursor);
	return text;
}

/* The text that this probe read last in the event's thread, before it. */
static const char *text_before(const struct describer *d, const struct event *e, const char *probe, size_t length)
{
	uint64_t number = e->number, from = number > EVENTS_BEFORE_MOST ? number - EVENTS_BEFORE_MOST : 1;
	const char *name = arena_strndup(d->arena, probe, length), *text = "";
	struct trace_filter filter = { 0 };
	struct trace_cursor *cursor;
	struct probe_names names;
	const struct event *at;
	uint32_t tid = e->tid;

	probe_names_read(d->arena, d->scene->trace, &names);
	trace_filter_add(&filter, EVENT_probe_text);
	cursor = trace_cursor_new(d->scene->trace, &filter);
	trace_cursor_seek(cursor, from);
	while ((at = trace_cursor_next(cursor)) && at->number < number)
		if (at->tid == tid && at->data && !strcmp(probe_name(&names, event_as(at, probe_text)->probe)->name, name))
			text = arena_strdup(d->arena, at->tail);
	trace_cursor_free(cursor);
	return text;
}

/* A C++ class by the name that it has in its type information: "N3app6EditorE". */
static const char *class_called(const struct describer *d, const char *text)
{
	static const char words[] = "typeinfo name for ";
	/* a star is before names that no other file may have */
	const char *plain = demangle(d->arena, arena_printf(d->arena, "_ZTS%s", text + (*text == '*')));

	return !text[0] || !plain || strncmp(plain, words, sizeof(words) - 1) != 0 ? text : demangle_brief(d->arena, plain + sizeof(words) - 1);
}

/* What stands in braces: FIELD, "FIELD:2 words,3 other words", "function FIELD", "function FIELD|words for
 * none", "text", "text PROBE", "class text". */
static void put_asked(const struct describer *d, uint32_t thread, const struct event *e, const char *asked, size_t length, struct buf *buf)
{
	static const char function[] = "function ", number[] = "number ";
	bool is_number = length > sizeof(number) - 1 && !memcmp(asked, number, sizeof(number) - 1);
	bool is_function = length > sizeof(function) - 1 && !memcmp(asked, function, sizeof(function) - 1);
	const char *otherwise = memchr(asked, '|', length);
	const char *words = memchr(asked, ':', length);
	size_t words_length = words ? length - (size_t)(words + 1 - asked) : 0;
	size_t rest = otherwise ? length - (size_t)(otherwise + 1 - asked) : 0;
	const char *text;
	uint64_t value;

	if (otherwise)
		length = (size_t)(otherwise - asked);
	else if (words)
		length = (size_t)(words - asked);
	if (is_number) {
		asked += sizeof(number) - 1;
		length -= sizeof(number) - 1;
	}
	if (is_function) {
		asked += sizeof(function) - 1;
		length -= sizeof(function) - 1;
	}
	if (length == 10 && !memcmp(asked, "class text", 10)) {
		text = class_called(d, text_of(d, e));
		buf_add(buf, text[0] || !otherwise ? text : otherwise + 1, text[0] || !otherwise ? strlen(text) : rest);
		return;
	}
	if (length >= 4 && !memcmp(asked, "text", 4) && (length == 4 || asked[4] == ' ')) {
		text = length == 4 ? text_of(d, e) : text_before(d, e, asked + 5, length - 5);
		if (text[0] || !otherwise)
			buf_text(buf, text);
		else
			buf_add(buf, otherwise + 1, rest);
		return;
	}
	if (!event_field(e, asked, length, &value))
		buf_add(buf, asked, length);
	else if (!value && otherwise)
		buf_add(buf, otherwise + 1, rest);
	else if (words && !put_word_of(words + 1, words_length, value, buf))
		buf_printf(buf, "number %" PRIu64, value);
	else if (words)
		return;
	else if (is_number)
		buf_printf(buf, "%" PRIu64, value);
	else if (is_function)
		put_function(d, thread, e->time, value, buf);
	else
		buf_printf(buf, "0x%" PRIx64, value);
}

static const char *called_by(const struct describer *d, uint32_t rule, uint32_t thread, const struct event *e)
{
	const char *at = graph_rule_called(d->scene->graph, rule), *text;
	struct buf buf;

	if (!at[0])
		return graph_rule_name(d->scene->graph, rule);
	buf_init(&buf);
	while (*at) {
		const char *open = strchr(at, '{'), *close = open ? strchr(open, '}') : NULL;

		if (!close) {
			buf_text(&buf, at);
			break;
		}
		buf_add(&buf, at, (size_t)(open - at));
		if (e)
			put_asked(d, thread, e, open + 1, (size_t)(close - open - 1), &buf);
		at = close + 1;
	}
	text = arena_strdup(d->arena, buf_str(&buf));
	buf_done(&buf);
	return text;
}

/* By the event with this number; of one that was lost no field is said. */
static const char *called_by_number(const struct describer *d, uint32_t rule, uint32_t thread, uint64_t number)
{
	struct trace_cursor *cursor = trace_cursor_new(d->scene->trace, NULL);
	const struct event *e;
	const char *words;

	trace_cursor_seek(cursor, number);
	e = trace_cursor_next(cursor);
	words = called_by(d, rule, thread, e && e->number == number ? e : NULL);
	trace_cursor_free(cursor);
	return words;
}

/* ---- which they are ---- */

static void find_submission(const struct describer *d, const struct graph_segment *begun, bool nested, struct callback *callback);

static void describe_callback(const struct describer *d, uint32_t thread, const struct graph_segment *begun, bool nested, struct callback *callback)
{
	struct trace_cursor *cursor = trace_cursor_new(d->scene->trace, NULL);
	const struct event *e;

	trace_cursor_seek(cursor, begun->first_event);
	e = trace_cursor_next(cursor);
	if (e && e->number != begun->first_event)
		e = NULL; /* it was lost */
	*callback = (struct callback){ .what = called_by(d, begun->rule, thread, e), .begin_ns = e ? e->time : begun->start_ns,
				       .begin_event = begun->first_event };
	trace_cursor_free(cursor);
	find_submission(d, begun, nested, callback);
}

/* Who handed it on, and, once, from within which callback. */
static void find_submission(const struct describer *d, const struct graph_segment *begun, bool nested, struct callback *callback)
{
	const struct graph *graph = d->scene->graph;
	struct graph_edges walk = graph_edges_into(graph, begun->segment, EDGES_STRONG);
	struct graph_segment around[CALLBACKS_OPEN_MOST];
	struct callback within;
	unsigned count;

	for (struct graph_edge edge; graph_edges_next(&walk, &edge); ) {
		if (edge.kind != MECHANISM_submit || edge.to_event != begun->first_event ||
		    edge.from_thread >= d->scene->thread_count)
			continue;
		describe_thread(d, edge.from_thread, edge.from_ns, &callback->submitter);
		callback->deed = graph_rule_called(graph, edge.rule)[0] ? called_by_number(d, edge.rule, edge.from_thread, edge.from_event) :
									  "submitted it";
		callback->submit_ns = edge.from_ns;
		callback->submit_event = edge.from_event;
		count = nested ? 0 : callbacks_open(graph, edge.from, around);
		/* what hands on may begin a callback itself: it lies in the one around that */
		for (unsigned i = 0; i < count && !callback->within; i++)
			if (around[i].first_event != edge.from_event) {
				describe_callback(d, edge.from_thread, &around[i], true, &within);
				callback->within = within.what;
			}
		return;
	}
}

void answer_callbacks(const struct describer *d, uint32_t thread, uint64_t time_ns, struct path_step *step)
{
	const struct graph *graph = d->scene->graph;
	struct graph_segment begun[CALLBACKS_OPEN_MOST];
	struct callback *callbacks;
	uint32_t segment;

	if (!graph || !d->scene->trace || !thread)
		return;
	segment = graph_segment_at(graph, thread, time_ns);
	step->callback_count = segment == GRAPH_NONE ? 0 : callbacks_open(graph, segment, begun);
	callbacks = arena_array(d->arena, struct callback, step->callback_count);
	for (unsigned i = 0; i < step->callback_count; i++)
		describe_callback(d, thread, &begun[i], false, &callbacks[i]);
	step->callbacks = callbacks;
}

/* ---- in words ---- */

static void put_moment(const struct describer *d, uint64_t ns, uint64_t event, struct buf *buf)
{
	uint64_t start = trace_summary(d->scene->trace)->start_ns;

	buf_printf(buf, " at %.3f s (event %" PRIu64 ")", ((double)ns - (double)start) / 1e9, event);
}

static bool told_before(const struct diagnosis *g, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (g->path[i].callback_count && g->path[i].callbacks[0].begin_event == g->path[at].callbacks[0].begin_event)
			return true;
	return false;
}

void answer_callbacks_text(const struct describer *d, const struct diagnosis *g, struct buf *buf)
{
	for (size_t i = 0; i < g->path_count; i++) {
		const struct path_step *s = &g->path[i];

		if (!s->callback_count || told_before(g, i))
			continue;
		buf_printf(buf, " In that time %s was in ", answer_who(d->arena, &s->actor));
		for (unsigned k = 0; k < s->callback_count; k++) {
			const struct callback *c = &s->callbacks[k];

			buf_printf(buf, "%s", k ? ", called within " : "");
			buf_escaped(buf, c->what, strlen(c->what), NULL);
			buf_text(buf, ", begun");
			put_moment(d, c->begin_ns, c->begin_event, buf);
		}
		if (s->callbacks[0].submitter.tid) {
			const struct callback *c = &s->callbacks[0];

			buf_printf(buf, "; %s ", answer_who(d->arena, &c->submitter));
			buf_escaped(buf, c->deed, strlen(c->deed), NULL);
			put_moment(d, c->submit_ns, c->submit_event, buf);
			if (c->within) {
				buf_text(buf, ", from ");
				buf_escaped(buf, c->within, strlen(c->within), NULL);
			}
		}
		buf_char(buf, '.');
	}
}

void answer_callbacks_json(struct json *json, const struct path_step *step)
{
	json_array(json, "callbacks");
	for (unsigned i = 0; i < step->callback_count; i++) {
		const struct callback *c = &step->callbacks[i];

		json_object(json, NULL);
		json_text(json, "what", c->what);
		json_u64(json, "begin_ns", c->begin_ns);
		json_u64(json, "event", c->begin_event);
		if (c->submitter.tid) {
			json_object(json, "submitted");
			answer_actor_json(json, &c->submitter);
			json_text(json, "what", c->deed);
			json_u64(json, "time_ns", c->submit_ns);
			json_u64(json, "event", c->submit_event);
			json_text(json, "within", c->within);
			json_end(json);
		} else {
			json_null(json, "submitted");
		}
		json_end(json);
	}
	json_end(json);
}
