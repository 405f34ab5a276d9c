/* See search.h. What rows hold is asked of the rows; objects, texts and types of
 * events of the trace, in one pass over the window. */
#include "graph/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "graph/store.h"
#include "trace/text.h"
#include "trace/when.h"

void graph_search_init(struct graph_search *search, const struct graph *graph)
{
	*search = (struct graph_search){ .graph = graph, .event_type = -1, .kind = -1, .wait = -1 };
}

static int add_thread(struct graph_search *search, const char *value)
{
	uint64_t number;

	if (!parse_number(value, &number) && number <= UINT32_MAX)
		search->tid = (uint32_t)number;
	else
		search->name = value;
	return 0;
}

static int add_event(struct graph_search *search, const char *value, struct err *err)
{
	const struct event_info *info = event_info_find(value);

	if (!info)
		return err_set(err, -EINVAL, "no event is called '%s'", value);
	search->event_type = (int)event_info_number(info);
	return 0;
}

static int add_kind(struct graph_search *search, const char *value, struct err *err)
{
	static const char *const kinds[] = { "plain", "callout", "work", "interrupt", "maintenance", "gap" };

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i], value)) {
			search->kind = (int)i;
			return 0;
		}
	return err_set(err, -EINVAL, "no kind of segment is called '%s'", value);
}

static int add_value(enum field_kind kind, const char *value, uint64_t *ret_value, struct err *err)
{
	if (text_parse_value(kind, value, strlen(value), ret_value))
		return err_set(err, -EINVAL, "'%s' is not a value of this kind", value);
	return 0;
}

int graph_search_add(struct graph_search *search, const char *what, struct err *err)
{
	const struct trace *trace = search->graph->trace;
	const char *equals = strchr(what, '='), *value = equals ? equals + 1 : "";
	size_t length = equals ? (size_t)(equals - what) : 0;
	uint64_t number = 0;
	int code = 0;

#define IS(word) (length == sizeof(word) - 1 && !memcmp(what, word, length))
	if (IS("at")) {
		code = trace_time_parse(trace, value, &search->from_ns, err);
		search->to_ns = search->from_ns;
	} else if (IS("from")) {
		code = trace_time_parse(trace, value, &search->from_ns, err);
	} else if (IS("to")) {
		code = trace_time_parse(trace, value, &search->to_ns, err);
	} else if (IS("thread")) {
		code = add_thread(search, value);
	} else if (IS("pid")) {
		if (parse_number(value, &number) || !number || number > UINT32_MAX)
			code = err_set(err, -EINVAL, "'%s' is not a pid", value);
		search->pid = (uint32_t)number;
	} else if (IS("object")) {
		code = add_value(FIELD_OBJECT, value, &search->object, err);
	} else if (IS("text")) {
		search->text = value;
	} else if (IS("event")) {
		code = add_event(search, value, err);
	} else if (IS("kind")) {
		code = add_kind(search, value, err);
	} else if (IS("wait")) {
		code = add_value(FIELD_WAIT_KIND, value, &number, err);
		search->wait = (int)number;
	} else if (IS("longer")) {
		if (parse_duration(value, &search->longer_ns))
			code = err_set(err, -EINVAL, "'%s' is not a length of time", value);
	} else {
		code = err_set(err, -EINVAL, "cannot search by '%s'; see `argus graph -h`", what);
	}
#undef IS
	return code;
}

static bool thread_fits(const struct graph_search *search, uint32_t thread)
{
	struct graph_thread t;

	graph_thread(search->graph, thread, &t);
	return (!search->tid || t.tid == search->tid) && (!search->pid || t.pid == search->pid) &&
	       (!search->name || !strcmp(t.name, search->name));
}

