/* Who has not come to where threads wait for each other, as at a barrier: a pack says of a callback that
 * they wait in it (`meets`), and of another one that who is in it will come there (`joins`). */
#include "diagnose/meeting.h"

#include <string.h>

#include "diagnose/callbacks_open.h"
#include "diagnose/question.h"

struct meeting {
	bool known;
	bool there;                /* it waits there; else it is to come */
	uint64_t place;            /* the value that they have in common */
	uint64_t event;            /* with which the callback began */
};

static bool place_of(const struct scene *scene, const char *field, uint64_t number, uint64_t *ret_place)
{
	struct trace_cursor *cursor = trace_cursor_new(scene->trace, NULL);
	const struct event *e;
	bool found;

	trace_cursor_seek(cursor, number);
	e = trace_cursor_next(cursor);
	found = e && e->number == number && event_field(e, field, strlen(field), ret_place);
	trace_cursor_free(cursor);
	return found;
}

/* The innermost meeting that the thread has to do with at the time; with `place` the one that is there. */
static struct meeting find_meeting(const struct scene *scene, uint32_t thread, uint64_t time, const uint64_t *place)
{
	const struct graph *graph = scene->graph;
	struct graph_segment begun[CALLBACKS_OPEN_MOST];
	unsigned count = callbacks_open(graph, graph_segment_at(graph, thread, time), begun);
	struct meeting m = { 0 };

	for (unsigned i = 0; i < count; i++) {
		const char *field = graph_rule_meeting(graph, begun[i].rule, &m.there);

		m.known = field && place_of(scene, field, begun[i].first_event, &m.place) && (!place || m.place == *place);
		m.event = begun[i].first_event;
		if (m.known)
			return m;
	}
	return m;
}

/* A callback of the thread in which it waits for others and does not sleep: it ends where the thread does, or
 * where it begins something else. */
static bool is_spun(const struct graph *graph, const struct graph_segment *s)
{
	bool there;

	return s->begins_callout && graph_rule_meeting(graph, s->rule, &there) && there;
}

static bool any_meets(const struct graph *graph)
{
	bool there;

	for (uint32_t i = 0; i < graph_rule_count(graph); i++)
		if (graph_rule_uses(graph, i) && graph_rule_meeting(graph, i, &there) && there)
			return true;
	return false;
}

bool meeting_spun(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, struct meeting_wait *ret_wait)
{
	const struct graph *graph = scene->graph;
	struct meeting_wait longest = { 0 };
	struct graph_segment s;

	if (!graph || !scene->trace || !rule_holds(scene, RULE_to_come) || !any_meets(graph))
		return false;
	for (uint32_t at = graph_segment_at(graph, thread, to_ns); at != GRAPH_NONE && graph_segment(graph, at, &s) && s.end_ns > from_ns;
	     at = graph_segment_previous(graph, at)) {
		uint64_t begin = s.start_ns > from_ns ? s.start_ns : from_ns, end = s.end_ns < to_ns ? s.end_ns : to_ns;

		if (is_spun(graph, &s) && end > begin && end - begin > longest.end_ns - longest.start_ns)
			longest = (struct meeting_wait){ begin, end, s.segment };
	}
	*ret_wait = longest;
	return longest.end_ns;
}

/* Whose coming ended the callback, as an edge of the pack tells. */
static uint32_t came_last(const struct graph *graph, uint32_t segment, uint64_t *ret_event)
{
	struct graph_edges walk = graph_edges_into(graph, segment, EDGES_STRONG);
	struct graph_segment s;

	if (!graph_segment(graph, segment, &s))
		return 0;
	for (struct graph_edge edge; graph_edges_next(&walk, &edge); )
		if (edge.kind == MECHANISM_flag && edge.to_event == s.last_event) {
			*ret_event = edge.from_event;
			return edge.from_thread;
		}
	return 0;
}

uint32_t meeting_late(const struct scene *scene, uint32_t thread, const struct meeting_wait *wait, bool *ret_came, uint64_t *ret_event)
{
	uint32_t last = came_last(scene->graph, wait->segment, ret_event);
	struct meeting mine, other;

	*ret_came = last && last < scene->thread_count && last != thread;
	if (*ret_came)
		return last;
	mine = find_meeting(scene, thread, wait->start_ns, NULL);
	if (!mine.known || !mine.there)
		return 0;
	SCENE_EACH_MATE(scene, thread, i) {
		if (i == thread || scene->tables->threads[i].end_ns < wait->end_ns)
			continue;
		other = find_meeting(scene, i, wait->end_ns - 1, &mine.place);
		if (other.known && !other.there) {
			*ret_event = other.event;
			return i;
		}
	}
	return 0;
}

void ask_meeting(struct question *q)
{
	uint64_t end = q->to - 1;  /* who has not come by then is later than those that did */
	struct meeting mine;

	if (!q->scene->graph || !q->scene->trace || only_looks(q))
		return;
	mine = find_meeting(q->scene, q->episode->thread, q->from, NULL);
	if (!mine.known || !mine.there)
		return;
	SCENE_EACH_MATE(q->scene, q->episode->thread, i) {
		struct meeting other;

		if (i == q->episode->thread || !alive(q, i))
			continue;
		other = find_meeting(q->scene, i, end, &mine.place);
		if (other.known && !other.there)
			suspect_thread(q, i, LINK_TO_COME, weight_of(q), other.event);
	}
}
