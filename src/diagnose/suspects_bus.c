/* Who asked over a bus: a server at rest that hands on what its clients say to each other. Which of them was asked is not seen; but where one
 * alone has turned to something else just then, it may owe the answer; of several, the first (see suspects.h). */
#include "diagnose/judgement.h"
#include "diagnose/owed.h"
#include "diagnose/own_ends.h"
#include "diagnose/question.h"
#include "diagnose/serving.h"

#define AWAY_MOST 3u

/* For what those write that it started, and for nothing else. */
static bool awaits_others_output(const struct question *q, const struct wait *w)
{
	return w->argument <= (int32_t)limit_of(q->scene, LIMIT_small_set) && scene_is_pipe(w->detail) && suspects_others_write(q->inquiry->ends, w->detail, w);
}

/* By its process's own bell alone, which another of its threads rings as the answer comes that it asked for over the bus, and with the time limit of such
 * a call: its loop would listen to more, or have none. */
static bool awaits_own_bell(const struct question *q, const struct wait *w)
{
	return w->argument == 1 && w->timeout_ns && q->scene->episodes[w->episode].slices == 1 && rule_holds(q->scene, RULE_bus_in_turn) &&
	       own_ends_has_both(q->inquiry->ends, w->detail, scene_pid(q->scene, w->thread));
}

/* The wait is for something that does not come from its own clients, its user, its loop or the bus. */
static bool is_kept(const struct question *q, uint32_t bus, const struct wait *w)
{
	switch (w->kind) {
	case WAIT_KIND_file_lock:
	case WAIT_KIND_connect:
	case WAIT_KIND_write:
	case WAIT_KIND_open:
	case WAIT_KIND_child:
	case WAIT_KIND_sleep:
	case WAIT_KIND_throttled:
	case WAIT_KIND_futex:
	case WAIT_KIND_semaphore:
		return true;
	case WAIT_KIND_poll:
		return awaits_others_output(q, w) || awaits_own_bell(q, w);
	case WAIT_KIND_read:
		return scene_is_pipe(w->object) ||
		       (ends_role(q->inquiry->ends, w->object) == END_CLIENT && !ends_faces(q->inquiry->ends, w->object, scene_pid(q->scene, bus)));
	default:
		return wait_is_in_kernel(w);
	}
}

/* When it may have been asked. */
struct when {
	uint64_t from_ns, to_ns;
};

/* As the wait began; or, of a young program, which did one thing since it began, at any time since. */
static struct when when_asked(const struct question *q)
{
	uint64_t since = serving_asked_since(q->scene, q->episode), before = limit_of(q->scene, LIMIT_serving_before_ns);
	uint64_t born = serving_born(q->scene, tables_process(q->scene->tables, scene_pid(q->scene, q->wait->thread), q->from));
	struct when when = { since, since + before + limit_of(q->scene, LIMIT_turned_to_ns) };

	if (born && born < since && born + limit_of(q->scene, LIMIT_young_ns) >= q->to)
		when.from_ns = born;
	return when;
}

/* When a process's first thread has turned from its loop, as it was asked, to what it is still at; 0: it has not. */
static uint64_t turned_away(const struct question *q, uint32_t bus, uint32_t thread, const struct when *asked)
{
	const struct wait *w = stands_in(q, thread);
	struct state_times times;
	uint64_t began;

	if (!w) {
		scene_state_times(q->scene, thread, q->from, q->to, &times);
		return nearly_all(q->scene, times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE], q->to - q->from) ? asked->to_ns : 0;
	}
	if (w->kind == WAIT_KIND_stop)
		return asked->to_ns;
	began = q->scene->waits[q->scene->episodes[w->episode].first].start_ns;
	return is_kept(q, bus, w) && began >= asked->from_ns && began <= asked->to_ns ? began : 0;
}

/* Other clients of a bus that have turned away, the first first. */
struct away {
	uint32_t threads[AWAY_MOST];
	uint64_t since_ns[AWAY_MOST];
	unsigned count;
};

static void add_away(struct away *away, uint32_t thread, uint64_t since_ns)
{
	unsigned at = away->count;

	for (unsigned i = 0; i < away->count; i++)
		if (away->threads[i] == thread)
			return;
	if (at == AWAY_MOST && away->since_ns[--at] <= since_ns)
		return;
	for (; at && away->since_ns[at - 1] > since_ns; at--) {
		away->threads[at] = away->threads[at - 1];
		away->since_ns[at] = away->since_ns[at - 1];
	}
	away->threads[at] = thread;
	away->since_ns[at] = since_ns;
	away->count += away->count < AWAY_MOST;
}

static struct away find_away(const struct question *q, uint32_t bus, const struct when *asked)
{
	const struct ends *ends = q->inquiry->ends;
	struct row row = ends_of_process(ends, scene_pid(q->scene, bus));
	struct away away = { .count = 0 };

