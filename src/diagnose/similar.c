/* Waits that began alike, see similar.h. The columns of the waits decide first;
 * only for the few best of them are the segments' events read. */
#include "diagnose/similar.h"

#include <stdlib.h>
#include <string.h>

#include "diagnose/broken_off.h"
#include "diagnose/judgement.h"
#include "graph/graph.h"

#define THREADS_SEARCHED 64
#define SEGMENTS_COMPARED 24
#define EVENTS_READ 4096
#define SIGNATURE_MOST 128

struct signature {
	uint64_t items[SIGNATURE_MOST];
	unsigned count;
};

struct search {
	struct side *now, *base;
	const struct episode *episode;
	const struct wait *wait;
	const struct similar_metrics *metrics;
	struct similars *similars;
};

static bool ended_well(const struct wait *w)
{
	return w->end == WAIT_END_THREAD || w->end == WAIT_END_SOURCE;
}

static bool same_place(const struct search *s, const struct wait *a, const struct wait *b)
{
	return side_stack_place(s->now, a->ustack) == side_stack_place(s->base, b->ustack);
}

static bool waits_alike(const struct search *s, const struct wait *a, const struct wait *b)
{
	if (a->kind != b->kind || a->syscall != b->syscall || object_kind(a->object) != object_kind(b->object))
		return false;
	if (s->metrics->same_object && a->object != b->object)
		return false;
	return s->metrics->any_place || same_place(s, a, b);
}

static unsigned preceding_alike(const struct search *s, const struct episode *other)
{
	const struct scene *scene = s->now->scene, *base = s->base->scene;
	const struct episode *first = scene->episodes + scene->threads[s->episode->thread].episode;
	const struct episode *base_first = base->episodes + base->threads[other->thread].episode;
	unsigned count = 0, most = s->metrics->preceding > SIMILAR_PRECEDING ? s->metrics->preceding : SIMILAR_PRECEDING;

	while (count < most) {
		int back = (int)count + 1;

		if (s->episode - first < back || other - base_first < back ||
		    !waits_alike(s, &scene->waits[s->episode[-back].last], &base->waits[other[-back].last]))
			break;
		count++;
	}
	return count;
}

/* ---- the events of a segment ---- */

static uint64_t who(struct side *side, uint32_t thread)
{
	const struct role *role = thread ? side_role(side, thread) : NULL;

	return role ? hash_u64(role->program ^ role->name) : 0;
}

/* What an event means, in terms that hold in another trace; 0: nothing. */
static uint64_t meaning(struct side *side, const struct event *e, bool types_only)
{
	const struct tables *tables = side->scene->tables;
	uint64_t content = 0;

	switch (e->type) {
	case EVENT_message: {
		const struct event_message *m = event_as(e, message);

		if (m->flags & MESSAGE_FLAGS_would_block)
			return 0;
		content = (uint64_t)m->kind << 8 | (m->flags & MESSAGE_FLAGS_receive);
		if (m->peer)
			content ^= who(side, tables_process(tables, m->peer, e->time));
		break;
	}
	case EVENT_wake:
		if (event_as(e, wake)->context != CONTEXT_thread && event_as(e, wake)->cause != WAKE_CAUSE_own_send)
			return 0;
		content = who(side, tables_thread(tables, event_as(e, wake)->target, e->time));
		break;
	case EVENT_syscall:
		content = (uint64_t)event_as(e, syscall)->number << 1 | ((int64_t)event_as(e, syscall)->result < 0);
		break;
	case EVENT_signal:
		content = event_as(e, signal)->number;
		break;
	case EVENT_deliver:
		content = event_as(e, deliver)->number;
		break;
	case EVENT_file_lock:
		content = (uint64_t)event_as(e, file_lock)->type << 1 | (event_as(e, file_lock)->result != 0);
		break;
	case EVENT_callout_begin:
		content = event_as(e, callout_begin)->rule;
		break;
	case EVENT_fork: case EVENT_exec: case EVENT_exit: case EVENT_queue_message: case EVENT_file_event: case EVENT_fuse_send:
	case EVENT_uring_submit: case EVENT_submit: case EVENT_input: case EVENT_flag_read: case EVENT_flag_write:
		break;
	default:
		return 0;
	}
	return hash_u64((uint64_t)e->type << 32 ^ (types_only ? 0 : hash_u64(content))) | 1;
}

/* Of the segment that the episode ends. */
static void read_signature(struct side *side, const struct episode *episode, bool types_only, struct signature *signature)
{
	const struct graph *graph = side->scene->graph;
	const struct trace_filter own = { .unnumbered = true };
	struct graph_segment segment;
	struct graph_events walk;
	unsigned read = 0;

	signature->count = 0;
	if (!graph || !graph_segment(graph, graph_segment_at(graph, episode->thread, episode->start_ns), &segment))
		return;
	/* what a part of a trace tells of the time before it is how things stood, not what was done */
	walk = graph_events_of(graph, episode->thread, segment.start_ns > side->scene->start_ns ? segment.start_ns : side->scene->start_ns,
			       episode->start_ns, &own);
	for (const struct event *e; signature->count < SIGNATURE_MOST && read < EVENTS_READ && (e = graph_events_next(&walk)); read++) {
		uint64_t item = meaning(side, e, types_only);

		if (item)
			signature->items[signature->count++] = item;
	}
	graph_events_done(&walk);
}

