/* Who asked over a bus: a server at rest that hands on what its clients say to each other. Which of them was asked is not seen; but where one
 * alone has turned to something else just then, it may owe the answer (see suspects.h). */
#include "diagnose/judgement.h"
#include "diagnose/owed.h"
#include "diagnose/question.h"
#include "diagnose/serving.h"

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

/* A process's first thread has turned from its loop as it was asked, and is at that still. */
static bool turned_away(const struct question *q, uint32_t bus, uint32_t thread, const struct when *asked)
{
	const struct wait *w = stands_in(q, thread);
	struct state_times times;
	uint64_t began;

	if (!w) {
		scene_state_times(q->scene, thread, q->from, q->to, &times);
		return nearly_all(q->scene, times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE], q->to - q->from);
	}
	if (w->kind == WAIT_KIND_stop)
		return true;
	began = q->scene->waits[q->scene->episodes[w->episode].first].start_ns;
	return is_kept(q, bus, w) && began >= asked->from_ns && began <= asked->to_ns;
}

/* The only other client of the bus that has turned away; 0: there is none, or several. */
static uint32_t only_one_away(const struct question *q, uint32_t bus, const struct when *asked)
{
	const struct ends *ends = q->inquiry->ends;
	struct row row = ends_of_process(ends, scene_pid(q->scene, bus));
	uint32_t found = 0;

	for (uint32_t i = row.count; i-- > 0; ) {
		const struct descriptor *d = ends_at(ends, row, i);
		uint32_t other = ends_role(ends, d->at.object) == END_SERVER ? suspects_neighbour(q->scene, ends, d, q->from, q->to) : 0;

		other = other ? tables_process(q->scene->tables, scene_pid(q->scene, other), q->from) : 0;
		if (!other || other == found || scene_same_process(q->scene, other, bus) || scene_same_process(q->scene, other, q->wait->thread) ||
		    is_waiting(q, other) || !turned_away(q, bus, other, asked))
			continue;
		if (found)
			return 0;
		found = other;
	}
	return found;
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

void ask_bus(struct question *q)
{
	const struct ends *ends = q->inquiry->ends;
	struct row row = may_wait_for_bus(q->wait) && !only_looks(q) ? ends_of_process(ends, scene_pid(q->scene, q->wait->thread)) : (struct row){ 0 };
	struct when asked = when_asked(q);

	for (uint32_t i = row.count; i-- > 0; ) {
		const struct descriptor *d = ends_at(ends, row, i);
		struct suspect s = { .confidence = weight_of(q), .hop_count = 2 };
		const struct wait *rest;
		uint32_t bus, other, started;
		size_t kept = 0;

		if (object_kind(d->at.object) != OBJECT_KIND_unix_stream || !owed_is_upstream(ends, d))
			continue;
		bus = suspects_neighbour(q->scene, ends, d, q->from, q->to);
		rest = bus && !is_waiting(q, bus) ? stands_in(q, bus) : NULL;
		if (!rest || !wait_is_loop_rest(rest))
			continue;
		other = only_one_away(q, bus, &asked);
		started = other ? 0 : only_one_started(q, bus, &asked);
		if (!other && !started)
			continue;
		/* that it is at the other end says less than whom it passed it on to */
		for (size_t j = 0; j < q->suspects->length; j++)
			if (!scene_same_process(q->scene, suspects_thread(&q->suspects->items[j]), bus))
				q->suspects->items[kept++] = q->suspects->items[j];
		q->suspects->length = kept;
		s.hops[0] = (struct hop){ .from_ns = q->from, .thread = bus, .link = LINK_PEER, .confidence = s.confidence };
		s.hops[1] = (struct hop){ .from_ns = q->from, .thread = other ? other : started, .link = other ? LINK_PEER : LINK_CHILD,
			.confidence = s.confidence };
		vec_push(q->suspects, s);
		return;
	}
}
