/* A server that goes on serving others keeps nobody itself: who is behind it (see suspects.h). */
#include "diagnose/judgement.h"
#include "diagnose/owed.h"
#include "diagnose/own_ends.h"
#include "diagnose/question.h"
#include "diagnose/serving.h"

/* It comes back to its loop again and again: what it does there is for others. */
static bool comes_and_goes(const struct question *q, uint32_t thread)
{
	const struct episode *e = scene_episode(q->scene, thread, q->to - 1);

	return !e || e->start_ns >= q->to || !most_of(q->scene, q->to - (e->start_ns > q->from ? e->start_ns : q->from), q->to - q->from);
}

/* For a child, or what one tells, a lock whose owner is known, or inside the kernel: for none that the server's loop, or another of its threads, listens to. */
static bool is_inside(const struct question *q, const struct wait *w)
{
	return own_ends_awaits_children(q->scene, q->inquiry->ends, w) || w->kind == WAIT_KIND_child || wait_has_owner(w) ||
	       (wait_is_in_kernel(w) && w->kind != WAIT_KIND_vfork);
}

/* It began that long after the server was asked, and so did something else in between. */
static bool began_late(const struct question *q, const struct wait *w, uint64_t since_ns)
{
	return w->start_ns > since_ns + limit_of(q->scene, LIMIT_serving_before_ns) + limit_of(q->scene, LIMIT_turned_to_ns);
}

/* It has come back to its loop since. */
static bool came_back(const struct question *q, uint32_t thread, uint64_t since_ns)
{
	const struct wait *w = stands_in(q, thread);

	return w && wait_is_loop_rest(w) && began_late(q, w, since_ns);
}

/* A thread of it does, and none is known to be at work for who asked: it only waits for others, or by its loop, or did something else in
 * between. */
static bool goes_on_serving(const struct question *q, uint32_t server, const struct descriptor *asks, uint64_t since_ns)
{
	struct request_asked asked = { .thread = q->wait->thread, .since_ns = since_ns, .from_ns = q->from, .to_ns = q->to };
	uint32_t holder = serving_holder(q->scene, q->inquiry->ends, ends_far(q->inquiry->ends, asks), &asked);
	uint32_t at_work = holder && scene_same_process(q->scene, holder, server) ? holder : 0;
	const struct wait *w = at_work ? stands_in(q, at_work) : NULL;
	bool goes = comes_and_goes(q, server);

	if (!rule_holds(q->scene, RULE_threads_serve))
		return goes;
	if (w && rule_holds(q->scene, RULE_turned_inside) && is_inside(q, w) &&
	    (w->start_ns >= since_ns || suspects_at_work_before(q, server, w->start_ns + limit_of(q->scene, LIMIT_asked_before_ns)) == at_work))
		return false;
	if (!goes && w && !comes_and_goes(q, at_work) && !began_late(q, w, since_ns) && w->kind != WAIT_KIND_poll && w->kind != WAIT_KIND_epoll &&
	    w->kind != WAIT_KIND_read)
		return false;
	SCENE_EACH_MATE(q->scene, server, i)
		goes |= q->scene->tables->threads[i].end_ns >= q->to && (comes_and_goes(q, i) || (i != at_work && came_back(q, i, since_ns)));
	return goes;
}

/* It began that connection since it was first looked at, and has sent something over it and got nothing since: as one that waits for an answer
 * does, whatever the other end does meanwhile. One that is there from the beginning may only be told things. */
static bool has_asked_anew(const struct question *q, uint32_t server, const struct descriptor *its, uint64_t since_ns)
{
	const struct ends *ends = q->inquiry->ends;
	struct row row = ends_of_process(ends, scene_pid(q->scene, server)), object = ends_of_object(ends, its->at.object);
	uint64_t first = 0, seen = 0;

	if (its->at.kind != OBJECT_KIND_tcp || !(its->at.access & DESCRIPTOR_SPOKE_LAST) || !owed_is_upstream(ends, its) ||
	    !rule_holds(q->scene, RULE_asked_anew))
		return false;
	if (its->at.spoke_ns && its->at.spoke_ns >= since_ns && rule_holds(q->scene, RULE_silent_upstream))
		return its->at.spoke_ns + limit_of(q->scene, LIMIT_wait_ns) <= q->to;
	for (uint32_t i = 0; i < row.count; i++)
		first = !first || ends_at(ends, row, i)->time < first ? ends_at(ends, row, i)->time : first;
	for (uint32_t i = 0; i < object.count; i++)
		if (ends_at(ends, object, i)->pid == its->pid && (!seen || ends_at(ends, object, i)->time < seen))
			seen = ends_at(ends, object, i)->time;
	/* looked at again much later, it is so still */
	return seen > first + limit_of(q->scene, LIMIT_one_snapshot_ns) && its->time >= seen + limit_of(q->scene, LIMIT_wait_ns);
}

/* Of several such that lead to different processes nothing is known. */
static bool alone_is_asked_anew(const struct question *q, uint32_t server, const struct descriptor *its, uint64_t since_ns)
{
	const struct ends *ends = q->inquiry->ends;
	struct row row = ends_of_process(ends, scene_pid(q->scene, server));
	uint32_t far = has_asked_anew(q, server, its, since_ns) ? suspects_neighbour(q->scene, ends, its, q->from, q->to) : 0;

	for (uint32_t i = 0; far && i < row.count; i++) {
		const struct descriptor *d = ends_at(ends, row, i);

		if (d->at.object != its->at.object && has_asked_anew(q, server, d, since_ns) &&
		    !scene_same_process(q->scene, suspects_neighbour(q->scene, ends, d, q->from, q->to), far))
			return false;
	}
	return far != 0;
}