static bool segment_fits(const struct graph_search *search, uint32_t segment, uint64_t to_ns)
{
	const struct graph *graph = search->graph;
	struct graph_segment s;
	struct graph_wait wait = { .in_ns = 0 };
	uint64_t end;

	graph_segment(graph, segment, &s);
	end = s.end_ns;
	if (s.wait != GRAPH_NONE && graph_wait(graph, s.wait, &wait))
		end = wait.in_ns;
	if (s.start_ns > to_ns || end < search->from_ns || !thread_fits(search, s.thread))
		return false;
	if (search->kind >= 0 && (int)s.kind != search->kind)
		return false;
	if (search->wait >= 0 && (s.wait == GRAPH_NONE || wait.kind != search->wait))
		return false;
	if (end == UINT64_MAX)
		end = trace_summary(graph->trace)->end_ns;
	return end < s.start_ns || end - s.start_ns >= search->longer_ns;
}

static bool event_fits(const struct graph_search *search, const struct event *e)
{
	const struct event_info *info = &event_infos[e->type];

	if (search->event_type >= 0 && e->type != search->event_type)
		return false;
	if (search->text && (!e->tail_length || !memmem(e->tail, e->tail_length, search->text, strlen(search->text))))
		return false;
	if (!search->object)
		return true;
	for (unsigned i = 0; i < info->field_count; i++)
		if (info->fields[i].kind == FIELD_OBJECT && field_value(&info->fields[i], e->data) == search->object)
			return true;
	return false;
}

/* Segments with an event that fits, each once. */
static void search_events(const struct graph_search *search, uint64_t to_ns, struct map *found)
{
	struct trace_filter filter = { .from_ns = search->from_ns, .to_ns = to_ns };
	struct trace_cursor *cursor;
	const struct event *e;

	if (search->event_type >= 0)
		trace_filter_add(&filter, (unsigned)search->event_type);
	cursor = trace_cursor_new(search->graph->trace, &filter);
	while ((e = trace_cursor_next(cursor))) {
		uint32_t row;

		if (event_infos[e->type].categories & (STATE | META) || !event_fits(search, e))
			continue;
		row = graph_stretch_of(search->graph, e);
		if (row != GRAPH_NONE)
			map_put(found, row_segment(search->graph, row), 1);
	}
	trace_cursor_free(cursor);
}

struct hit {
	uint64_t start_ns;
	uint32_t segment;
};

static int compare_hits(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->segment < y->segment ? -1 : x->segment > y->segment;
}

uint32_t *graph_search_run(struct arena *arena, const struct graph_search *search, size_t limit, size_t *ret_count)
{
	const struct graph *graph = search->graph;
	uint64_t to_ns = search->to_ns ? search->to_ns : UINT64_MAX;
	struct vec(struct hit) hits = { 0 };
	struct map found = { 0 };
	uint32_t *result;
	size_t count;

	if (search->object || search->text || search->event_type >= 0) {
		const struct map_slot *slot;
		size_t at = 0;

		search_events(search, to_ns, &found);
		while ((slot = map_next(&found, &at)))
			if (segment_fits(search, (uint32_t)slot->key, to_ns))
				vec_push(&hits, ((struct hit){ graph->rows[slot->key].in_ns, (uint32_t)slot->key }));
	} else {
		for (uint32_t thread = 0; thread < graph->threads.length; thread++) {
			uint32_t row;

			if (!graph->threads.items[thread].rows || !thread_fits(search, thread))
				continue;
			row = row_at_time(graph, thread, search->from_ns);
			row = row == GRAPH_NONE ? row_at_place(graph, thread, 0) : row_segment(graph, row);
			for (; row != GRAPH_NONE && graph->rows[row].in_ns <= to_ns; row = graph_segment_next(graph, row))
				if (segment_fits(search, row, to_ns))
					vec_push(&hits, ((struct hit){ graph->rows[row].in_ns, row }));
		}
	}
	if (hits.length)
		qsort(hits.items, hits.length, sizeof(*hits.items), compare_hits);
	count = hits.length < limit ? hits.length : limit;
	result = arena_array(arena, uint32_t, count + 1);
	for (size_t i = 0; i < count; i++)
		result[i] = hits.items[i].segment;
	vec_done(&hits);
	map_done(&found);
	*ret_count = count;
	return result;
}