/* Per cent of the events that agree, in order (longest common subsequence). */
static uint8_t agreement(const struct signature *a, const struct signature *b)
{
	uint16_t row[SIGNATURE_MOST + 1] = { 0 };

	if (!a->count && !b->count)
		return 100;
	for (unsigned i = 0; i < a->count; i++) {
		uint16_t diagonal = 0;

		for (unsigned j = 0; j < b->count; j++) {
			uint16_t above = row[j + 1];

			if (a->items[i] == b->items[j])
				row[j + 1] = (uint16_t)(diagonal + 1);
			else if (row[j] > above)
				row[j + 1] = row[j];
			diagonal = above;
		}
	}
	return (uint8_t)(200u * row[b->count] / (a->count + b->count));
}

/* ---- the search ---- */

static int better(const void *a, const void *b)
{
	const struct similar *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	/* The later one has more of what led to the hang behind it. */
	return x->episode > y->episode ? -1 : x->episode < y->episode;
}

static void rank(struct similars *similars)
{
	if (similars->length)
		qsort(similars->items, similars->length, sizeof(*similars->items), better);
}

/* A loop that only did something else in between, and slept on. */
static bool goes_on(const struct search *s, const struct episode *e, const struct wait *wait)
{
	const struct scene *base = s->base->scene;
	const struct scene_thread *t = &base->threads[e->thread];
	const struct wait *next;

	if (wait->kind != WAIT_KIND_sleep || e + 1 == base->episodes + t->episode + t->episode_count)
		return false;
	next = &base->waits[e[1].first];
	return next->kind == wait->kind && side_stack_place(s->base, next->ustack) == side_stack_place(s->base, wait->ustack);
}

/* It lasted for most of the same time, in the same trace: that it ended well tells nothing of how this one does when it goes well. */
static bool waited_meanwhile(const struct search *s, const struct episode *e)
{
	uint64_t from = e->start_ns > s->episode->start_ns ? e->start_ns : s->episode->start_ns;
	uint64_t to = e->end_ns < s->episode->end_ns ? e->end_ns : s->episode->end_ns;

	return s->now == s->base && rule_holds(s->now->scene, RULE_waited_meanwhile) && to > from &&
	       most_of(s->now->scene, to - from, s->episode->end_ns - s->episode->start_ns);
}

static void search_thread(struct search *s, uint32_t thread, unsigned match)
{
	const struct scene *base = s->base->scene;
	const struct scene_thread *t = &base->threads[thread];
	uint64_t length = s->episode->end_ns - s->episode->start_ns;
	uint64_t threshold = s->metrics->threshold_ns ? s->metrics->threshold_ns : length / 2;

	scene_need(base, thread);
	for (uint32_t i = 0; i < t->episode_count; i++) {
		const struct episode *e = &base->episodes[t->episode + i];
		const struct wait *other = &base->waits[e->last];
		bool sooner = e->end_ns - e->start_ns + threshold <= length;
		bool otherwise = ended_well(other) && !ended_well(s->wait);
		struct similar found = { .thread = thread, .episode = t->episode + i };

		/* of one in which the thread was killed nobody did what it waits for */
		if (e == s->episode || other->end == WAIT_END_OPEN || other->idle || broken_off_by_death(base, other))
			continue;
		/* A loop that sleeps and looks again is ended by nobody's wake-up. */
		if (!otherwise && !(sooner && (s->metrics->any_result || ended_well(other) || s->wait->kind == WAIT_KIND_sleep)))
			continue;
		if (!waits_alike(s, s->wait, other) || (!otherwise && goes_on(s, e, other)) || waited_meanwhile(s, e))
			continue;
		found.same_place = same_place(s, s->wait, other);
		found.score = 100 + match + 50 * (other->object == s->wait->object && other->object) +
			      30 * (other->timeout_ns == s->wait->timeout_ns) + 20 * sooner + 40 * found.same_place +
			      40 * (other->end == WAIT_END_THREAD);
		vec_push(s->similars, found);
	}
}

/* Reads the segments of the best, and ranks them anew. */
static void compare_segments(struct search *s)
{
	struct signature wanted, other;
	size_t kept = 0, compared = s->similars->length < SEGMENTS_COMPARED ? s->similars->length : SEGMENTS_COMPARED;

	read_signature(s->now, s->episode, s->metrics->types_only, &wanted);
	for (size_t i = 0; i < compared; i++) {
		struct similar *found = &s->similars->items[i];
		const struct episode *e = &s->base->scene->episodes[found->episode];

		read_signature(s->base, e, s->metrics->types_only, &other);
		found->alike = agreement(&wanted, &other);
		found->preceding = (uint8_t)preceding_alike(s, e);
		if (found->preceding < s->metrics->preceding || (s->metrics->all_events && found->alike < 100))
			continue;
		found->score += found->alike + 10u * (found->preceding < SIMILAR_PRECEDING ? found->preceding : SIMILAR_PRECEDING);
		s->similars->items[kept++] = *found;
	}
	s->similars->length = kept;
	rank(s->similars);
}

void similar_find(struct side *now, const struct episode *episode, struct side *base, const struct similar_metrics *metrics,
		  struct similars *similars)
{
	static const struct similar_metrics defaults;
	struct similar_metrics wider = metrics ? *metrics : defaults;
	struct search s = { now, base, episode, &now->scene->waits[episode->last], &wider, similars };
	struct counterpart threads[THREADS_SEARCHED];
	unsigned count = side_counterparts(now, episode->thread, base, threads, THREADS_SEARCHED);

	similars->length = 0;
	/* A stack that could not be walked to its end hides that the place is the same. */
	for (int pass = 0; pass < 2 && !similars->length; pass++) {
		for (unsigned i = 0; i < count; i++)
			search_thread(&s, threads[i].thread, threads[i].match);
		if (wider.any_place)
			break;
		wider.any_place = !similars->length && !metrics && now != base;
	}
	rank(similars);
	compare_segments(&s);
}
