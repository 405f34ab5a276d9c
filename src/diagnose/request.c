/* The way of a request back from its answer, see request.h. */
#include "diagnose/request.h"

#include "base/search.h"
#include "diagnose/broken_off.h"
#include "diagnose/judgement.h"
#include "diagnose/walk.h"
#include "graph/graph.h"

#define LOOKED_BACK 256              /* waits, for visits to the same place */
#define MAX_PARTS 4096
#define WAITS_BEFORE 100u            /* of one that may be a request's, that are gone back over */
#define LOOKED_AT 64                 /* messages of a turn; waits before a turn */

/* Since it woke the other, a thread of its process, that one let it go on, and it woke another process before it went to the wait: it had
 * its answer, and gave its client one. */
static bool had_answer(const struct scene *scene, const struct wait *w, const struct wake *asked)
{
	uint64_t answered_ns = 0;

	if (!scene_same_process(scene, w->thread, w->waker) || !rule_holds(scene, RULE_had_answer))
		return false;
	for (uint32_t i = scene_waits_from(scene, w->thread, asked->time); &scene->waits[i] < w && !answered_ns; i++)
		if (scene->waits[i].end == WAIT_END_THREAD && scene->waits[i].waker == asked->target)
			answered_ns = scene->waits[i].end_ns;
	for (uint32_t i = answered_ns ? scene_wakes_from(scene, w->thread, answered_ns) : scene_wakes_end(scene, w->thread);
	     i < scene_wakes_end(scene, w->thread) && scene->wakes[i].time <= w->start_ns; i++)
		if (!scene_same_process(scene, scene->wakes[i].target, w->thread))
			return true;
	return false;
}

/* The thread itself woke, just before it waited, somebody of the process that ended the wait. */
static bool asked_waker(const struct scene *scene, const struct wait *w)
{
	for (uint32_t i = scene_wakes_from(scene, w->thread, w->start_ns); i-- > scene->threads[w->thread].wake; ) {
		if (scene->wakes[i].time + limit_of(scene, LIMIT_asked_before_ns) < w->start_ns)
			return false;
		if (scene_same_process(scene, scene->wakes[i].target, w->waker) && !had_answer(scene, w, &scene->wakes[i]))
			return true;
	}
	return false;
}

/* The last that the thread did with the object before the wait was to send. */
static bool asked_there(const struct scene *scene, const struct wait *w, uint64_t object)
{
	const struct scene_thread *t = &scene->threads[w->thread];

	for (uint32_t i = scene_messages_from(scene, w->thread, w->start_ns), n = 0; i-- > 0 && n < LOOKED_AT; n++) {
		const struct message m = scene_message(scene, t->messages.items[i]);

		if (m.object == object && (m.result > 0 || message_sent(&m)))
			return message_sent(&m);
	}
	return false;
}

static bool comes_often(const struct scene *scene, const struct wait *w)
{
	const struct scene_thread *t = &scene->threads[w->thread];
	uint32_t at = (uint32_t)(w - scene->waits), first = at - t->wait > LOOKED_BACK ? at - LOOKED_BACK : t->wait;
	unsigned visits = 0;

	for (uint32_t i = first; i <= at && visits < limit_of(scene, LIMIT_rest_visits); i++)
		visits += scene->waits[i].site == w->site;
	return visits >= limit_of(scene, LIMIT_rest_visits);
}

/* Where it waits for whatever work comes, not for one answer or lock. */
static bool waits_for_work(const struct scene *scene, const struct ends *ends, const struct wait *w)
{
	uint64_t object = w->kind == WAIT_KIND_poll ? w->detail : w->object;
	enum end_role role;

	switch (w->kind) {
	case WAIT_KIND_epoll:
	case WAIT_KIND_accept:
		return true;
	case WAIT_KIND_poll:
		if (w->argument > 1)
			return true;
		/* fall through */
	case WAIT_KIND_read:
		role = ends_role(ends, object);
		if (role != END_UNKNOWN && !scene_is_pipe(object))
			return role != END_CLIENT;
		return scene->messages_seen ? !asked_there(scene, w, object) : !asked_waker(scene, w);
	case WAIT_KIND_queue:
	case WAIT_KIND_futex:
	case WAIT_KIND_semaphore:
		return !wait_has_owner(w) && comes_often(scene, w) && !asked_waker(scene, w);
	default:
		return false;
	}
}