	for (uint32_t i = row.count; i-- > 0; ) {
		const struct descriptor *d = ends_at(ends, row, i);
		uint32_t other = ends_role(ends, d->at.object) == END_SERVER ? suspects_neighbour(q->scene, ends, d, q->from, q->to) : 0;
		uint64_t since;

		other = other ? tables_process(q->scene->tables, scene_pid(q->scene, other), q->from) : 0;
		if (!other || scene_same_process(q->scene, other, bus) || scene_same_process(q->scene, other, q->wait->thread) || is_waiting(q, other))
			continue;
		since = turned_away(q, bus, other, asked);
		if (since)
			add_away(&away, other, since);
	}
	return away;
}

/* The only process that the bus started just then: a service that is not up yet, or who starts one. 0: there is none, or several. */
static uint32_t only_one_started(const struct question *q, uint32_t bus, const struct when *asked)
{
	const struct scene *scene = q->scene;
	uint32_t found = 0;

	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct thread *t = &scene->tables->threads[i];
		uint64_t born = t->tid == t->pid && t->parent_pid == scene_pid(scene, bus) && alive(q, i) ? serving_born(scene, i) : 0;

		if (born < asked->from_ns || born > asked->to_ns || !born)
			continue;
		if (found)
			return 0;
		found = i;
	}
	return found;
}

/* By what it waits its program's other threads could wake it, or the bus itself. */
static bool may_wait_for_bus(const struct wait *w)
{
	return w->end == WAIT_END_OPEN && !w->idle && (w->kind == WAIT_KIND_poll || w->kind == WAIT_KIND_epoll || w->kind == WAIT_KIND_read);
}

static void suspect_over_bus(struct question *q, uint32_t bus, uint32_t thread, enum walk_link link, uint8_t confidence)
{
	struct suspect s = { .confidence = confidence, .hop_count = 2 };

	s.hops[0] = (struct hop){ .from_ns = q->from, .thread = bus, .link = LINK_PEER, .confidence = confidence };
	s.hops[1] = (struct hop){ .from_ns = q->from, .thread = thread, .link = (uint8_t)link, .confidence = confidence };
	vec_push(q->suspects, s);
}

/* A thread of it still listens to who asked, as a bus does to all its clients: else that thread has turned to what it was asked for. */
static bool listens_to_asker(const struct question *q, uint32_t bus, const struct descriptor *d)
{
	struct row far = rule_holds(q->scene, RULE_bus_listens) ? ends_far(q->inquiry->ends, d) : (struct row){ 0 };
	bool known = false;

	for (uint32_t i = 0; i < far.count; i++) {
		const struct descriptor *its = ends_at(q->inquiry->ends, far, i);

		if (its->pid != scene_pid(q->scene, bus))
			continue;
		if (owed_listens(q->scene, q->inquiry->ends, its->pid, its->at.object, q->from))
			return true;
		known = true;
	}
	return !known || !suspects_has_threads(q, bus);
}

void ask_bus(struct question *q)
{
	const struct ends *ends = q->inquiry->ends;
	struct row row = may_wait_for_bus(q->wait) && !only_looks(q) ? ends_of_process(ends, scene_pid(q->scene, q->wait->thread)) : (struct row){ 0 };
	struct when asked = when_asked(q);

	for (uint32_t i = row.count; i-- > 0; ) {
		const struct descriptor *d = ends_at(ends, row, i);
		const struct wait *rest;
		struct away away;
		uint32_t bus, started;
		size_t kept = 0;

		if (object_kind(d->at.object) != OBJECT_KIND_unix_stream || !owed_is_upstream(ends, d))
			continue;
		bus = suspects_neighbour(q->scene, ends, d, q->from, q->to);
		rest = bus && !is_waiting(q, bus) ? stands_in(q, bus) : NULL;
		if (!rest || !wait_is_loop_rest(rest) || !listens_to_asker(q, bus, d))
			continue;
		away = find_away(q, bus, &asked);
		if (away.count > 1 && !rule_holds(q->scene, RULE_bus_in_turn))
			away.count = 0;
		started = away.count ? 0 : only_one_started(q, bus, &asked);
		if (!away.count && !started)
			continue;
		/* that it is at the other end says less than whom it passed it on to */
		for (size_t j = 0; j < q->suspects->length; j++)
			if (!scene_same_process(q->scene, suspects_thread(&q->suspects->items[j]), bus))
				q->suspects->items[kept++] = q->suspects->items[j];
		q->suspects->length = kept;
		if (started)
			suspect_over_bus(q, bus, started, LINK_CHILD, weight_of(q));
		for (unsigned j = 0; j < away.count; j++)
			suspect_over_bus(q, bus, away.threads[j], LINK_PEER,
					 away.count == 1 ? weight_of(q) : limit(q, j ? LIMIT_bus_later : LIMIT_bus_first));
		return;
	}
}