const struct descriptor *suspects_silent_upstream(const struct question *q, uint64_t since_ns)
{
	const struct ends *ends = q->inquiry->ends;
	struct row row = ends_of_process(ends, scene_pid(q->scene, q->wait->thread));

	for (uint32_t i = row.count; rule_holds(q->scene, RULE_silent_upstream) && i-- > 0; )
		if (alone_is_asked_anew(q, q->wait->thread, ends_at(ends, row, i), since_ns))
			return ends_at(ends, row, i);
	return NULL;
}

/* Over the server to who is behind it, and who reads what that one passes on; 0 nobody. */
static void push_behind(struct question *q, uint32_t server, uint32_t other, uint32_t reader)
{
	struct suspect s = { .confidence = weight_of(q), .hop_count = 2 };
	size_t kept = 0;

	s.hops[0] = (struct hop){ .from_ns = q->from, .thread = server, .link = LINK_PEER, .confidence = limit(q, LIMIT_peer_guess) };
	s.hops[1] = (struct hop){ .from_ns = q->from, .thread = other, .link = LINK_PEER, .confidence = limit(q, LIMIT_peer_guess) };
	if (reader && !is_waiting(q, reader) && !scene_same_process(q->scene, reader, other))
		s.hops[s.hop_count++] = (struct hop){ .from_ns = q->from, .thread = reader, .link = LINK_PEER, .confidence = limit(q, LIMIT_peer_guess) };
	for (size_t i = 0; i < q->suspects->length; i++)
		if (!scene_same_process(q->scene, suspects_thread(&q->suspects->items[i]), server))
			q->suspects->items[kept++] = q->suspects->items[i];
	q->suspects->length = kept;
	vec_push(q->suspects, s);
}

/* `circle`: who is behind waits for this one already, by that server. */
static bool suspect_behind(struct question *q, uint32_t server, const struct descriptor *its, uint64_t since_ns, bool circle)
{
	const struct ends *ends = q->inquiry->ends;
	struct request_asked asked = { .thread = server, .since_ns = since_ns, .from_ns = q->from, .to_ns = q->to };
	uint32_t other = serving_holder(q->scene, ends, ends_far(ends, its), &asked);
	uint32_t reader = owed_passed_on(q->scene, ends, its, since_ns, q->from);

	other = other ? other : suspects_neighbour(q->scene, ends, its, q->from, q->to);
	if (!other || is_waiting(q, other) != circle || other == q->wait->thread || scene_is_system(q->scene, other))
		return false;
	push_behind(q, server, other, reader);
	return true;
}

/* Of those that the server asked, or told something last. */
static bool suspect_all_behind(struct question *q, uint32_t server, uint64_t since_ns, bool circle)
{
	const struct ends *ends = q->inquiry->ends;
	struct row row = ends_of_process(ends, scene_pid(q->scene, server));
	uint64_t last = 0;
	bool found = false;

	for (uint32_t i = row.count; i-- > 0; ) {
		const struct descriptor *its = ends_at(ends, row, i);

		if (its->at.object != last && ((owed_is_upstream(ends, its) && owed_on(q->scene, ends, its, since_ns, q->from)) ||
					       owed_turned_away(q->scene, ends, its, since_ns, q->from) ||
					       owed_passed_on(q->scene, ends, its, since_ns, q->from) || alone_is_asked_anew(q, server, its, since_ns)))
			found |= suspect_behind(q, server, its, since_ns, circle);
		last = its->at.object;
	}
	return found;
}

void ask_behind_server(struct question *q)
{
	const struct ends *ends = q->inquiry->ends;
	const struct wait *w = q->wait;
	struct row row = ends_of_process(ends, scene_pid(q->scene, w->thread));
	uint64_t client = w->kind == WAIT_KIND_epoll || w->kind == WAIT_KIND_poll ? own_ends_only_client(q->scene, ends, w) : 0;
	uint64_t object = w->kind == WAIT_KIND_epoll || client ? client : w->kind == WAIT_KIND_poll ? w->detail : w->object;
	uint64_t since = owed_upstream_since(q->scene, serving_asked_since(q->scene, q->episode));
	const struct descriptor *asks = NULL;
	uint32_t server = 0, maybe = 0, other;

	if (w->end != WAIT_END_OPEN || w->idle || only_looks(q) || !object ||
	    (w->kind != WAIT_KIND_read && w->kind != WAIT_KIND_poll && w->kind != WAIT_KIND_epoll))
		return;
	for (uint32_t i = row.count; i-- > 0 && !server; ) {
		const struct descriptor *d = ends_at(ends, row, i);

		asks = d->at.object == object && !asks ? d : asks;
		if (d->at.object == object && d->at.access & DESCRIPTOR_SPOKE_LAST && owed_is_upstream(ends, d))
			server = suspects_neighbour(q->scene, ends, d, q->from, q->to);
		/* others do not tell who spoke last */
		if (d->at.object == object && d->at.kind != OBJECT_KIND_tcp && ends_role(ends, object) == END_CLIENT)
			maybe = suspects_neighbour(q->scene, ends, d, q->from, q->to);
	}
	maybe = server ? server : maybe;
	if (!maybe || scene_same_process(q->scene, maybe, w->thread) || !goes_on_serving(q, maybe, asks, serving_asked_since(q->scene, q->episode)))
		return;
	if (server && (suspect_all_behind(q, server, since, false) || suspect_all_behind(q, server, since, true)))
		return;
	other = suspects_beyond(q, maybe);
	if (other)
		push_behind(q, maybe, other, 0);
}