/* Where it listens to several a limit of its own let it go on, or a timer that it had armed there. */
static bool went_by_timer(const struct scene *scene, const struct wait *w)
{
	bool armed = w->end == WAIT_END_SOURCE && w->cause == WAKE_CAUSE_timer && rule_holds(scene, RULE_armed_timer) &&
		     (!w->waker || scene_same_process(scene, w->waker, w->thread)) && !scene_signal_at_end(scene, w);

	return (w->end == WAIT_END_TIMEOUT || armed) && (w->kind == WAIT_KIND_epoll || (w->kind == WAIT_KIND_poll && w->argument > 1));
}

/* Who gave up waiting for a lock or a condition was not set to work by that. */
static bool sets_to_work(const struct scene *scene, const struct wait *w)
{
	return w->end == WAIT_END_THREAD || went_by_timer(scene, w);
}

/* The message that the thread took last in its turn, and who sent it. */
static bool taken_in(const struct scene *scene, uint32_t thread, uint64_t from, uint64_t to, struct graph_edge *ret_edge)
{
	const struct scene_thread *t = &scene->threads[thread];

	if (!scene->graph)
		return false;
	for (uint32_t i = scene_messages_from(scene, thread, to + 1), n = 0; i-- > 0 && n < LOOKED_AT; n++) {
		const struct message m = scene_message(scene, t->messages.items[i]);
		struct graph_edges edges;
		uint32_t segment;

		if (m.time < from)
			return false;
		if (!(m.flags & MESSAGE_FLAGS_receive) || m.result <= 0 || m.time > to)
			continue;
		segment = graph_segment_with(scene->graph, thread, m.time, m.number);
		if (segment == GRAPH_NONE)
			continue;
		edges = graph_edges_into(scene->graph, segment, EDGES_STRONG);
		while (graph_edges_next(&edges, ret_edge))
			if (ret_edge->kind == MECHANISM_message && ret_edge->to_event == m.number && !ret_edge->removed &&
			    ret_edge->from_thread < scene->thread_count && ret_edge->from_thread != thread &&
			    !scene_is_system(scene, ret_edge->from_thread))
				return true;
	}
	return false;
}

/* The wait at whose end the turn began in which the thread was at `to`. */
static const struct episode *turn_begin(const struct scene *scene, const struct ends *ends, uint32_t thread, uint64_t from, uint64_t to)
{
	const struct scene_thread *t = &scene->threads[thread];
	const struct episode *e = scene_episode(scene, thread, to), *first = scene->episodes + t->episode;

	if (!e)
		e = first + t->episode_count;
	else if (e->end_ns <= to)
		e++;
	while (e-- > first && e->end_ns > from) {
		const struct wait *w = &scene->waits[e->last];

		if (e->end_ns <= to && !w->idle && sets_to_work(scene, w) && waits_for_work(scene, ends, w) && !walk_other_end_came(scene, w) &&
		    !broken_off_by_death(scene, w))
			return e;
	}
	return NULL;
}

static bool is_waiting(const struct scene *scene, uint32_t thread, uint64_t time)
{
	const struct span *span = scene_span(scene, thread, time ? time - 1 : 0);

	return span && span->state == SPAN_WAITING && span->start_ns + 1 < time && span_end(span) > time;
}

/* The server of its windows passes on what its user does: a dialog, whose parent waits for what it says, is asked for nothing by that. */
static bool is_of_user(const struct scene *scene, const struct ends *ends, const struct request_parts *parts, uint32_t thread, uint32_t by)
{
	return parts->length && rule_holds(scene, RULE_person) &&
	       scene->tables->threads[thread].parent_pid == scene_pid(scene, parts->items[parts->length - 1].thread) &&
	       ends_shows_windows_of(ends, scene_pid(scene, by), scene_pid(scene, thread));
}

unsigned request_back(const struct scene *scene, const struct ends *ends, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
		      struct request_parts *parts)
{
	struct request_part at = { .thread = thread, .to_ns = to_ns, .confidence = 100 };

