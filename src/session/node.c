#include "session/node.h"

#include "diagnose/describe.h"

#define LOOK_AHEAD_NS UINT64_C(1000000000)

static void put_thread(const struct debug *debug, uint32_t thread, uint64_t time_ns, struct json *json)
{
	const struct thread *t = &debug->session.tables->threads[thread];

	json_u64(json, "pid", t->pid);
	json_u64(json, "tid", t->tid);
	json_text(json, "comm", tables_comm(debug->session.tables, thread, time_ns));
	json_u64(json, "time_ns", time_ns);
}

static const char *end_name(const struct wait *w)
{
	switch ((enum wait_end)w->end) {
	case WAIT_END_THREAD: return "thread";
	case WAIT_END_TIMEOUT: return "timeout";
	case WAIT_END_SOURCE: return "source";
	case WAIT_END_UNKNOWN: return "unknown";
	case WAIT_END_OPEN: return "open";
	}
	return "unknown";
}

static void put_stack(const struct describer *d, const struct wait *w, struct json *json)
{
	json_array(json, "frames");
	for (const char *const *frame = describe_stack(d, w->ustack, w->kstack); *frame; frame++)
		json_text(json, NULL, *frame);
	json_end(json);
}

/* The event with which the thread came to run behind its wait; 0 none. With the one that
 * ended it, it names the edge for `cut`. */
static uint64_t run_event(const struct debug *debug, uint32_t tid, uint64_t from_ns)
{
	struct trace_filter filter = { .from_ns = from_ns, .to_ns = from_ns + LOOK_AHEAD_NS };
	struct trace_cursor *cursor;
	uint64_t found = 0;

	trace_filter_add(&filter, EVENT_switch);
	cursor = trace_cursor_new(debug->session.trace, &filter);
	for (const struct event *e; !found && (e = trace_cursor_next(cursor)); )
		if (event_as(e, switch)->next == tid)
			found = e->number;
	trace_cursor_free(cursor);
	return found;
}

/* As `here` tells it. */
static void put_wait(struct debug *debug, const struct debug_place *place, struct json *json)
{
	const struct episode *e = debug_episode(debug, place);
	struct describer d = debug_describer(debug);
	const struct wait *w;

	if (!e) {
		json_null(json, "wait");
		return;
	}
	w = &debug->session.scene->waits[e->last];
	json_object(json, "wait");
	json_text(json, "what", describe_wait(&d, w));
	json_bool(json, "inside", e->end_ns >= place->time_ns);
	json_u64(json, "start_ns", e->start_ns);
	json_u64(json, "end_ns", e->end_ns);
	json_u64(json, "slices", e->slices);
	json_u64(json, "event", w->begin_event);
	json_text(json, "end", end_name(w));
	json_u64(json, "end_event", w->end_event);
	json_u64(json, "run_event", w->end_event ? run_event(debug, debug->session.tables->threads[place->thread].tid, e->end_ns) : 0);
	json_text(json, "source", w->end == WAIT_END_SOURCE ? describe_source(w) : NULL);
	put_stack(&d, w, json);
	json_end(json);
}

static void put_hops(const struct debug *debug, const char *key, const struct debug_hops *hops, struct json *json)
{
	json_array(json, key);
	for (size_t i = 0; i < hops->length; i++) {
		const struct hop *h = &hops->items[i];

		json_object(json, NULL);
		put_thread(debug, h->thread, h->from_ns, json);
		json_text(json, "link", walk_link_words(h->link));
		json_u64(json, "event", h->evidence);
		json_u64(json, "confidence", h->confidence);
		json_end(json);
	}
	json_end(json);
}

void node_json(struct debug *debug, struct json *json)
{
	const struct debug_place *place = debug->session.scene ? debug_place_now(debug, NULL) : NULL;
	struct debug_hops hops = { 0 };

	if (!place) {
		json_null(json, "node");
		return;
	}
	json_object(json, "node");
	put_thread(debug, place->thread, place->time_ns, json);
	put_wait(debug, place, json);
	debug_find_back(debug, place, &hops, NULL);
	put_hops(debug, "back", &hops, json);
	debug_find_forward(debug, place, &hops);
	put_hops(debug, "forward", &hops, json);
	vec_done(&hops);
	json_array(json, "slice");
	for (size_t i = 0; i < debug->slice.length; i++) {
		json_object(json, NULL);
		put_thread(debug, debug->slice.items[i].thread, debug->slice.items[i].time_ns, json);
		json_end(json);
	}
	json_end(json);
	json_end(json);
}