	for (unsigned count = 0; count < MAX_PARTS; ) {
		const struct episode *e = turn_begin(scene, ends, at.thread, from_ns, at.to_ns);
		const struct wait *w = e ? &scene->waits[e->last] : NULL;
		struct request_part next = { .confidence = 0 };
		struct graph_edge sent;
		uint64_t born = scene->tables->threads[at.thread].start_ns;

		if (e)
			at.episode = (uint32_t)(e - scene->episodes) + 1;
		/* What lay there when it went to rest, or before its own limit ran out, did not set it to work. */
		if (e && taken_in(scene, at.thread, e->end_ns, at.to_ns, &sent) && sent.from_ns < at.to_ns &&
		    sent.from_ns >= (w->end == WAIT_END_TIMEOUT || went_by_timer(scene, w) ? w->end_ns : w->start_ns)) {
			next = (struct request_part){ .thread = sent.from_thread, .to_ns = sent.from_ns, .evidence = sent.from_event,
				.link = LINK_SENT, .confidence = sent.confidence };
		} else if (e && w->end == WAIT_END_THREAD && w->waker && !scene_is_system(scene, w->waker)) {
			next = (struct request_part){ .thread = w->waker, .to_ns = e->end_ns, .evidence = w->end_event,
				.link = LINK_WAKE, .confidence = w->confidence };
		}
		/* Who waits himself sets nobody to work: so says a person, or a rule. */
		if (next.thread && (is_waiting(scene, next.thread, next.to_ns) || is_of_user(scene, ends, parts, at.thread, next.thread)))
			next = (struct request_part){ .confidence = 0 };
		if (!e && born > from_ns && scene->tables->threads[at.thread].creator) {
			next = (struct request_part){ .thread = scene->tables->threads[at.thread].creator, .to_ns = born < at.to_ns ? born : at.to_ns,
				.evidence = scene->threads[at.thread].fork_event, .link = LINK_CREATOR, .confidence = 100 };
		}
		at.from_ns = next.thread && next.to_ns > from_ns ? next.to_ns : from_ns;
		at.by_timer = e && !next.thread && (w->end == WAIT_END_TIMEOUT || went_by_timer(scene, w));
		vec_push(parts, at);
		count++;
		if (at.from_ns == from_ns)
			return count;
		at = next;
	}
	return 0;
}

/* When it last created a thread or a process before that; 0 never. */
static uint64_t last_birth(const struct scene *scene, uint32_t thread, uint64_t to)
{
	uint32_t low = 1, high = scene->thread_count;

	/* They lie in the order of their births. */
	SEARCH(low, high, middle, scene->tables->threads[middle].start_ns < to);
	while (--low)
		if (scene->tables->threads[low].creator == thread)
			return scene->tables->threads[low].start_ns;
	return 0;
}

static bool did_something(const struct scene *scene, uint32_t thread, uint64_t from, uint64_t to)
{
	return scene_wakes_from(scene, thread, from) != scene_wakes_from(scene, thread, to) ||
	       scene_messages_from(scene, thread, from) != scene_messages_from(scene, thread, to);
}

/* Another set it to work there, where it comes again and again, and not where it waits now: what it did before that was for others, though nothing
 * is seen of what it did since. */
static bool came_from_rest(const struct scene *scene, const struct episode *e, const struct episode *episode)
{
	const struct wait *w = &scene->waits[e->last], *now = &scene->waits[episode->last];

	/* at a word of its process it may wait for whom it let go on in its last round, as at a barrier */
	if (now->kind == WAIT_KIND_futex || now->kind == WAIT_KIND_semaphore)
		return false;
	return w->end == WAIT_END_THREAD && !wait_has_owner(w) && w->site != now->site && rule_holds(scene, RULE_came_from_rest) &&
	       comes_often(scene, w) && !scene_same_process(scene, w->waker, w->thread);
}

uint64_t request_start(const struct scene *scene, const struct episode *episode)
{
	const struct episode *first = scene->episodes + scene->threads[episode->thread].episode;
	const struct episode *e = episode;
	uint64_t born = scene->tables->threads[episode->thread].start_ns, created;

	/* What a person says is the begin of something new is not gone behind. */
	for (uint32_t i = 0; i + 1 < scene->boundaries.count; i += 2)
		if (scene->boundaries.items[i + 1] == episode->thread && scene->boundaries.items[i] <= episode->start_ns &&
		    scene->boundaries.items[i] > born)
			born = scene->boundaries.items[i];
	created = e > first ? last_birth(scene, e->thread, e->start_ns) : 0;
	for (unsigned i = 0; i < WAITS_BEFORE && e > first && e[-1].end_ns > born; i++, e--) {
		/* What lies between the two is not told: but for those that it woke just before it began to wait. */
		if (e->start_ns < scene->threads[e->thread].since_ns && e[-1].end_ns + limit_of(scene, LIMIT_asked_before_ns) < e->start_ns)
			return e->start_ns - limit_of(scene, LIMIT_asked_before_ns);
		if (e[-1].end_ns - e[-1].start_ns > limit_of(scene, LIMIT_request_pause_ns) &&
		    (created >= e[-1].end_ns || did_something(scene, e->thread, e[-1].end_ns, episode->start_ns) ||
		     came_from_rest(scene, &e[-1], episode)))
			return e[-1].end_ns;
	}
	return born > scene->threads[episode->thread].since_ns ? born : scene->threads[episode->thread].since_ns;
}
